"""Whether a passage that holds an expected figure speaks of what was asked: the same figure counts other things too."""

import re
from collections.abc import Sequence

from befund.core.rules.language import STOPWORDS, Tongue, tongue_of
from befund.core.rules.vocabulary import listed

PRODUCT = re.compile(r"([^\W\d_]+)\s+(?:v|version\s+)?\d+(?:\.\d+)+", re.IGNORECASE)
"""A name with a version behind it: it tells the version, and stands in every passage."""
_WORD = re.compile(r"[^\W\d_]{3,}")
_STEM = 4
_BEFORE = 120
"""Characters before a sentence, and at the head of its chunk, that say what it is about."""
_OF_QUOTE = 2
"""Words that a passage must at least share with a quote of the gold, and half of the quote's."""
_ASKING = listed(
    "long lang much many viel high hoch time zeit "
    "hour stun days tage minu seco seku week woch mont mona year jahr cent euro doll perc proz"
)
"""Stems of words that ask for a figure, and of units, which come with it whatever it counts."""
_RELATING = listed(
    "keep keeps kept last lasts take takes cost costs need needs allow allows allowed store stored stay stays "
    "bewahrt bewahren aufbewahrt aufbewahren bleibt bleiben braucht brauchen dauert dauern erlaubt gelten gilt kostet "
    "kosten gespeichert speichert"
)
"""Verbs that say what the figure is, not of what: backups are kept, and so are logs."""


def is_about(passage: str, chunk: str, *, question: str, quotes: Sequence[str]) -> bool:
    """Whether the words around a figure have to do with the question, or with what an expert marked.

    Looked at are the sentence, what stands before it, and the chunk's head. They must share half of the question's
    words, or two of those of a quote, and half; a sentence that has fewer, as "Webhooks: 72 hours", no more than it
    has. In another language names and loan words are all that can be shared: one will do, and where nothing is written
    in the passage's language their lack proves nothing. Without any quote one word of the question must do.

    Args:
        passage: The sentence that holds the figure.
        chunk: The text it is from, folded.
        question: What was asked.
        quotes: What an expert marked, folded.
    """
    sentence = " ".join(passage.split())
    at = chunk.find(sentence)
    around = f"{chunk[:_BEFORE]} {chunk[max(0, at - _BEFORE) : at]} {sentence}"
    named = {name.casefold()[:_STEM] for name in PRODUCT.findall(question)}
    own, tongue, asked = _stems(around) - named, _tongue(around), _tongue(question)
    comparable, most = False, max(1, len(_stems(sentence) - named))
    for reference in (question, *quotes):
        stems = _stems(reference) - named
        if not stems:
            continue
        foreign = bool(tongue) and _tongue(reference) not in ("", tongue)
        comparable = comparable or not foreign
        enough = (len(stems) + 1) // 2 if reference is question else max(_OF_QUOTE, len(stems) // 2)
        if foreign or not quotes or (asked and tongue not in ("", asked)):
            enough = 1
        if _shared(stems, own) >= min(enough, most, len(stems)):
            return True
    return not comparable


def _shared(stems: set[str], own: set[str]) -> int:
    """How many of these stand there, three letters of a short word being as good as its plural."""
    return sum(any(each.startswith(stem) or stem.startswith(each) for each in own) for stem in stems)


def _stems(text: str) -> set[str]:
    """The beginnings of the words that tell something; verbs that only relate a figure where there is nothing else."""
    words = {word.casefold() for word in _WORD.findall(text)} - STOPWORDS
    stems, relating = ({word[:_STEM] for word in some} - _ASKING for some in (words - _RELATING, words & _RELATING))
    return stems or relating


def _tongue(text: str) -> Tongue:
    return tongue_of(text.casefold().split())
