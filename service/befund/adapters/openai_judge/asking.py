"""What to do after each call for one answer: ask again, ask otherwise, or give up. Decisions alone, no calls."""

from math import ceil
from typing import NoReturn

from msgspec import Struct

from befund.adapters.openai_judge.endpoint import Dialect
from befund.adapters.openai_judge.failures import CallError
from befund.adapters.openai_judge.forms import FORMS, Form
from befund.core.errors import BefundError, JudgeUnavailableError, JudgeUnusableError

MOST_TRANSIENT = 4
MOST_UNUSABLE = 2
MOST_REFUSED = 1
MORE_ROOM = 4
FORM_FAILURES = 2
"""So many server errors, or replies of another form, in a form that never worked: the endpoint does not have it."""
LONGEST_BACKOFF_SECONDS = 8.0
DEFAULT_RETRY_SECONDS = 5.0


class Asking(Struct, kw_only=True):
    """The way of one answer to a usable reply.

    Attributes:
        judge: Name of the judge, for its errors.
        dialect: What the endpoint was found to take; what is learned here goes there.
        backoff: Seconds of the first pause at most; it doubles with each failure.
        form: The form to ask in.
        room_factor: By how much more room than usual the model gets.
        with_room: Whether the request says how much room there is.
        complaint: What was wrong with the last reply.
    """

    judge: str
    dialect: Dialect
    backoff: float
    form: Form
    room_factor: int = 1
    with_room: bool = True
    complaint: str = ""
    transient: int = 0
    unusable: int = 0
    refused: int = 0
    form_failures: int = 0

    def after(self, error: CallError, *, jitter: float) -> float:
        """Decide what comes next; give the seconds to wait before.

        Args:
            error: Why the last call brought nothing usable.
            jitter: 0 to 1, by chance.

        Raises:
            JudgeUnusableError: It is no use asking again.
            JudgeUnavailableError: It was asked often enough.
        """
        match error.kind:
            case "parameter":
                self.dialect.left_out |= {error.parameter or ""}
            case "form" if not self.dialect.proven and self._plainer():
                pass
            case "context" if self.with_room:
                # Some endpoints count the room asked for against the window.
                self.with_room = False
            case "truncated" if self.room_factor == 1:
                self.room_factor = MORE_ROOM
            case "refused" if self.refused < MOST_REFUSED:
                self.refused += 1
            case "malformed" | "unusable":
                self._after_unusable(error)
            case "limited" | "unavailable" | "garbled":
                return self._after_transient(error, jitter)
            case _:
                self.give_up(error)
        return 0.0

    def give_up(self, error: CallError) -> NoReturn:
        """Raise what the caller is told."""
        raise self._said(error) from error

    def _after_unusable(self, error: CallError) -> None:
        self.unusable += 1
        self.complaint = error.said
        if error.kind == "unusable":
            self.dialect.settle(self.form)
        elif not self.dialect.proven and self.unusable >= FORM_FAILURES and self._plainer():
            self.unusable = 0
        if self.unusable > MOST_UNUSABLE:
            self.give_up(error)

    def _after_transient(self, error: CallError, jitter: float) -> float:
        if not self.dialect.proven and (error.status == 500 or error.kind == "garbled"):
            self.form_failures += 1
            if self.form_failures >= FORM_FAILURES and self._plainer():
                return 0.0
        self.transient += 1
        if self.transient > MOST_TRANSIENT:
            self.give_up(error)
        pause = jitter * min(self.backoff * (1 << (self.transient - 1)), LONGEST_BACKOFF_SECONDS)
        return pause + (error.retry_after or 0.0)

    def _plainer(self) -> bool:
        """Go to the next plainer form, if there is one."""
        position = FORMS.index(self.form) + 1
        if position == len(FORMS):
            return False
        self.form = FORMS[position]
        self.transient = self.form_failures = 0
        return True

    def _said(self, error: CallError) -> BefundError:
        who, said = f"The judge {self.judge!r}", error.said
        match error.kind:
            case "limited":
                return JudgeUnavailableError(
                    "judge-limited",
                    f"{who} is limited by its endpoint: {said}. Try again later, or lower its concurrency.",
                    retry_after=ceil(error.retry_after or DEFAULT_RETRY_SECONDS),
                )
            case "unavailable":
                return JudgeUnavailableError(
                    "judge-unavailable",
                    f"{who} is not available: {said}. Try again later.",
                    retry_after=ceil(error.retry_after or DEFAULT_RETRY_SECONDS),
                )
            case "truncated":
                return JudgeUnusableError(
                    "judge-output-truncated",
                    f"{who} was cut off before its reply was complete, with {MORE_ROOM} times the usual room too. "
                    "Judge a shorter answer, or take a model that may write more.",
                )
            case "refused":
                return JudgeUnusableError(
                    "judge-refused",
                    f"{who} refused to judge this answer, or a content filter stopped it ({said}). "
                    "Another judge may take it.",
                )
            case "context" | "cut":
                return JudgeUnusableError(
                    "judge-context-exceeded",
                    f"Question, answer and context are longer than the window of {self.judge!r}: {said}. "
                    "Send less context, or take a model with a larger window.",
                )
            case "rejected" | "form" | "parameter":
                return JudgeUnusableError(
                    "judge-request-refused",
                    f"{who} does not take the request: {said}. Check its model, URL, key and parameters.",
                )
            case _:
                return JudgeUnusableError(
                    "judge-output-unusable", f"{who} gave nothing that can be used, also not when asked again: {said}."
                )
