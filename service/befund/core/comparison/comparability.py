"""In what two sides differ, and which metrics cannot be compared because of it."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import UNSET

from befund.contract import Comparability, ConfigDifference
from befund.core.comparison.columns import Compared
from befund.core.comparison.pairing import Paired
from befund.core.comparison.side import Side
from befund.core.runs import compared, differences

RETRIEVAL, JUDGMENTS = "retrieval", "judgments"
NO_CHANGE = frozenset({"software", "dataset"})
"""Parts of a configuration that are not what somebody wanted to try: the service's version, the questions."""


def comparability(paired: Paired) -> Comparability:
    """Everything in which the sides differ, what blocks metrics first."""
    found = [*_measured(paired), *_judges(paired), *_dataset(paired), *_config(paired)]
    found.sort(key=lambda difference: not difference.blocking)
    return Comparability(ok=not any(difference.blocking for difference in found), differences=found)


def blocker_of(metric: Compared, comparable: Comparability) -> ConfigDifference | None:
    """The first difference because of which a metric cannot be compared."""
    families = {metric.candidate.family} if metric.candidate else set()
    touched = {metric.kind, metric.name, *families}
    return next((each for each in comparable.differences if touched.intersection(each.blocks)), None)


def changed_keys(comparable: Comparability) -> list[str]:
    """The top keys of the configuration that differ: what was changed."""
    fields = (difference.field.split(".") for difference in comparable.differences)
    keys = dict.fromkeys(parts[1] for parts in fields if parts[0] == "config" and len(parts) > 1)
    return [key for key in keys if key not in NO_CHANGE]


def config_of(side: Side) -> dict[str, Any]:
    """A side's configuration, with its own cutoff where one was given."""
    config = dict(compared(side.config))
    if side.k_given and side.found:
        retrieval = config.get("retrieval")
        config["retrieval"] = {**(retrieval if isinstance(retrieval, Mapping) else {}), "top_k": side.k}
    return config


def _measured(paired: Paired) -> Iterator[ConfigDifference]:
    before, after = paired.baseline.measured, paired.candidate.measured
    if not (paired.baseline.found and paired.candidate.found):
        return
    for name, blocks in (("level", RETRIEVAL), ("relevance_level", RETRIEVAL), ("gain", "ndcg")):
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            yield ConfigDifference(
                field=f"measured.{name}", baseline=old, candidate=new, blocking=True, blocks=[blocks]
            )


def _judges(paired: Paired) -> Iterator[ConfigDifference]:
    """Another judge, or rubric, on any question both sides judged."""
    before, after = paired.baseline.answered, paired.candidate.answered
    both = [question for question in paired.ids if question in before and question in after]
    if any(before[question].judge != after[question].judge for question in both):
        yield ConfigDifference(
            field="judge",
            baseline=dict(paired.baseline.judges),
            candidate=dict(paired.candidate.judges),
            blocking=True,
            blocks=[JUDGMENTS],
        )


def _dataset(paired: Paired) -> Iterator[ConfigDifference]:
    before, after = paired.baseline.mapping, paired.candidate.mapping
    if before != after:
        yield ConfigDifference(field="dataset.evidence_mapping", baseline=before, candidate=after, blocking=False)


def _config(paired: Paired) -> Iterator[ConfigDifference]:
    has_judges = bool(paired.baseline.judges or paired.candidate.judges)
    before, after = (_said(config_of(side), has_judges=has_judges) for side in (paired.baseline, paired.candidate))
    for field, old, new in differences(before, after, "config"):
        old, new = (None if value is UNSET else value for value in (old, new))
        yield ConfigDifference(field=field, baseline=old, candidate=new, blocking=False)


def _said(config: dict[str, Any], *, has_judges: bool) -> dict[str, Any]:
    """A configuration without what is compared elsewhere: the judges, and the hashes of the data set."""
    kept = {key: value for key, value in config.items() if not (has_judges and key == "judge")}
    dataset = kept.get("dataset")
    if isinstance(dataset, dict):
        kept["dataset"] = {key: value for key, value in dataset.items() if key not in {"questions", "evidence_mapping"}}
    return kept
