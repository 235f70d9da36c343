"""Answers whose verdicts are known, one for each judge of a batch, and what came of them."""

from collections.abc import Callable, Mapping

import msgspec

from befund.contract import JudgeOptions, RunSummary, Usage
from befund.core.canary import CanaryOutcome, canary_findings, canary_of, canary_outcome
from befund.core.errors import JudgeError
from befund.core.judge_tasks import Outcome, Task
from befund.core.usage import total
from befund.usecases.judge_lookup import Answers

CountCanary = Callable[[str, CanaryOutcome], None]
"""Told what became of one, by the name of its judge."""


class Canaries:
    """What goes along with one batch; nothing where that is not wanted.

    Args:
        options: Whether it is wanted.
        count: Told what became of each.
    """

    def __init__(self, options: JudgeOptions, count: CountCanary) -> None:
        self._wanted = getattr(options, "canary", False)
        self._count = count
        self._waiting: dict[str, tuple[Task, Answers]] = {}
        self._came: dict[str, Outcome] = {}

    def for_judges_of(self, answers: Answers) -> None:
        """Send one along to every judge of these answers that has none yet."""
        if not self._wanted:
            return
        for asked, judge in answers.judges.items():
            self._waiting.setdefault(judge.name, (canary_of(asked), answers))

    @property
    def waiting(self) -> Mapping[str, tuple[Task, Answers]]:
        """Those to be judged, by the name of the judge."""
        return self._waiting

    def came(self, judge: str, outcome: Outcome) -> None:
        """Take in what came of that of one judge."""
        self._came[judge] = outcome
        self._count(judge, canary_outcome(outcome))

    def told_in(self, summary: RunSummary) -> RunSummary:
        """The figures of the batch, with what these used and what they found; no rate counts them."""
        if not self._came:
            return summary
        used = [used for outcome in self._came.values() if (used := usage_of(outcome)) is not None]
        findings = [*summary.findings, *canary_findings(list(self._came), list(self._came.values()))]
        return msgspec.structs.replace(summary, usage=total((summary.usage, *used)), findings=findings)


def usage_of(outcome: Outcome) -> Usage | None:
    """What judging an answer used, in vain too; None where nothing is known."""
    if outcome.judgment is not None:
        return outcome.judgment.usage
    return outcome.error.usage if isinstance(outcome.error, JudgeError) else None
