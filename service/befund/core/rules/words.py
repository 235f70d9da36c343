"""Text to tokens: words, numbers, names such as `telemetry:write`, marks; folded so that spelling does not matter."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, cast

from msgspec import Struct

from befund.core.rules.units import UNITS

Kind = Literal["word", "number", "clock", "date", "version", "name", "mark"]

MAX_TOKENS = 20_000
"""Tokens read of one text; what stands behind them is not looked at."""


class Token(Struct, frozen=True):
    """One token: `text` is folded, `raw` as written, `glued` says that no space stands before it."""

    kind: Kind
    text: str
    raw: str
    glued: bool = False


_FOLD = str.maketrans(
    {
        **dict.fromkeys("’‘‛´`ʼ′", "'"),
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "½": " half ",
        "¼": " quarter ",
        "¾": " dreiviertel ",
        "×": " x ",
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff"),
    }
)
_THOUSANDS = re.compile(r"(?<=\d)(?:[\u00a0\u202f\u2009'’](?=\d{3}(?!\d))| (?=000(?!\d)))")
_MISREAD = re.compile("[\u00c2-\u00c5][\u0080-\u00bf]")
"""UTF-8 of two bytes, read as Latin-1: "Ã¡" for "á"."""
_ACCENT = re.compile("(?<=[A-Za-z])[\u0300-\u0307\u0309-\u036f]+|(?<=[^AOUaou])\u0308")
_FOOTNOTE = re.compile(r"\[\d{1,3}\]|\[(?:edit|citation needed) ?\]")

_PIECE = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2}(?!\d)|\d{1,2}\.\d{1,2}\.\d{4}(?!\d)|\d{1,2}/\d{1,2}/\d{4}(?!\d))"
    r"|(?P<clock>\d{1,2}:\d{2}(?::\d{2})?(?!\d))"
    r"|(?P<version>[vV]\d{1,5}(?:\.\d{1,5}){0,5}(?![\w.])|\d{1,5}(?:\.\d{1,5}){2,5}(?!\d))"
    r"|(?P<number>\d+(?:[.,]\d+)*)"
    r"|(?P<word>[^\W\d_]+(?:'[^\W\d_]+)*|°[CFcf]?)"
    r"|(?P<mark>\S)"
)
_COUNTED = re.compile(r"\d+(?:[.,]\d+)*-?(?:[^\W\d_]+|%)")
_YEARS = re.compile(r"[^\W\d_]+-\d{4}s?")
_CODE = re.compile(r"(?=[^\W_]*[^\W\d_])(?=[^\d]*\d)[^\W_]+(?:-[^\W_]+)*")
_DOTTED = re.compile(r"[\w-]*[^\W\d][\w-]*(?:\.[^\W\dA-Z][\w-]*)+")
_COMPOUND = re.compile(r"\d[^-]*-[^\W\d]{3}|[^\W\d]{3}-[^-]*[^\W\d]\d")
_HEADER = re.compile(r"[Xx](?:-[A-Za-z][A-Za-z0-9]*)+")
_MAX_NAME = 200


def _reread(found: re.Match[str]) -> str:
    try:
        return found[0].encode("latin-1").decode()
    except UnicodeDecodeError:
        return found[0]


def _unaccented(text: str) -> str:
    """Without accents, which many leave out; umlauts make another word and stay."""
    parts = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", _ACCENT.sub("", parts))


def fold(text: str) -> str:
    """Unicode forms, accents, quotation marks, dashes and thousands separators made alike; case and umlauts are kept.

    >>> fold("Dáin’s café, Größe")
    "Dain's cafe, Größe"
    """
    if text.isascii():
        text = text.replace("`", "'")
        return _THOUSANDS.sub("", text) if "'" in text or " 000" in text else text
    text = _unaccented(_MISREAD.sub(_reread, text))
    joined = _THOUSANDS.sub("", text.translate(_FOLD) if "½" in text else text)
    return unicodedata.normalize("NFKC", joined.translate(_FOLD))


def tokens(text: str) -> list[Token]:
    """The tokens of a text.

    >>> [(token.kind, token.text) for token in tokens("Scope `telemetry:write`, 72 h.")]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('word', 'scope'), ('name', 'telemetry:write'), ('mark', ','), ('number', '72'), ('word', 'h'), ('mark', '.')]
    """
    found: list[Token] = []
    folded = fold(text)
    for chunk in (_FOOTNOTE.sub(" ", folded) if "[" in folded else folded).split():
        found.extend(_remembered(chunk) if len(chunk) <= _MAX_NAME else _of_chunk(chunk))
        if len(found) > MAX_TOKENS:
            break
    return found


@lru_cache(maxsize=20_000)
def _remembered(chunk: str) -> tuple[Token, ...]:
    """Most of a text is words that came before."""
    return tuple(_of_chunk(chunk))


def _of_chunk(chunk: str) -> Iterator[Token]:
    if chunk.isalpha():
        yield Token("word", chunk.casefold(), chunk)
        return
    core = chunk.lstrip("'\"()[]{}<>,;:!?*|").rstrip("'\"()[]{}<>,;:!?*|.").removesuffix("'s")
    if len(core) <= _MAX_NAME and is_name(core):
        start = chunk.index(core)
        yield from _pieces(chunk[:start], glued=False)
        yield Token("name", core.casefold().replace("-", ""), core, glued=start > 0)
        yield from _pieces(chunk[start + len(core) :], glued=True)
    elif "-" in core and _COMPOUND.search(core) and len(core) <= _MAX_NAME:
        for part in chunk.split("-"):
            yield from _of_chunk(part) if part else ()
    else:
        yield from _pieces(chunk, glued=False)


def _pieces(chunk: str, *, glued: bool) -> Iterator[Token]:
    for found in _PIECE.finditer(chunk):
        kind = cast("Kind", found.lastgroup)
        raw = found[0]
        if kind != "mark" or raw not in "'\"*":
            yield Token(kind, raw.casefold().removesuffix("'s"), raw, glued)
        glued = True


def is_name(text: str) -> bool:
    """Whether this has the shape of an identifier, code, path, address or host name.

    >>> [is_name(text) for text in ("telemetry:write", "SHA-256", "/v3/points", "72h", "e.g", "1990s", "well-known")]
    [True, True, True, False, False, False, False]
    """
    if len(text) < 2 or text.isalpha():
        return False
    if not any(letter.isalpha() for letter in text):
        return False
    if "_" in text.strip("_") or "@" in text or "://" in text or (_HEADER.fullmatch(text) and text.count("-") > 1):
        return True
    if _between(text, ":") or (text[0] == "/" and text[1].isalpha()):
        return True
    if _DOTTED.fullmatch(text):
        return any(len(part) > 1 for part in text.split(".")[1:]) and not _numbered(text)
    return bool(_CODE.fullmatch(text)) and not _numbered(text) and not _COMPOUND.search(text)


def _between(text: str, mark: str) -> bool:
    """Whether the mark stands between two letters."""
    at = text.find(mark)
    return 0 < at < len(text) - 1 and text[at - 1].isalnum() and text[at + 1].isalpha() and not text[0].isdigit()


def _numbered(text: str) -> bool:
    """Whether this is a number with something attached, as "72h", "20th", "1990s", "13-year-old", "v3.0"."""
    if _YEARS.fullmatch(text) or (text[0] in "vV" and text[1:].replace(".", "").isdigit()):
        return True
    if text[0].isdigit():
        if "-" in text:
            return (
                text.split("-")[0].removesuffix("th").removesuffix("st").removesuffix("nd").removesuffix("rd").isdigit()
            )
        return bool(_COUNTED.fullmatch(text)) and (
            text.lstrip("0123456789.,").lower() in UNITS
            or text.lstrip("0123456789.,").lower()
            in ("st", "nd", "rd", "th", "s", "er", "k", "mio", "m", "bn", "x", "am", "pm", "jährige", "jährigen")
        )
    return False
