"""Numbers written as digits or as words, in English and German.

A digit string is read in every way it can be meant: "1.200" is twelve hundred in German and one point two in English,
so both are its readings, and two numbers are the same if they share one.
"""

import re
from functools import lru_cache

_SMALL = {
    **dict.fromkeys(("zero", "null"), 0),
    **dict.fromkeys(("one", "eins", "ein", "eine", "einen", "einem", "einer", "eines"), 1),
    **dict.fromkeys(("two", "zwei", "zwo"), 2),
    **dict.fromkeys(("three", "drei"), 3),
    **dict.fromkeys(("four", "vier"), 4),
    **dict.fromkeys(("five", "fünf", "fuenf"), 5),
    **dict.fromkeys(("six", "sechs"), 6),
    **dict.fromkeys(("seven", "sieben"), 7),
    **dict.fromkeys(("eight", "acht"), 8),
    **dict.fromkeys(("nine", "neun"), 9),
    **dict.fromkeys(("ten", "zehn"), 10),
    **dict.fromkeys(("eleven", "elf"), 11),
    **dict.fromkeys(("twelve", "zwölf", "zwoelf"), 12),
    **dict.fromkeys(("thirteen", "dreizehn"), 13),
    **dict.fromkeys(("fourteen", "vierzehn"), 14),
    **dict.fromkeys(("fifteen", "fünfzehn", "fuenfzehn"), 15),
    **dict.fromkeys(("sixteen", "sechzehn"), 16),
    **dict.fromkeys(("seventeen", "siebzehn"), 17),
    **dict.fromkeys(("eighteen", "achtzehn"), 18),
    **dict.fromkeys(("nineteen", "neunzehn"), 19),
}
_TENS = {
    **dict.fromkeys(("twenty", "zwanzig"), 20),
    **dict.fromkeys(("thirty", "dreissig"), 30),
    **dict.fromkeys(("forty", "fourty", "vierzig"), 40),
    **dict.fromkeys(("fifty", "fünfzig", "fuenfzig"), 50),
    **dict.fromkeys(("sixty", "sechzig"), 60),
    **dict.fromkeys(("seventy", "siebzig"), 70),
    **dict.fromkeys(("eighty", "achtzig"), 80),
    **dict.fromkeys(("ninety", "neunzig"), 90),
}
SCALES: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(("hundred", "hundert"), (1e2,)),
    **dict.fromkeys(("thousand", "thousands", "tausend", "tsd"), (1e3,)),
    **dict.fromkeys(("million", "millions", "mio", "millionen"), (1e6,)),
    **dict.fromkeys(("milliarde", "milliarden", "mrd", "bn"), (1e9,)),
    "billion": (1e9, 1e12),
    "billions": (1e9,),
    "billionen": (1e12,),
    "trillion": (1e12, 1e18),
    **dict.fromkeys(("dozen", "dozens", "dutzend"), (12.0,)),
}
"""Words that multiply the number before them; "billion" is not the same in both languages."""

FRACTIONS = {
    **dict.fromkeys(("half", "halb", "halbe", "halben", "halber", "halbes", "hälfte"), 0.5),
    **dict.fromkeys(("quarter", "viertel"), 0.25),
    **dict.fromkeys(("dreiviertel",), 0.75),
    **dict.fromkeys(("third", "drittel"), 1 / 3),
}
ARTICLES = frozenset({"a", "an", "one", "ein", "eine", "einen", "einem", "einer", "eines"})
"""Count one thing only directly before its unit ("a day"); anywhere else they are articles or pronouns."""

_ENGLISH_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15, "sixteenth": 16,
    "seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "twentieth": 20, "thirtieth": 30,
}  # fmt: skip
_GERMAN_ORDINALS = {"erst": 1, "dritt": 3, "siebt": 7, "acht": 8}
_GERMAN_ENDINGS = ("e", "en", "er", "es", "em")
_TIMES = {"twice": 2, "thrice": 3}

_GROUPED = re.compile(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*(?:[.,]\d+)?")


def digits(text: str) -> tuple[float, ...]:
    """Every reading of a digit string with points or commas in it; none for one that is no number ("3.1.1").

    Nobody writes three zeros behind a decimal point, so "5.000" is five thousand and "5.120" may be both.

    >>> digits("5.000"), digits("5.120"), digits("1,5"), digits("1.234,50"), digits("3.1.1")
    ((5000.0,), (5120.0, 5.12), (1.5,), (1234.5,), ())
    """
    if text.isdigit():
        return (_float(text),)
    found: list[float] = []
    if grouped := _GROUPED.fullmatch(text):
        thousands = grouped[1]
        decimal = "," if thousands == "." else "."
        if not text.startswith("0"):
            found.append(_float(text.replace(thousands, "").replace(decimal, ".")))
    if sum(text.count(mark) for mark in ".,") == 1 and not (found and text.endswith("000")):
        found.append(_float(text.replace(",", ".")))
    return tuple(found)


def _float(text: str) -> float:
    return float(text[:400]) if len(text) < 300 else float("1e300")


@lru_cache(maxsize=4096)
def cardinal(word: str) -> float | None:
    """The number that one folded word spells: "seven", "twenty", "zweiundsiebzig", "anderthalb", "zweieinhalb".

    >>> cardinal("zweiundsiebzig"), cardinal("dreihundertfünfzehn"), cardinal("anderthalb"), cardinal("hut")
    (72.0, 315.0, 1.5, None)
    """
    if word in _SMALL or word in _TENS:
        return float(_SMALL.get(word, _TENS.get(word, 0)))
    if word in _TIMES:
        return float(_TIMES[word])
    if word.startswith("anderthalb"):
        return 1.5 if word in ("anderthalb", "anderthalbe", "anderthalben") else None
    if word.endswith("einhalb"):
        whole = 1.0 if word == "eineinhalb" else cardinal(word.removesuffix("einhalb"))
        return None if whole is None else whole + 0.5
    for ending in ("mal", "fach", "fache", "fachen"):
        if word.endswith(ending) and len(word) > len(ending):
            return cardinal(word.removesuffix(ending))
    return _german(word)


def _german(word: str) -> float | None:
    if not 3 < len(word) < 60:
        return None
    for scale, factor in (("tausend", 1000), ("hundert", 100)):
        before, found, after = word.partition(scale)
        if found:
            left = _german_below(before) if before else 1.0
            right = _german_below(after.removeprefix("und")) if after else 0.0
            return None if left is None or right is None else left * factor + right
    one, found, ten = word.partition("und")
    if found and ten in _TENS and one in _SMALL and 0 < _SMALL[one] < 10:
        return float(_SMALL[one] + _TENS[ten])
    return None


def _german_below(word: str) -> float | None:
    if word in _SMALL or word in _TENS:
        return float(_SMALL.get(word, _TENS.get(word, 0)))
    return _german(word)


@lru_cache(maxsize=4096)
def ordinal(word: str) -> float | None:
    """The number of an ordinal word: "third", "dritte", "zwanzigsten".

    >>> ordinal("third"), ordinal("dritten"), ordinal("einundzwanzigste"), ordinal("beste")
    (3.0, 3.0, 21.0, None)
    """
    if word in _ENGLISH_ORDINALS:
        return float(_ENGLISH_ORDINALS[word])
    for ending in _GERMAN_ENDINGS:
        stem = word.removesuffix(ending)
        if stem == word:
            continue
        if stem in _GERMAN_ORDINALS:
            return float(_GERMAN_ORDINALS[stem])
        for mark in ("st", "t"):
            if stem.endswith(mark) and (found := cardinal(stem.removesuffix(mark))) is not None:
                return found
    return None


def is_ten(word: str) -> bool:
    """Whether a unit may follow: "seventy two"."""
    return word in _TENS
