"""What was looked at on the way of the gold: in the index, in the ranking, in the context."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from befund.contract import Rank
from befund.core.diagnosis.gold import Wanted

MOST_RANK = 1_000
"""Ranks are exact down to this one."""
BEYOND = MOST_RANK + 1
SAME_TEXT = 0.95
"""Cosine between a stored vector and that of the chunk's text, from which they count as the same."""

TextState = Literal["whole", "split", "lost", "elsewhere", "unread"]
"""Where a quote is in the index: in its chunk, cut over neighbours, nowhere, in another chunk; or nobody looked."""


class Place(Struct, frozen=True, kw_only=True):
    """What the index says of one chunk.

    Attributes:
        chunk: Its id.
        held: Whether the collection holds it.
        text: Its text, whitespace folded; None where none is kept.
        clause: The clause of the filter that leaves it out.
        value: What it says itself of the field of that clause; None where it has no such field.
        rank: Its exact rank among the chunks that pass the filter, up to `BEYOND`; None where it has none.
        last: The last of the ranks it shares with chunks just as near.
        returned: Whether a search for so many chunks as retrieval gives returns it; None where nobody searched.
        reachable: Whether a search with its own vector finds it; None where nobody searched.
        likeness: Cosine of its vector with that of its text; None where they were not compared.
    """

    chunk: str
    held: bool = True
    text: str | None = None
    clause: dict[str, Any] | None = None
    value: object = None
    rank: int | None = None
    last: int | None = None
    returned: bool | None = None
    reachable: bool | None = None
    likeness: float | None = None


class Trace(Struct, frozen=True, kw_only=True):
    """One piece of gold in the index.

    Attributes:
        wanted: The piece.
        places: Its chunks; where its quote stands in others, those.
        text: What became of its quote.
        document: The document that was looked for; None where none is known.
        document_held: Whether the collection holds any chunk of it; None where nobody looked.
    """

    wanted: Wanted
    places: Sequence[Place]
    text: TextState
    document: str | None = None
    document_held: bool | None = None


class Recorded(Struct, frozen=True, kw_only=True):
    """What is known of the answer's own retrieval.

    Attributes:
        context: Chunk ids the generator received, with texts, whitespace folded, as far as they are known.
        retrieved: The ranking before; None where it was not given.
        k: How many chunks retrieval gives; None where that is not known.
        k_is_told: Whether somebody said so, or a ranking shows it; else it is taken from the context.
    """

    context: Mapping[str, str | None]
    retrieved: Sequence[str] | None = None
    k: int | None = None
    k_is_told: bool = True


def shown_rank(rank: int) -> Rank:
    """A rank as callers see it.

    >>> shown_rank(1_000), shown_rank(1_001)
    (1000, '> 1000')
    """
    return rank if rank <= MOST_RANK else "> 1000"
