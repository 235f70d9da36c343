"""What many judgments may cost together."""

from befund.contract import Usage
from befund.core.errors import ContradictionError


class Budget:
    """Keeps what is spent under a limit: a call is begun only where what it will probably cost is still left.

    An answer is taken to cost as much as the dearest one so far.

    Args:
        limit: US dollars; None for no limit.
        spent: What was spent before.
    """

    def __init__(self, limit: float | None, *, spent: float = 0.0) -> None:
        self._limit = limit
        self._spent = spent
        self._dearest = 0.0
        self._under_way = 0
        self._is_unknown = False

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit."""
        return self._limit is not None

    def begin(self) -> None:
        """Take account of a call that begins.

        Raises:
            ContradictionError: `cost-limit`: it would probably pass the limit; `cost-unknown`: nobody can tell.
        """
        if self._limit is not None:
            if self._is_unknown:
                raise ContradictionError.at(
                    "/max_cost_usd",
                    "cost-unknown",
                    "Not judged: what this judge costs is not known, so max_cost_usd cannot be kept. Configure its "
                    "price, or leave out max_cost_usd.",
                )
            if self._spent + (self._under_way + 1) * self._dearest > self._limit:
                raise ContradictionError.at(
                    "/max_cost_usd",
                    "cost-limit",
                    f"Not judged: ${self._spent:.6f} is spent, {self._under_way} more under way, an answer costs up "
                    f"to ${self._dearest:.6f}, and max_cost_usd is ${self._limit:.6f}. Send the rest with more.",
                )
        self._under_way += 1

    def end(self, usage: Usage | None) -> None:
        """Take account of what a call used; None where it used nothing."""
        self._under_way -= 1
        if usage is None:
            return
        if usage.cost_usd is None:
            self._is_unknown = True
        else:
            self._spent += usage.cost_usd
            self._dearest = max(self._dearest, usage.cost_usd)
