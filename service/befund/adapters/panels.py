"""Judges made of judges: samples that vote, a jury, a cascade."""

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from befund.core.judged import Judged
from befund.core.judging import Item
from befund.core.together import together
from befund.core.voting import filled_up, is_decided, majority
from befund.ports import Judge


class Panel:
    """What jury and cascade have in common: they are as ready, and as fast, as their members together."""

    def __init__(self, name: str, members: Sequence[Judge]) -> None:
        self.name = name
        self._members = members
        known = (type(self).__name__, [member.fingerprint for member in members])
        self.fingerprint = f"sha256:{sha256(msgspec.json.encode(known)).hexdigest()}"

    @property
    def model(self) -> str | None:
        """None: there are several."""
        return None

    @property
    def models(self) -> Sequence[str]:
        """Those of all members, each once."""
        return list(dict.fromkeys(model for member in self._members for model in member.models))

    @property
    def rubric(self) -> str | None:
        """The rubric of those that have one."""
        return next((member.rubric for member in self._members if member.rubric), None)

    @property
    def concurrency(self) -> int:
        """As many as the narrowest member takes."""
        return min(member.concurrency for member in self._members)

    async def ready(self) -> None:
        """Raise while a member is not ready."""
        for member in self._members:
            await member.ready()


class JuryJudge(Panel):
    """Asks all members; the majority counts. Where one fails, there is no verdict: fewer voices are another jury."""

    async def judge(self, item: Item, *, sample: int = 0, use_cache: bool = True) -> Judged:
        """Judge one answer; see `befund.ports.Judge`."""
        votes = await together(member.judge(item, sample=sample, use_cache=use_cache) for member in self._members)
        return majority(votes, judge=self.name)


class CascadeJudge(Panel):
    """Asks the members in order until nothing is left open; says for each verdict who decided."""

    async def judge(self, item: Item, *, sample: int = 0, use_cache: bool = True) -> Judged:
        """Judge one answer; see `befund.ports.Judge`."""
        first, *others = self._members
        judged = await first.judge(item, sample=sample, use_cache=use_cache)
        for member in others:
            if is_decided(judged):
                break
            judged = filled_up(judged, await member.judge(item, sample=sample, use_cache=use_cache))
        return judged
