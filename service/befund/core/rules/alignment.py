"""How much of one text stands in another: exact words first, then words of like meaning by their static vectors."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from befund.core.rules.language import Lexicon
from befund.core.rules.reading import Sentence, Term

Array = NDArray[np.float32]

_LEAST_LIKENESS = 0.35
"""Below this cosine two words have nothing to do with each other."""
_STEM = 4
"""Words that differ after as many letters may be forms of one word."""
_PRODUCT_OF_ONE_THREAD = 500_000
"""Multiplications up to which OpenBLAS stays in the thread that asks."""
_MOST_ROWS = 32
"""Of one such product; with as many columns as then fit, both factors stay in the cache."""
_LEAST_WEIGHT = 4.0
_MOST_WEIGHT = 16.0
_NAME_WEIGHT = 14.0


class Terms(Struct, frozen=True):
    """Distinct words with their weights and unit vectors.

    Attributes:
        keys: Canonical forms.
        weights: How much each tells, from the length of its vector.
        vectors: One row a word, of length 1 (or 0 where the vectors do not know it).
        proper: Which look like names.
        stems: Where words stand that begin alike.
    """

    keys: tuple[str, ...]
    weights: Array
    vectors: Array
    proper: NDArray[np.bool_]
    stems: Mapping[str, Sequence[int]]


def terms_of(sentences: Sequence[Sentence], lexicon: Lexicon, *, without: frozenset[str] = frozenset()) -> Terms:
    """The distinct words of some sentences, those `without` left out."""
    first: dict[str, Term] = {}
    for sentence in sentences:
        for term in sentence.terms:
            if term.key not in without:
                first.setdefault(term.key, term)
    stems: dict[str, list[int]] = {}
    for column, key in enumerate(first):
        stems.setdefault(key[:_STEM], []).append(column)
    return replace(weighed(list(first.values()), lexicon), stems=stems)


def weighed(terms: Sequence[Term], lexicon: Lexicon) -> Terms:
    """These words with what they weigh and mean; without stems, which only words need that others are sought among."""
    keys = tuple([term.key for term in terms])
    raw = lexicon.vectors([term.raw for term in terms])
    lengths = np.sqrt((raw * raw).sum(axis=1))
    proper = np.array([term.proper for term in terms], dtype=np.bool_)
    weights = np.clip(lengths, _LEAST_WEIGHT, _MOST_WEIGHT)
    weights[[not key.isalpha() for key in keys]] = _NAME_WEIGHT
    return Terms(keys, weights, raw / np.maximum(lengths, 1e-9)[:, None], proper, {})


def likeness(wanted: Terms, given: Terms) -> Array:
    """For each wanted word (row) and given word (column): 1 where they are the same, else their cosine, cut off."""
    if not wanted.keys or not given.keys:
        return np.zeros((len(wanted.keys), len(given.keys)), np.float32)
    alike = np.clip(cosines(wanted.vectors, given.vectors), 0.0, 0.95)
    alike[alike < _LEAST_LIKENESS] = 0.0
    for row, key in enumerate(wanted.keys):
        for column in given.stems.get(key[:_STEM], ()):
            if given.keys[column] == key:
                alike[row, column] = 1.0
            elif len(key) > _STEM:
                alike[row, column] = max(alike[row, column], _stem_share(key, given.keys[column]))
    return np.asarray(alike, np.float32)


def cosines(wanted: Array, given: Array) -> Array:
    """Of unit rows: their product, in pieces, since BLAS would bring more threads than the work is worth."""
    found = np.empty((len(wanted), len(given)), np.float32)
    rows = max(1, min(_MOST_ROWS, len(wanted)))
    columns = max(1, _PRODUCT_OF_ONE_THREAD // (rows * given.shape[1]))
    for left in range(0, len(given), columns):
        across = given[left : left + columns].T
        for top in range(0, len(wanted), rows):
            found[top : top + rows, left : left + columns] = wanted[top : top + rows] @ across
    return found


def _stem_share(one: str, other: str) -> float:
    """How much of the longer word both begin with: "environment" and "environmental"."""
    common = next(
        (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )
    return min(common / max(len(one), len(other)), 0.95)


def share(weights: Array, met: Array) -> float:
    """The weighted share that is met; 1 where nothing is wanted."""
    total = float(weights.sum())
    return float((weights * met).sum()) / total if total else 1.0
