"""What the rules need to know about words, and the words every sentence has."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from befund.core.rules.units import UNITS
from befund.core.rules.vocabulary import listed

Tongue = Literal["en", "de", ""]


class Lexicon(Protocol):
    """Language data: lemmas, static word vectors, sentence boundaries. Loaded once, outside the core."""

    def __hash__(self) -> int:
        """By identity: what was read with one is remembered for it."""
        ...

    def lemma(self, word: str) -> str:
        """The dictionary form of a word as written, or the word itself."""
        ...

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """One row a word; its length says how much the word tells, its direction what it means."""
        ...

    def sentences(self, text: str, tongue: Tongue) -> Iterable[str]:
        """The text, cut into sentences; nothing is left out."""
        ...


ENGLISH = listed(
    "a about above after again all also am an and any are as at be because been before being below between both "
    "but by "
    "can could did do does doing done down during each either else etc ever every few for from further get gets "
    "got had "
    "has have having he her here hers herself him himself his how however i if in into is it its itself just "
    "let like "
    "me more most much my myself no nor not now of off often on once only or other our ours ourselves out over "
    "own per "
    "rather same she should so some still such than that the their theirs them themselves then there these they "
    "this "
    "those through thus to too under until up upon us very was we were what when where whether which while who "
    "whom "
    "whose why will with within without would yes yet you your yours yourself i'm it's don't doesn't didn't isn't "
    "aren't wasn't weren't won't can't cannot i've you're they're we're that's there's he's she's i'd i'll"
)
GERMAN = listed(
    "aber alle allem allen aller alles als also am an auch auf aus bei beim bin bis bist da dabei dadurch dafür "
    "dagegen "
    "daher damit danach dann daran darauf darf darin darüber das dass davon dazu dein deine dem den denn der "
    "deren des "
    "dessen die dies diese diesem diesen dieser dieses doch dort du durch dürfen ein eine einem einen einer "
    "eines er es "
    "etwa etwas euch euer für gegen habe haben hat hatte hatten hier hinter ich ihm ihn ihnen ihr ihre ihrem ihren "
    "ihrer im in indem ins ist ja jede jedem jeden jeder jedes jedoch jene kann kein keine keinem keinen keiner "
    "können "
    "könnte man mehr mein meine mit muss müssen nach nein nicht nichts noch nun nur ob oder ohne sehr sein "
    "seine seinem "
    "seinen seiner seit sich sie sind so solche soll sollen sollte sondern sowie über um und uns unser unter "
    "vom von "
    "vor war waren warum was weil welche welchem welchen welcher welches wenn wer werde werden wie wieder will "
    "wir wird "
    "wirst wo wollen wurde wurden zu zum zur zwar zwischen lang lange jetzt"
)
_ONLY_ENGLISH = ENGLISH - GERMAN - {"all", "am", "so"}
_TELLING = listed(
    "ab gilt gelten bleibt bleiben dauert dauern beträgt kostet kosten hält steht stehen liegt gibt geht lässt läuft "
    "heißt heisst braucht bietet nein zwei drei vier fünf sechs sieben neun zehn zwölf zwanzig dreißig hundert "
    "tausend jahr jahre jahren monat monate monaten woche wochen tag tage tagen stunde stunden minuten sekunden "
    "prozent uhr januar februar märz juni juli oktober dezember rund bereits immer"
)
"""Words of German sentences so short that none of the others stands in them."""
_HOMOGRAPHS = {"die", "war", "man", "bin", "wo", "da", "bei", "gut", "im"}
"""They tell where nothing else does."""
_ONLY_GERMAN = (GERMAN | _TELLING) - ENGLISH - _HOMOGRAPHS
_MARKS = ".,;:!?\"'()"
_UMLAUTS = frozenset("äöü")
STOPWORDS = ENGLISH | GERMAN

_CALENDAR = (
    "january januar", "february februar", "march märz", "april", "may mai", "june juni", "july juli", "august",
    "september", "october oktober", "november", "december dezember", "monday montag", "tuesday dienstag",
    "wednesday mittwoch", "thursday donnerstag", "friday freitag", "saturday samstag sonnabend", "sunday sonntag",
)  # fmt: skip
_SAME = {name: names.split()[0] for names in _CALENDAR for name in names.split()}
_SAME |= {name: f"{readings[0][0]}/{readings[0][1]:g}" for name, readings in UNITS.items() if len(name) > 3}


def canonical(folded: str, lemma: str) -> str:
    """One form for all forms of a word; units, months and weekdays are the same in both languages."""
    return _SAME.get(folded) or _SAME.get(lemma) or lemma


@lru_cache(maxsize=50_000)
def _is_german(word: str) -> bool:
    return word in _ONLY_GERMAN or not (word.isascii() or _UMLAUTS.isdisjoint(word))


def tongue_of(words: Iterable[str]) -> Tongue:
    """Which of the two languages these folded words are; empty where nothing tells.

    >>> tongue_of("der schlüssel ist für den export".split()), tongue_of(["72", "orbit"])
    ('de', '')
    """
    bare = [word if word.isalpha() else word.strip(_MARKS) for word in words]
    german = sum(map(_is_german, bare))
    english = sum(map(_ONLY_ENGLISH.__contains__, bare))
    if german == english:
        return "de" if not english and not _HOMOGRAPHS.isdisjoint(bare) else ""
    return "de" if german > english else "en"
