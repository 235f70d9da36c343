"""Questions that say nearly the same, told by the words they share."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping

NEAR_DUPLICATE_JACCARD = 0.6
"""Share of common words from which two questions are taken for the same one asked twice."""

_WORD = re.compile(r"[\w.:]*\w")


def words_of(text: str) -> frozenset[str]:
    """The words of a text, case and punctuation aside.

    >>> sorted(words_of("Orbit 2.4, or orbit 3.0?"))
    ['2.4', '3.0', 'or', 'orbit']
    """
    return frozenset(_WORD.findall(text.lower()))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Share of common words, from 0 to 1; two texts without a word have all in common.

    >>> jaccard(words_of("How long?"), words_of("How long exactly?"))
    0.6666666666666666
    """
    return len(one & other) / len(one | other) if one | other else 1.0


def near_duplicates(texts: Mapping[str, str]) -> Iterator[tuple[str, str, float]]:
    """Pairs of texts with many words in common, by their ids, in the order given, with the share.

    Only texts are compared that share one of their rarest words: with too few of those in common, two texts cannot
    have enough in common altogether.
    """
    words = {name: words_of(text) for name, text in texts.items()}
    frequency = Counter(word for of_text in words.values() for word in of_text)
    with_rare_word: dict[str, list[str]] = {}
    for name, of_text in words.items():
        enough = math.ceil(NEAR_DUPLICATE_JACCARD * len(of_text))
        rarest = sorted(of_text, key=lambda word: (frequency[word], word))[: len(of_text) - enough + 1]
        candidates = dict.fromkeys(other for word in rarest for other in with_rare_word.get(word, ()))
        for other in candidates:
            share = jaccard(words[other], of_text)
            if share >= NEAR_DUPLICATE_JACCARD:
                yield other, name, share
        for word in rarest:
            with_rare_word.setdefault(word, []).append(name)
