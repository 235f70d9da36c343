"""Judges as they are configured: values that settings read and adapters build from."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from befund.core.usage import Price

RULES = "rules"
OPENAI_URL = "https://api.openai.com/v1"


class ModelJudge(Struct, frozen=True, kw_only=True):
    """A judge that asks a model.

    Attributes:
        name: What requests call it.
        model: The model to ask.
        url: Base URL of an endpoint that speaks OpenAI's protocol.
        key: Its key; None where it needs none.
        headers: Sent with every request.
        parameters: Sent in every request, as `reasoning_effort`.
        price: What tokens cost; None where nobody said.
        concurrency: Requests at the same time.
        deadline_seconds: From the call to the verdict, waiting and retries included.
        backoff_seconds: The first pause between retries, at most; it doubles.
    """

    name: str
    model: str
    url: str = OPENAI_URL
    key: str | None = None
    headers: Mapping[str, str] = {}
    parameters: Mapping[str, Any] = {}
    price: Price | None = None
    concurrency: int = 16
    deadline_seconds: float = 60.0
    backoff_seconds: float = 0.5

    def __repr__(self) -> str:
        key = "with" if self.key else "without"
        return f"{self.model} at {self.url}, {key} a key, {self.concurrency} at once, {self.deadline_seconds:g} s"


class Jury(Struct, frozen=True):
    """Several judges, each with one vote; the majority counts, dimension by dimension."""

    name: str
    members: Sequence[str]

    def __repr__(self) -> str:
        return f"jury of {', '.join(self.members)}"


class Cascade(Struct, frozen=True):
    """Judges in order; the next is asked for what those before it abstained on."""

    name: str
    members: Sequence[str]

    def __repr__(self) -> str:
        return f"cascade of {', '.join(self.members)}"


class Judges(Struct, frozen=True):
    """Every configured judge beside the rules, and which one judges where a request names none."""

    default: str = RULES
    every: Sequence[ModelJudge | Jury | Cascade] = ()
