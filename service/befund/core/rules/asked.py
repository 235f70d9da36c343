"""What kind of answer a question wants."""

from befund.core.rules.reading import Sentence, Text
from befund.core.rules.vocabulary import listed

_OPEN = listed(
    "how what which who whom whose when where why wie was welche welcher welches welchen welchem wer wann wo warum "
    "wozu womit wessen wem wen woran wieso"
)


def asks_openly(question: Text) -> bool:
    """Whether the question asks for something, and not for yes or no."""
    return any(token.text in _OPEN for sentence in question.sentences for token in sentence.tokens)


def is_asked(sentence: Sentence) -> bool:
    """Whether the sentence is a question, by its mark."""
    return sentence.raw.rstrip(" \"'»”)*").endswith("?")


def is_question(text: Text) -> bool:
    """Whether something is asked: by a question mark, or by its first word where the mark is left out."""
    first = text.sentences[0].tokens[0].text if text.sentences else ""
    return first in _OPEN or any(map(is_asked, text.sentences))
