"""An answer cut into sentences, so that a judge can be held to all of them."""

import re

_ENDS = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+(?=[\"'“„(\[*_]*[A-ZÄÖÜ0-9À-Þ])|\n+")
_ABBREVIATED = re.compile(
    r"(?:\b[^\W\d_]|\b\d{1,3}|\b(?:bzw|ca|evtl|etc|vgl|inkl|max|min|approx|incl|vers|no|nr|dr|mr|mrs|ms|st|vs))\.$",
    re.IGNORECASE,
)
MOST_SENTENCES = 60


def sentences_of(text: str) -> list[str]:
    r"""The sentences of a text; list items and table rows count as such, what has no letter or digit is left out.

    Very long texts are cut into at most 60 pieces of several sentences.

    >>> sentences_of("Retried for 72 h, e.g. Friday to Monday. Then given up.\n\n- See D003")
    ['Retried for 72 h, e.g. Friday to Monday.', 'Then given up.', '- See D003']
    """
    pieces: list[str] = []
    start = 0
    for end in _ENDS.finditer(text):
        if "\n" not in end[0] and _ABBREVIATED.search(text, start, end.start()):
            continue
        pieces.append(text[start : end.end()].strip())
        start = end.end()
    pieces.append(text[start:].strip())
    found = [piece for piece in pieces if any(character.isalnum() for character in piece)]
    together = -(-len(found) // MOST_SENTENCES) or 1
    return [" ".join(found[at : at + together]) for at in range(0, len(found), together)]
