"""Who judges, and what is counted and remembered of it."""

from collections.abc import Sequence
from typing import Literal, Protocol

from befund.contract import Usage
from befund.core.judged import Judged
from befund.core.judging import Item, Observation

CallOutcome = Literal[
    "ok", "unusable", "truncated", "refused", "context_exceeded", "rejected", "limited", "unavailable", "cancelled"
]
"""How one request to a model ended; `rejected`: the endpoint does not take it as it is; `cancelled`: the deadline
passed, or nobody waits for it any more."""


class Judge(Protocol):
    """Looks at answers. A judge that fails raises; another one never takes its place unasked."""

    @property
    def name(self) -> str:
        """Its configured name."""
        ...

    @property
    def model(self) -> str | None:
        """The model it asks; None for rules, and where it asks several."""
        ...

    @property
    def models(self) -> Sequence[str]:
        """Every model it may ask; none for rules, several for a jury or a cascade."""
        ...

    @property
    def rubric(self) -> str | None:
        """The version of its rubric; None for rules."""
        ...

    @property
    def fingerprint(self) -> str:
        """Changes with everything that can change a verdict, as `sha256:...`."""
        ...

    @property
    def concurrency(self) -> int:
        """How many items it makes sense to have with it at the same time."""
        ...

    async def judge(self, item: Item, *, sample: int = 0, use_cache: bool = True) -> Judged:
        """Judge one answer.

        Args:
            item: The answer, with all that may be looked at.
            sample: Which of several independent samples; a judge without chance gives the same for each.
            use_cache: Whether an earlier result for exactly the same may be given.

        Raises:
            JudgeUnusableError: What it says cannot be used, also not on asking again.
            JudgeUnavailableError: It is down or limits us.
            JudgeDeadlineError: It did not answer in time.
        """
        ...

    async def ready(self) -> None:
        """Return if it can be asked.

        Raises:
            JudgeUnavailableError: It has been failing and is left alone for a while.
        """
        ...


class FactReader(Protocol):
    """Reads any text as if it were an answer, always alike and without asking a model."""

    async def observe(self, item: Item) -> Observation:
        """What can be seen of the expected facts in a text."""
        ...


class Judges(Protocol):
    """Every configured judge."""

    def named(self, name: str, *, forced: bool = False) -> Judge:
        """The judge of this name; `default` is the one that judges where a request names none.

        Args:
            name: Its name.
            forced: Whether that one of it is meant that decides where it would abstain.

        Raises:
            ContradictionError: `unknown-judge`; `cannot-force`, of one that decides for itself when it abstains.
        """
        ...

    def label(self, name: str) -> str | None:
        """The configured name that is meant; None where there is no such judge."""
        ...


class Cache(Protocol):
    """Remembers what was worked out before. It may forget at any time."""

    async def get(self, key: str) -> bytes | None:
        """What was put under this key, if it is still held."""
        ...

    async def put(self, key: str, value: bytes) -> None:
        """Remember a value."""
        ...


class JudgeMeter(Protocol):
    """Counts what judges do."""

    def called(self, outcome: CallOutcome, *, judge: str, model: str, seconds: float) -> None:
        """One request to a model ended."""
        ...

    def used(self, usage: Usage, *, judge: str, model: str) -> None:
        """One reply used so much; a part that is None is counted as unknown."""
        ...

    def retried(self, judge: str) -> None:
        """A request is sent once more for the same answer."""
        ...

    def looked_up(self, *, found: bool) -> None:
        """The cache was asked."""
        ...

    def in_flight(self, change: int) -> None:
        """One request more (1) or less (-1) is under way."""
        ...
