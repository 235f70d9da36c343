"""Whether a list is as long as a cutoff asks, or was cut before."""

from befund.core.comparison.columns import Compared
from befund.core.comparison.pairing import Paired
from befund.core.comparison.side import Side


def cut_short(metric: Compared, paired: Paired) -> str | None:
    """Which side's lists end before the metric's cutoff, in a sentence; None where none do.

    The configuration's `retrieval.top_k` says how long a list could be, else the k that a side was given. Where nobody
    said anything, lists that all end before the cutoff were cut where the other side's go on.
    """
    before, after = metric.cutoffs
    for side, other, k in ((paired.baseline, paired.candidate, before), (paired.candidate, paired.baseline, after)):
        if k is not None and side.found and _ends_before(k, side, other):
            end = side.top_k or side.longest
            return (
                f"{side.name} was cut at {end}, before {k}: search deeper, or say k (--baseline-k, --candidate-k) or "
                "config.retrieval.top_k if its lists are short by themselves"
            )
    return None


def _ends_before(k: int, side: Side, other: Side) -> bool:
    if side.top_k is not None:
        return side.top_k < k
    if side.longest >= k or not side.longest:  # nothing found at all is an outage: a search gives at least one
        return False
    is_declared_shorter = side.declared is not None and side.declared < k
    return is_declared_shorter or (not side.k_given and other.longest > side.longest)
