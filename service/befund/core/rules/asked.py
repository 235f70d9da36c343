"""What kind of answer a question wants."""

from befund.core.rules.reading import Text
from befund.core.rules.vocabulary import listed

_OPEN = listed(
    "how what which who whom whose when where why wie was welche welcher welches welchen welchem wer wann wo warum "
    "wozu womit wessen wem wen woran wieso"
)


def asks_openly(question: Text) -> bool:
    """Whether the question asks for something, and not for yes or no."""
    return any(token.text in _OPEN for sentence in question.sentences for token in sentence.tokens)
