"""Where a passage stands that does not stand where it should."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from befund.core.corpus import Chunk
from befund.core.diagnosis.gold import Wanted
from befund.core.diagnosis.trace import Place, TextState, Trace
from befund.core.evidence_mapping import Quoted, map_evidence

_OWN_ID = re.compile(r"(.+)-chunk-\d+")
"""How Befund names the chunks of a document."""


def document_of(wanted: Wanted, metadata: Mapping[str, object]) -> str | None:
    """The document a piece of gold is in: as the evidence says, or its chunk's metadata, or its chunk's id.

    >>> document_of(Wanted(id="E1", grade=1, chunks=["D003-chunk-1"]), {})
    'D003'
    """
    if wanted.document is not None:
        return wanted.document
    own = metadata.get("document")
    if isinstance(own, str):
        return own
    named = [found[1] for chunk in wanted.chunks if (found := _OWN_ID.fullmatch(chunk))]
    return named[0] if named else None


def documents_to_read(
    wanted: Sequence[Wanted], texts: Mapping[str, str | None], held: Collection[str]
) -> Iterator[Wanted]:
    """The pieces of gold that are not where they should be, as far as can be seen from their chunks.

    Args:
        wanted: The gold.
        texts: The text of every chunk it names, folded; None where the chunk has none, or is not there.
        held: The chunks that are there.
    """
    for each in wanted:
        if any(chunk not in held for chunk in each.chunks):
            yield each
        elif each.quote is not None:
            known = [text for chunk in each.chunks if (text := texts[chunk]) is not None]
            if len(known) == len(each.chunks) and not any(each.quote in text for text in known):
                yield each


def located(
    wanted: Wanted, document: str, *, ids: Collection[str], chunks: Sequence[Chunk], held: Collection[str]
) -> Trace:
    """Find a piece of gold in its document.

    Args:
        wanted: The piece.
        document: The document.
        ids: Every chunk of it.
        chunks: Those that have a text, with their places in the document.
        held: Chunks that are known to be in the collection, of whatever document.
    """
    places = {chunk: Place(chunk=chunk, held=chunk in held or chunk in ids) for chunk in wanted.chunks}
    missing = [place for place in places.values() if not place.held]
    text: TextState = "unread"
    if wanted.quote is not None and chunks:
        found = map_evidence([Quoted(id=wanted.id, quote=wanted.quote)], chunks)
        standing = found.chunks.get(wanted.id, [])
        if standing:
            text = "split" if found.cut else "whole" if places.keys() & set(standing) else "elsewhere"
            own = [chunk for chunk in standing if chunk in places] if text == "whole" else standing
            places = {chunk: Place(chunk=chunk) for chunk in own}
        elif not missing:
            text = "lost"
        elif len(missing) < len(places):  # the chunks that are left do not hold it alone
            text = "split"
    return Trace(wanted=wanted, places=[*places.values()], text=text, document=document, document_held=bool(ids))
