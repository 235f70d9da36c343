"""What a reader should know before trusting a comparison."""

from collections.abc import Iterator, Mapping, Sequence

from befund.contract import Comparability, Finding, Gate, MetricComparison
from befund.core.comparison.columns import Column, State
from befund.core.comparison.comparability import changed_keys
from befund.core.comparison.noise import noise_of
from befund.core.comparison.pairing import Paired
from befund.core.runs import missing_keys

TELLING = 0.1
"""A difference that everybody would want to see, where no gate says what matters."""

MOST_NAMED = 6
"""Metrics that one finding names."""

LARGEST = 1.0
"""No metric can differ by more: all lie between 0 and 1."""


def findings(
    paired: Paired,
    columns: Mapping[str, Column],
    metrics: Sequence[MetricComparison],
    comparable: Comparability,
    gates: Sequence[Gate],
) -> list[Finding]:
    """Everything noteworthy about one comparison, most serious first."""
    return [
        finding
        for group in (
            _sides(paired),
            _questions(paired, columns),
            _noise(paired),
            _setting(paired, comparable),
            _depths(paired),
            _cutoffs(paired, metrics),
            _answers(paired),
            _power(metrics, gates),
            _configs(paired),
        )
        for finding in group
    ]


def _sides(paired: Paired) -> Iterator[Finding]:
    if is_identical(paired):
        yield Finding(
            code="IDENTICAL_SIDES",
            message="Both sides hold the same, question by question: one measurement is compared with itself, or what "
            "was changed did not reach what was measured. That nothing fell is no evidence.",
        )
    before, after = paired.baseline, paired.candidate
    sides = [side for side in (before, after) if side.unknown]
    if sides:
        names = " and ".join(f"{len(side.unknown)} of {side.name}" for side in sides)
        yield Finding(
            code="UNKNOWN_QUESTIONS",
            message=f"Rankings of questions that the data set does not have ({names}) are not compared. "
            "Check their ids.",
            questions=list(dict.fromkeys(question for side in sides for question in side.unknown)),
        )


def is_identical(paired: Paired) -> bool:
    """Whether both sides hold the same rankings, cut alike, and the same judged answers."""
    before, after = paired.baseline, paired.candidate
    return (
        (before.k, before.measured, before.mapping) == (after.k, after.measured, after.mapping)
        and not paired.changed
        and before.answered == after.answered
        and before.found.keys() == after.found.keys()
        and all(
            (found.top, found.returned) == (after.found[question].top, after.found[question].returned)
            for question, found in before.found.items()
        )
    )


def _questions(paired: Paired, columns: Mapping[str, Column]) -> Iterator[Finding]:
    differing = [*paired.only_baseline, *paired.only_candidate]
    if differing:
        yield Finding(
            code="QUESTIONS_DIFFER",
            message=f"{_count(len(paired.only_baseline))} of the baseline alone, {len(paired.only_candidate)} of the "
            "candidate alone: measure both on the same questions.",
            questions=differing,
        )
    if paired.changed:
        yield Finding(
            code="GOLD_CHANGED",
            message=f"{_count(len(paired.changed))} whose text, facts or gold changed: left out. Measure the baseline "
            "anew on the new data set.",
            questions=paired.changed,
        )
    one_sided: dict[str, None] = {}
    for column in columns.values():
        gone = (column.after_state == State.NOT_EVALUABLE) & (column.before_state == State.SCORED)
        came = (column.before_state == State.NOT_EVALUABLE) & (column.after_state == State.SCORED)
        one_sided.update(dict.fromkeys(paired.named(gone | came)))
    if one_sided:
        yield Finding(
            code="EVALUABLE_ON_ONE_SIDE",
            message=f"{_count(len(one_sided))} that only one side could score: gates treat the other as unscored.",
            questions=list(one_sided),
        )
    if paired.candidate.generated:
        yield Finding(
            code="GENERATED_DATASET",
            message="The questions were generated, not asked by users: trust differences more than levels.",
        )


def _noise(paired: Paired) -> Iterator[Finding]:
    noise = noise_of(paired)
    if noise.differing:
        yield Finding(
            code="JUDGE_NOISE",
            message=f"{len(noise.differing)} of {len(noise.judged_again)} unchanged answers that were judged twice got "
            "another verdict: that much of a change is the judge. More votes, or repeats in the gate, tell.",
            questions=list(noise.differing),
        )


def _setting(paired: Paired, comparable: Comparability) -> Iterator[Finding]:
    blocking = [difference.field for difference in comparable.differences if difference.blocking]
    if blocking:
        yield Finding(
            code="NOT_COMPARABLE",
            message=f"The sides differ in {', '.join(blocking)}: what that touches says nothing about the change. "
            "Measure both sides alike.",
        )
    keys = changed_keys(comparable)
    if len(keys) > 1:
        yield Finding(
            code="SEVERAL_CHANGES",
            message=f"{len(keys)} parts of the configuration differ ({', '.join(keys)}): no figure tells which of them "
            "did it. Change one at a time.",
        )
    if paired.baseline.mapping != paired.candidate.mapping and paired.candidate.measured.level == "chunk":
        yield Finding(
            code="MAPPING_CHANGED",
            message="The same evidence lies in other chunks: at level chunk each side is measured by its own. Compare "
            'at level evidence ("level": "evidence") for equal terms.',
        )


def _depths(paired: Paired) -> Iterator[Finding]:
    """One side was measured deeper than the other, and nobody said at which cutoff each is to be looked at."""
    baseline, candidate = paired.baseline, paired.candidate
    before, after = (side.top_k or side.declared or 0 for side in (baseline, candidate))
    shared = max(set(baseline.cutoffs).intersection(candidate.cutoffs), default=min(baseline.k, candidate.k))
    is_given = baseline.k_given or candidate.k_given
    if before != after and 0 < min(before, after) <= shared and not is_given:
        yield Finding(
            code="CUTOFFS_DIFFER",
            message=f"{baseline.name} goes down to {before}, {candidate.name} to {after}, and without k both are "
            "compared at the cutoffs they share. For each at its own: k, or "
            f"--baseline-k {before} --candidate-k {after}.",
        )


def _cutoffs(paired: Paired, metrics: Sequence[MetricComparison]) -> Iterator[Finding]:
    nested = [metric.metric for metric in metrics if not metric.regression_possible]
    if nested and not is_identical(paired):
        yield Finding(
            code="NESTED_RANKINGS",
            message=f"Every list of the baseline is the beginning of the candidate's: {_listed(nested)} cannot fall, "
            "so that they did not is no evidence.",
        )
    cut = [metric for metric in metrics if metric.decreased]
    if cut:
        names = _listed([f"{metric.metric} of {_count(len(metric.decreased))}" for metric in cut])
        yield Finding(
            code="CUTOFF_EFFECT",
            message=f"Lower because the list is cut later, not because it is worse: {names}.",
            questions=list(dict.fromkeys(question for metric in cut for question in metric.decreased)),
        )


def _answers(paired: Paired) -> Iterator[Finding]:
    if (paired.baseline.answered and paired.candidate.answered) or not paired.candidate.found:
        return
    before, after = paired.baseline, paired.candidate
    changed = [
        question
        for question in paired.ids
        if question in before.found
        and question in after.found
        and (before.found[question].top or [])[: before.k] != (after.found[question].top or [])[: after.k]
    ]
    if changed:
        yield Finding(
            code="ANSWERS_NOT_MEASURED",
            message=f"What the generator is given changed for {_count(len(changed))}, and the answers were not judged "
            "on both sides: whether they are better is not known.",
        )


def _power(metrics: Sequence[MetricComparison], gates: Sequence[Gate]) -> Iterator[Finding]:
    """Which differences could not be seen although they matter."""
    matters = {gate.metric: gate.max_drop for gate in gates if gate.max_drop}
    weak: list[str] = []
    blind: list[str] = []
    for metric in metrics:
        detectable = metric.minimum_detectable_delta
        if detectable is None and metric.test == "mcnemar_exact" and metric.n:
            detectable = (metric.fewest_flips or metric.n + 1) / metric.n
        wanted = matters.get(metric.metric, TELLING)
        if not metric.significant and detectable is not None and detectable > wanted and metric.n:
            if detectable > LARGEST:
                blind.append(metric.metric)
            else:
                weak.append(f"{metric.metric} {detectable:.2f}")
    message = _shown_at_most(weak, blind)
    if message:
        yield Finding(code="UNDERPOWERED", message=message)


def _shown_at_most(weak: Sequence[str], blind: Sequence[str]) -> str:
    """In words which metrics show only large differences, and which none at all."""
    said = []
    if blind:
        said.append(f"So few questions can show no difference of {_listed(blind)}, however large.")
    if weak:
        said.append(
            f"So few questions show only large differences ({_listed(weak)} or more): a smaller one would not be "
            "told from chance."
        )
    return " ".join(said)


def _configs(paired: Paired) -> Iterator[Finding]:
    missing: dict[tuple[str, ...], list[str]] = {}
    for side in (paired.baseline, paired.candidate):
        keys = tuple(missing_keys(side.config))
        if keys:
            missing.setdefault(keys, []).append(side.name)
    for keys, names in missing.items():
        yield Finding(
            code="CONFIG_INCOMPLETE",
            message=f"The config of {' and '.join(dict.fromkeys(names))} does not say {', '.join(keys)}: "
            "these may differ unseen.",
        )


def _listed(names: Sequence[str]) -> str:
    """Names of metrics, the first by name and the rest by number."""
    more = len(names) - MOST_NAMED
    return ", ".join(names) if more <= 1 else f"{', '.join(names[:MOST_NAMED])} and {more} other metrics"


def _count(number: int) -> str:
    return f"{number} question{'' if number == 1 else 's'}"
