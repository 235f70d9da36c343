"""Fit the two linear models of the rules judge on human labels, and write their weights.

    python calibration/fit.py [--samples FOLDER] [--write]

Logistic regression with L2, by iteratively reweighted least squares, in plain numpy. Every source and label weighs the
same. An answer has several claims and a question several references, of which the label speaks together: an answer is
as faithful as its weakest claim, and agrees as much as with its nearest reference, so the fit alternates between
choosing that one and fitting on it.
"""

import argparse
import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import samples

from befund.adapters.lexicon import InstalledLexicon
from befund.core.rules import agreement, support
from befund.core.rules.behavior import act_of
from befund.core.rules.claims import is_claim
from befund.core.rules.evidence import evidence_of
from befund.core.rules.reading import read, text_of
from befund.core.rules.spelling import without_remarks
from befund.core.rules.weights import Linear, Weights

WEIGHTS = Path(__file__).parents[1] / "service" / "befund" / "adapters" / "rules_weights.json"
L2 = {"agreement": 30.0, "support": 30.0}
SURE = {"agreement": 0.5, "support": 1.2}
"""Log odds from where on a model speaks: EVOUNA and BEGIN are then judged right nine times in ten, in most cases."""
ROUNDS = 4


class Case:
    """One sample as its candidates: a row of features for every claim, or for every reference."""

    def __init__(self, source: str, sample: samples.Sample, rows: np.ndarray) -> None:
        self.source, self.group, self.label, self.rows = source, sample.group, sample.label, rows


def agreement_rows(sample: samples.Sample, lexicon: InstalledLexicon) -> np.ndarray:
    """A row a reference."""
    question, text = read(sample.item.question, lexicon), read(sample.item.answer, lexicon)
    said = text_of([s for s in text.sentences if act_of(s.raw, question) in ("answer", None)], text.tongue)
    return np.array(
        [
            agreement.measure(question, said, read(each, lexicon), (each, sample.item.answer), lexicon)
            for each in map(without_remarks, sample.item.reference_answers)
        ]
    )


def support_rows(sample: samples.Sample, lexicon: InstalledLexicon) -> np.ndarray:
    """A row a claim."""
    question, text = read(sample.item.question, lexicon), read(sample.item.answer, lexicon)
    said = [s for s in text.sentences if act_of(s.raw, question) in ("answer", None) and is_claim(s)] or text.sentences
    evidence = evidence_of([p.text or "" for p in sample.item.context or ()], lexicon)
    return np.array([found.features for found in support.supports_of(said, evidence, lexicon)])


def cases_of(data: dict[str, list[samples.Sample]], lexicon: InstalledLexicon) -> dict[str, list[Case]]:
    """All cases, by model."""
    found: dict[str, list[Case]] = {"agreement": [], "support": []}
    for source, items in data.items():
        for sample in items:
            kind = "agreement" if sample.dimension == "correct" else "support"
            rows = (agreement_rows if kind == "agreement" else support_rows)(sample, lexicon)
            if len(rows):
                found[kind].append(Case(source, sample, rows))
    return found


def fit(kind: str, cases: Sequence[Case]) -> Linear:
    """The model of one kind."""
    rows = np.concatenate([case.rows for case in cases])
    means, scales = rows.mean(axis=0), rows.std(axis=0) + 1e-6
    counts = Counter((case.source, case.label) for case in cases)
    weights = np.array([1 / counts[case.source, case.label] for case in cases])
    weights *= len(weights) / weights.sum()
    labels = np.array([case.label for case in cases], dtype=float)
    beta = None
    for _ in range(ROUNDS):
        chosen = []
        for case in cases:
            design = np.c_[(case.rows - means) / scales, np.ones(len(case.rows))]
            scores = design @ beta if beta is not None else case.rows[:, 1]
            chosen.append(design[scores.argmax() if kind == "agreement" else scores.argmin()])
        beta = _logistic(np.array(chosen), labels, weights, L2[kind])
    names = agreement.FEATURES if kind == "agreement" else support.FEATURES
    round6 = lambda values: [float(f"{value:.6g}") for value in values]  # noqa: E731
    sure = SURE[kind]
    return Linear(names, round6(means), round6(scales), round6(beta[:-1]), float(f"{beta[-1]:.6g}"), -sure, sure)


def _logistic(design: np.ndarray, labels: np.ndarray, weights: np.ndarray, l2: float) -> np.ndarray:
    penalty = np.eye(design.shape[1]) * l2
    penalty[-1, -1] = 1e-6
    beta = np.zeros(design.shape[1])
    for _ in range(50):
        odds = 1 / (1 + np.exp(-np.clip(design @ beta, -30, 30)))
        gradient = design.T @ (weights * (odds - labels)) + penalty @ beta
        curvature = (design * (weights * odds * (1 - odds))[:, None]).T @ design + penalty
        step = np.linalg.solve(curvature, gradient)
        beta -= step
        if np.abs(step).max() < 1e-9:
            break
    return beta


def fold_of(group: str, folds: int) -> int:
    """The fold of a group, the same in every run."""
    return int(hashlib.sha256(group.encode()).hexdigest(), 16) % folds


def main() -> None:
    """Fit and say, or write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=Path, default=samples.DEFAULT)
    parser.add_argument("--write", action="store_true", help=f"write {WEIGHTS.name}")
    options = parser.parse_args()
    cases = cases_of(samples.read(options.samples), InstalledLexicon())
    weights = Weights(*(fit(kind, cases[kind]) for kind in ("agreement", "support")))
    text = msgspec.json.format(msgspec.json.encode(weights), indent=1)
    if options.write:
        WEIGHTS.write_bytes(text + b"\n")
    else:
        print(text.decode())


if __name__ == "__main__":
    main()
