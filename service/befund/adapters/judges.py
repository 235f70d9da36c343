"""Builds the configured judges."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct

from befund.adapters.panels import CascadeJudge, JuryJudge
from befund.core.configured import RULES, Cascade, Judges, Jury, ModelJudge
from befund.core.errors import ContradictionError
from befund.ports import Cache, Judge, JudgeMeter

DEFAULT = "default"


class JudgesBench(Struct, frozen=True):
    """Every judge by name, `rules` among them.

    Attributes:
        judges: The judges.
        default: Which one judges where a request says `default`.
        forced: Those of them that decide where they would abstain.
        closing: Lets go of what they hold.
    """

    judges: Mapping[str, Judge]
    default: str
    forced: Mapping[str, Judge] = {}
    closing: Sequence[Callable[[], Awaitable[None]]] = ()

    def named(self, name: str, *, forced: bool = False) -> Judge:
        """The judge of this name; see `befund.ports.Judges`."""
        meant = self.default if name == DEFAULT else name
        judge = self.judges.get(meant)
        if judge is None:
            known = ", ".join([DEFAULT, *self.judges])
            raise ContradictionError.at("/judge", "unknown-judge", f"There is no judge {name!r}; there are {known}.")
        if not forced:
            return judge
        if meant not in self.forced:
            able = ", ".join(self.forced)
            raise ContradictionError.at(
                "/force_verdict", "cannot-force", f"The judge {meant!r} cannot be forced to a verdict; {able} can."
            )
        return self.forced[meant]

    def label(self, name: str) -> str | None:
        """The configured name that is meant; None where there is no such judge."""
        known = self.default if name == DEFAULT else name
        return known if known in self.judges else None

    async def close(self) -> None:
        """Let go of every endpoint."""
        for close in self.closing:
            await close()


def build_judges(
    configured: Judges, *, rules: Judge, forced_rules: Judge, cache: Cache, meter: JudgeMeter
) -> JudgesBench:
    """Make every judge; to be called where the event loop runs, and closed there.

    Args:
        configured: Which judges there are.
        rules: The judge that needs no model.
        forced_rules: The same, which never abstains where it can decide.
        cache: Where model judges keep results.
        meter: What counts their calls.
    """
    models = [judge for judge in configured.every if isinstance(judge, ModelJudge)]
    judges: dict[str, Judge] = {RULES: rules}
    closing: list[Callable[[], Awaitable[None]]] = []
    if models:
        # The client takes more than a second to import, which only those who ask a model should wait for.
        from befund.adapters.openai_judge.judge import open_judge

        for model in models:
            opened = open_judge(model, cache=cache, meter=meter)
            judges[model.name] = opened
            closing.append(opened.close)
    for kind, made in ((Jury, JuryJudge), (Cascade, CascadeJudge)):
        for panel in configured.every:
            if isinstance(panel, kind):
                judges[panel.name] = made(panel.name, [judges[name] for name in panel.members])
    return JudgesBench(judges, configured.default, {RULES: forced_rules}, closing)
