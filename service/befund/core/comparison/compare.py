"""Two sides compared: metrics, gates, findings, the verdict."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from befund.contract import Comparability, ComparedQuestions, CompareOptions, CompareResponse, Gate, GateResult
from befund.core.comparison.budget import Costs
from befund.core.comparison.changes import Calibrations, changed_questions, compared_slices, metric_comparisons
from befund.core.comparison.columns import Column, Compared, State, columns, compared, default_metrics
from befund.core.comparison.comparability import comparability
from befund.core.comparison.findings import findings
from befund.core.comparison.names import BUDGET, JUDGED
from befund.core.comparison.pairing import Mask, Paired
from befund.core.comparison.side import Side
from befund.core.errors import ConflictError, ContradictionError
from befund.core.gates.bounds import Level
from befund.core.gates.counts import Counts
from befund.core.gates.decide import Evidence, decide, verdict_of
from befund.core.gates.spec import check_gates, metrics_of

States = NDArray[np.int8]
NO_CALIBRATION: Calibrations = MappingProxyType({})


class Compares(Struct, frozen=True):
    """Two sides brought together, before anything is decided.

    Attributes:
        paired: The sides.
        shown: The metrics that are reported, by name.
        basis: Columns that together say what each side scored.
        comparable: In what the sides differ.
    """

    paired: Paired
    shown: Mapping[str, Column]
    basis: Mapping[str, Column]
    comparable: Comparability


def bring_together(baseline: Side, candidate: Side, options: CompareOptions, gates: Sequence[Gate]) -> Compares:
    """Pair the sides and measure both.

    Raises:
        ContradictionError: A gate cannot be, a metric does not exist, or `no-shared-question`.
        ConflictError: `incomparable` under `strict`.
    """
    check_gates(gates)
    paired = Paired(baseline, candidate)
    comparable = comparability(paired)
    if options.strict and not comparable.ok:
        fields = ", ".join(difference.field for difference in comparable.differences if difference.blocking)
        raise ConflictError(
            "incomparable",
            f"{baseline.name} and {candidate.name} differ in {fields}. Measure both alike, or leave out strict.",
        )
    named = _named(paired, options, gates)
    basis = {name: compared(name, paired, pointer="") for name in ("hit_rate", *JUDGED)}
    found = columns(paired, list({**basis, **named}.values()))
    together = Compares(
        paired, {name: found[name] for name in named}, {name: found[name] for name in basis}, comparable
    )
    if not _shared(together):
        raise ContradictionError(
            "no-shared-question",
            f"{baseline.name} and {candidate.name} share no question that is measured on both and has not changed. "
            "Measure both on the same questions.",
        )
    return together


def report(
    together: Compares, options: CompareOptions, gates: Sequence[Gate], *, calibrations: Calibrations = NO_CALIBRATION
) -> CompareResponse:
    """Decide, and say everything.

    Args:
        together: The sides.
        options: How they are compared.
        gates: What decides.
        calibrations: By fingerprint of a judge how it agrees with people, by dimension.
    """
    paired, shown = together.paired, list(together.shown.values())
    metrics = metric_comparisons(
        paired,
        shown,
        together.comparable,
        calibrations=calibrations,
        gated=metrics_of(gates),
        alpha=options.alpha,
        seed=options.seed,
    )
    evidence = evidence_of(together, options)
    results = [decide(gate, evidence) for gate in gates]
    return CompareResponse(
        verdict=verdict_of(results),
        gates=results,
        comparable=together.comparable,
        questions=_questions(together),
        metrics=metrics,
        slices=compared_slices(paired, shown),
        budget={part: evidence.costs.part(part) for part in BUDGET},
        findings=findings(paired, together.basis, metrics, together.comparable, gates),
        per_question=changed_questions(paired, shown),
        alpha=options.alpha,
        seed=options.seed,
        names=(paired.baseline.name, paired.candidate.name),
    )


def finished(answer: CompareResponse, results: list[GateResult]) -> CompareResponse:
    """The answer with what its gates say in the end."""
    return msgspec.structs.replace(answer, gates=results, verdict=verdict_of(results))


def evidence_of(together: Compares, options: CompareOptions) -> Evidence:
    """What gates look at."""
    return Evidence(
        paired=together.paired,
        columns=together.shown,
        costs=Costs(together.paired),
        counts=Counts(together.paired, together.basis),
        comparable=together.comparable,
        level=Level(1 - options.alpha, options.seed),
    )


def _named(paired: Paired, options: CompareOptions, gates: Sequence[Gate]) -> dict[str, Compared]:
    """The metrics that are reported, and what is meant by each."""
    named: dict[str, Compared] = {}
    if options.metrics is None:
        named.update({name: compared(name, paired, pointer="/metrics") for name in default_metrics(paired)})
    else:
        for place, name in enumerate(options.metrics):
            named[name] = compared(name, paired, pointer=f"/metrics/{place}")
    wanted = metrics_of(gates)
    for place, gate in enumerate(gates):
        if gate.metric in wanted:
            named.setdefault(gate.metric, compared(gate.metric, paired, pointer=f"/gates/{place}/metric"))
    return named


def _shared(together: Compares) -> list[str]:
    """Questions that both sides hold and that are compared on something."""
    attempted = np.zeros(len(together.paired.ids), dtype=np.bool_)
    for column in together.basis.values():
        attempted |= column.attempted
    return together.paired.named(attempted & together.paired.shared)


def _questions(together: Compares) -> ComparedQuestions:
    paired = together.paired
    before = np.zeros(len(paired.ids), dtype=np.bool_)
    after = before.copy()
    for column in together.basis.values():
        is_retrieval = column.metric.dimension is None
        old, new = paired.baseline, paired.candidate
        measured = (old.found and new.found) if is_retrieval else (old.answered and new.answered)
        if measured:
            before |= _lacks(column.before_state, column.after_state, excluded=is_retrieval)
            after |= _lacks(column.after_state, column.before_state, excluded=is_retrieval)
    return ComparedQuestions(
        shared=len(_shared(together)),
        only_baseline=paired.only_baseline,
        only_candidate=paired.only_candidate,
        changed_gold=paired.changed,
        unscored_baseline=paired.named(before & paired.shared),
        unscored_candidate=paired.named(after & paired.shared),
        excluded=_excluded(paired),
    )


def _lacks(own: States, other: States, *, excluded: bool) -> Mask:
    """Where a side has no score: it was to be scored there, or the other side is scored and this one left out."""
    unscored: Mask = own == State.UNSCORED
    gone: Mask = (own == State.MISSING) & (other == State.SCORED)
    left_out: Mask = (own == State.NOT_EVALUABLE) & (other == State.SCORED)
    return unscored | gone | left_out if excluded else unscored | gone


def _excluded(paired: Paired) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for question in paired.ids:
        before, after = paired.baseline.found.get(question), paired.candidate.found.get(question)
        if before is not None and after is not None and before.excluded and after.excluded:
            found.setdefault(after.excluded, []).append(question)
    return found
