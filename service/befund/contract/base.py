"""What every part of the contract builds on."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Id = Annotated[str, Meta(min_length=1, max_length=512, description="An opaque id, compared exactly.")]
Name = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9._-]{1,128}(?![\s\S])", description="A name of a run, data set or monitor.")
]
DatasetReference = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9._-]{1,128}(@[A-Za-z0-9:]{1,128})?(?![\s\S])",
        description="The name of a stored data set (its newest version), or name@HASH for a fixed version.",
    ),
]
Cutoff = Annotated[int, Meta(ge=1, le=100_000, description="A rank cutoff k.")]
Tag = Annotated[str, Meta(min_length=1, max_length=128)]
IntervalMethod = Literal["wilson", "bootstrap", "student", "lang_reiczigel", "too_few", "uninformative"]


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of everything a caller sends: an unknown field is an error, never ignored; defaults are not sent."""


class Response(Struct, frozen=True, kw_only=True):
    """Base of everything the service answers: a reader ignores fields it does not know."""


class Estimate(Response, frozen=True, kw_only=True):
    """A mean over questions and how sure it is.

    Attributes:
        value: The mean; null when nothing could be scored.
        ci: Lower and upper bound of the interval; null under ten questions.
        n: How many questions were scored.
        attempted: How many questions were to be scored.
        unscored: `attempted` - `n`.
        method: What made the interval; without one `too_few`, or `uninformative` (the judge is no better than chance).
    """

    value: float | None
    ci: tuple[float, float] | None
    n: int
    attempted: int
    unscored: int
    method: IntervalMethod


class Finding(Response, frozen=True, kw_only=True):
    """Something a reader should know before trusting the figures.

    Attributes:
        code: The kind of finding; stable.
        message: What was found and what to do about it.
        questions: Those it concerns, where it concerns some.
    """

    code: str
    message: str
    questions: list[str] = []


Content = Literal["full", "ids"]


class Usage(Response, frozen=True, kw_only=True):
    """Tokens and their cost; null where unknown."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
