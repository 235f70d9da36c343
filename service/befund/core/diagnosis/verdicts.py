"""The last two stages, answer and support: what the judgment holds against an answer, with its words."""

from befund.contract import JudgedClaim, JudgedFact, Judgment, Stage, StageName, StageState
from befund.core.diagnosis.wording import listed, short
from befund.core.judging import REFUSALS

MOST_NAMED = 3
"""Facts or claims that a stage names."""
_STATES: dict[bool | None, StageState] = {True: "ok", False: "failed", None: "skipped"}


def answer_stage(judgment: Judgment, error: str | None) -> Stage:
    """Whether the answer is right, and which fact is missing or contradicted."""
    return _stage("answer", judgment.correct, _of_answer(judgment, error))


def support_stage(judgment: Judgment) -> Stage:
    """Whether the context supports it, and which claim it does not."""
    wrong = [_of_claim(claim) for claim in judgment.claims if _is_refuted(claim)]
    return _stage(
        "support", judgment.faithful, _joined(wrong) or "the context is empty, and the answer claims something"
    )


def behavior_stage(behaved: bool | None, detail: str) -> Stage:
    """Whether what was expected was done."""
    return _stage("answer", behaved, detail)


def _stage(name: StageName, verdict: bool | None, detail: str) -> Stage:
    return Stage(stage=name, state=_STATES[verdict], detail=detail if verdict is False else None)


def _of_answer(judgment: Judgment, error: str | None) -> str:
    if error:
        return f"the generator failed: {short(error)}"
    if "EMPTY_ANSWER" in judgment.flags:
        return "the answer is empty"
    if judgment.observed_behavior in REFUSALS:
        return f"the answer does not answer ({judgment.observed_behavior})"
    wrong = [_of_fact(fact) for fact in judgment.facts if fact.verdict in ("missing", "contradicted")]
    return _joined(wrong) or "it differs from every reference answer"


def _of_fact(fact: JudgedFact) -> str:
    quote = f": {listed([fact.quote])}" if fact.quote else ""
    return f"{listed([fact.fact])} is {fact.verdict}{quote}"


def _is_refuted(claim: JudgedClaim) -> bool:
    return claim.verdict in ("unsupported", "contradicted") or claim.quote_verified is False


def _of_claim(claim: JudgedClaim) -> str:
    if claim.verdict == "supported":
        return f"{listed([claim.claim])} is supported by a quote that does not stand in {claim.chunk_id}"
    where = f" by {claim.chunk_id}" if claim.verdict == "contradicted" and claim.chunk_id else ""
    quote = f": {listed([claim.quote])}" if claim.verdict == "contradicted" and claim.quote else ""
    return f"{listed([claim.claim])} is {claim.verdict}{where}{quote}"


def _joined(found: list[str]) -> str:
    more = [f"and {len(found) - MOST_NAMED} more"] if len(found) > MOST_NAMED else []
    return "; ".join([*found[:MOST_NAMED], *more])
