"""Answers that say nothing: decided before any judge is asked, for every judge alike."""

import re
import unicodedata

_MARKUP = re.compile(r"</?(?:think|thinking|thought|reasoning|answer|response|output)>|[*_`#]", re.IGNORECASE)
_LABEL = re.compile(
    r"(?:(?:the |final )?answer|response|output|result|solution|thoughts?|thought process|thinking|reasoning|analysis|"
    r"explanation|(?:die )?antwort|ergebnis|lösung|gedanken?|gedankengang|überlegung(?:en)?|begründung|erklärung) ?:"
)
_BEFORE_QUESTION = re.compile(r"\A(?:question|q|query|frage) ?: ?")


def says_nothing(answer: str, question: str) -> bool:
    """Whether the answer is empty, punctuation alone, a label with nothing behind it, or the question once more.

    >>> says_nothing("Thought process:", "How long?"), says_nothing("How  long?", "How long?")
    (True, True)
    >>> says_nothing("No.", "Is it?"), says_nothing("72", "How long?"), says_nothing("👍", "Is it?")
    (False, False, False)
    """
    bare = _folded(_MARKUP.sub(" ", answer))
    if not any(unicodedata.category(character)[0] in "LN" or _is_picture(character) for character in bare):
        return True
    return _LABEL.fullmatch(bare) is not None or _BEFORE_QUESTION.sub("", bare) == _folded(question)


def is_wordless(text: str) -> bool:
    """Whether there is nothing in it that anybody could state: no letter, digit or sign.

    >>> is_wordless(" ...\u200b?!"), is_wordless("5 %"), is_wordless("€"), is_wordless("👍")
    (True, False, False, False)
    """
    return all(unicodedata.category(character)[0] in "PZCM" for character in text)


def _is_picture(character: str) -> bool:
    return unicodedata.category(character) == "So"


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
