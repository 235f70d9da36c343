"""Measure the rules judge against human labels, as `docs/judging.md` reports it.

    python calibration/measure.py [--samples FOLDER] [--in-sample]

Every verdict is the service's own: the judge observes, `verdicts_of` derives. The models are fitted anew without the
fold that they judge (ten folds by group), so that no item is judged by weights that have seen its group.
"""

import argparse
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import samples
import teralune
from fit import WEIGHTS, cases_of, fit, fold_of

from befund.adapters.lexicon import InstalledLexicon
from befund.core.judging import verdicts_of
from befund.core.rules.judge import Knowledge, judge
from befund.core.rules.weights import Weights

FOLDS = 10
RESAMPLES = 1000
SEED = 7


class Verdict:
    """One item: its human label and what the judge said, None where it abstained."""

    def __init__(self, group: str, label: bool, said: bool | None, forced: bool | None) -> None:
        self.group, self.label, self.said, self.forced = group, label, said, forced


def balanced(pairs: Sequence[tuple[bool, bool]]) -> float:
    """Mean of sensitivity and specificity; NaN if one label is absent."""
    rates = [
        sum(said == label for label, said in pairs if label is side)
        / (sum(label is side for label, _ in pairs) or float("nan"))
        for side in (True, False)
    ]
    return sum(rates) / 2


def interval(verdicts: Sequence[Verdict]) -> tuple[float, float]:
    """95 % of the forced balanced accuracy, bootstrap by group."""
    groups: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault(verdict.group, []).append(verdict)
    names = sorted(groups)
    chance = random.Random(SEED)
    found = sorted(
        balanced([(v.label, bool(v.forced)) for name in chance.choices(names, k=len(names)) for v in groups[name]])
        for _ in range(RESAMPLES)
    )
    return found[int(0.025 * RESAMPLES)], found[int(0.975 * RESAMPLES) - 1]


def measured(
    data: dict[str, list[samples.Sample]], weights: Callable[[str], Weights], lexicon: InstalledLexicon
) -> dict[str, list[Verdict]]:
    """Judge every sample twice: free to abstain, and forced."""
    found = {}
    for source, items in data.items():
        found[source] = [
            Verdict(
                sample.group,
                sample.label,
                *(_verdict(sample, weights, lexicon, force=force) for force in (False, True)),
            )
            for sample in items
        ]
    return found


def _verdict(
    sample: samples.Sample, weights: Callable[[str], Weights], lexicon: InstalledLexicon, *, force: bool
) -> bool | None:
    seen = judge(sample.item, Knowledge(lexicon, weights(sample.group)), force=force)
    return getattr(verdicts_of(sample.item, seen), sample.dimension).verdict


def table(found: dict[str, list[Verdict]]) -> str:
    """Markdown: a row a source."""
    lines = [
        "| source | n | without abstaining | 95 % by group | with abstention | coverage |",
        "|---|---|---|---|---|---|",
    ]
    for source, verdicts in found.items():
        forced = balanced([(v.label, bool(v.forced)) for v in verdicts])
        low, high = interval(verdicts)
        spoken = [(v.label, v.said) for v in verdicts if v.said is not None]
        lines.append(
            f"| {source} | {len(verdicts)} | {forced:.3f} | {low:.3f} to {high:.3f} | {balanced(spoken):.3f} "
            f"| {len(spoken) / len(verdicts):.0%} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=Path, default=samples.DEFAULT)
    parser.add_argument(
        "--in-sample", action="store_true", help="with the committed weights, which have seen the samples"
    )
    options = parser.parse_args()
    lexicon = InstalledLexicon()
    data = samples.read(options.samples)
    committed = msgspec.json.decode(WEIGHTS.read_bytes(), type=Weights)
    print(table(measured(data, (lambda _: committed) if options.in_sample else _by_fold(data, lexicon), lexicon)))
    print()
    print(teralune.table(Knowledge(lexicon, committed)))


def _by_fold(data: dict[str, list[samples.Sample]], lexicon: InstalledLexicon) -> Callable[[str], Weights]:
    cases = cases_of(data, lexicon)
    folds: list[Weights] = []
    for fold in range(FOLDS):
        models = [fit(kind, [c for c in found if fold_of(c.group, FOLDS) != fold]) for kind, found in cases.items()]
        folds.append(Weights(*models))
    return lambda group: folds[fold_of(group, FOLDS)]


if __name__ == "__main__":
    main()
