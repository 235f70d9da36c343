"""Leaves an endpoint alone for a while once it keeps failing."""

from collections.abc import Callable

FAILURES = 5
LONGEST_PAUSE_SECONDS = 60.0
FIRST_PAUSE_SECONDS = 5.0


class Breaker:
    """Counts answers that got nothing from the endpoint; after five in a row it opens.

    While it is open nothing is asked. After the pause one answer is tried: if that fails, the next pause is twice as
    long, up to a minute.

    Args:
        clock: Seconds on a clock that only moves forward.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures = 0
        self._pause = FIRST_PAUSE_SECONDS
        self._open_until: float | None = None
        self._trying = False

    def seconds_left(self) -> float:
        """How long nothing should be asked; 0 while it may be."""
        return 0.0 if self._open_until is None else max(0.0, self._open_until - self._clock())

    def admit(self) -> float:
        """Let one answer pass (0), or say how many seconds to wait."""
        left = self.seconds_left()
        if left == 0 and self._open_until is not None:
            # The one that passes closes the door behind it until it is known how it went.
            self._open_until = self._clock() + self._pause
            self._trying = True
        return left

    def succeeded(self) -> None:
        """The endpoint answered."""
        self._failures, self._pause, self._open_until, self._trying = 0, FIRST_PAUSE_SECONDS, None, False

    def failed(self) -> None:
        """The endpoint gave nothing for one answer, with all retries."""
        self._failures += 1
        if self._trying:
            self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)
        if self._trying or self._failures == FAILURES:
            self._open_until = self._clock() + self._pause
            self._trying = False
