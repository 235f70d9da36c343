"""Whether claims follow from the context: what is measured of them, and where in the context each stands."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from befund.core.rules.alignment import Array, Terms, cosines, likeness, weighed
from befund.core.rules.conflict import conflict
from befund.core.rules.entity import Entity
from befund.core.rules.evidence import Evidence, pairs_of, unit_rows
from befund.core.rules.language import Lexicon
from befund.core.rules.reading import Sentence, Term
from befund.core.rules.vocabulary import listed

ENTITY_WEIGHT = 14.0
"""What a figure weighs beside words."""

FEATURES = (
    "window_exact", "window_soft", "context_exact", "context_soft", "weakest_word", "names_missing",
    "names_missing_window", "unmet", "sentence_soft", "weakest_clause", "figures_missing", "figures_missing_window",
    "pairs", "longest_run", "likeness", "first_person", "opinion", "chat", "asks", "claim_length", "context_length",
    "claim_denies", "context_denies", "has_figures", "conflict",
)  # fmt: skip
_FIRST_PERSON = listed("i my me i'm ich mein meine")
_OPINION = listed("think love like believe favorite hope guess great")
_CHAT = listed("yeah yep yup well oh wow so haha lol actually you your i've i'm i'd pretty too ! ?")
_WORDS_AT_ONCE = 400
"""Words of claims that are compared with the context in one go, for the sake of memory."""


class Support(Struct, frozen=True):
    """How a claim fares in the context.

    Attributes:
        features: One value a name of `FEATURES`.
        best: The sentence of the context that holds most of it; None without a context.
        window: First and last sentence of the window that holds most of it.
        missing: Its entities that stand nowhere in the context.
        coverage: Share of its words that the best sentence holds.
        together: Whether it has figures and the best window has all of them.
    """

    features: Array
    best: int | None
    window: tuple[int, int]
    missing: Sequence[Entity]
    coverage: float
    together: bool


def supports_of(claims: Sequence[Sentence], evidence: Evidence, lexicon: Lexicon) -> list[Support]:
    """Measure claims against the context."""
    if not evidence.sentences:
        nothing = np.zeros(len(FEATURES), np.float32)
        return [Support(nothing, None, (0, 0), _figures(claim), 0.0, False) for claim in claims]
    return [found for part in _portions(claims) for found in _measured(part, evidence, lexicon)]


def _portions(claims: Sequence[Sentence]) -> Iterator[list[Sentence]]:
    part: list[Sentence] = []
    words = 0
    for claim in claims:
        if part and words + len(claim.terms) > _WORDS_AT_ONCE:
            yield part
            part, words = [], 0
        part.append(claim)
        words += len(claim.terms)
    if part:
        yield part


def _figures(claim: Sentence) -> list[Entity]:
    return [entity for entity in claim.entities if not entity.weak]


class _Words(Struct, frozen=True):
    """The distinct words of each of several claims, a row a word, and before each claim a row that weighs nothing.

    Attributes:
        terms: The words, each once.
        rows: Which of them each row is; -1 for a row that weighs nothing.
        begins: Where each claim begins.
        weights: How much each row tells.
        proper: Which rows look like names.
    """

    terms: Terms
    rows: NDArray[np.intp]
    begins: NDArray[np.intp]
    weights: Array
    proper: NDArray[np.bool_]

    def total(self, values: Array) -> Array:
        """For each claim the sum over its words."""
        return np.asarray(np.add.reduceat(values, self.begins, axis=0))

    def spread(self, distinct: Array) -> Array:
        """From a row a distinct word to a row a word of each claim; the rows that weigh nothing are met."""
        return np.concatenate([distinct, np.ones((1, distinct.shape[1]), np.float32)])[self.rows]


def _words_of(claims: Sequence[Sentence], lexicon: Lexicon) -> _Words:
    distinct: dict[tuple[str, str], int] = {}
    first: list[Term] = []
    rows: list[int] = []
    begins: list[int] = []
    proper: list[bool] = []
    for claim in claims:
        begins.append(len(rows))
        rows.append(-1)
        proper.append(False)
        own: dict[str, Term] = {}
        for term in claim.terms:
            own.setdefault(term.key, term)
        for term in own.values():
            place = distinct.setdefault((term.key, term.raw), len(first))
            if place == len(first):
                first.append(term)
            rows.append(place)
            proper.append(term.proper)
    terms = weighed(first, lexicon)
    index = np.array(rows, np.intp)
    weights = np.concatenate([terms.weights, np.zeros(1, np.float32)])[index]
    return _Words(terms, index, np.array(begins, np.intp), weights, np.array(proper, np.bool_))


def _measured(claims: Sequence[Sentence], evidence: Evidence, lexicon: Lexicon) -> list[Support]:
    words = _words_of(claims, lexicon)
    by_sentence = evidence.of_words(likeness(words.terms, evidence.terms))
    met, met_in_window = words.spread(by_sentence), words.spread(evidence.in_windows(by_sentence))
    figures = _figures_of(claims, evidence)
    held = words.total(words.weights[:, None] * met)
    held_in_window = words.total(words.weights[:, None] * met_in_window)
    best = (held + ENTITY_WEIGHT * figures.count(figures.stated)).argmax(axis=1)
    window = (held_in_window + ENTITY_WEIGHT * figures.count(figures.in_window)).argmax(axis=1)
    sizes = np.diff(np.append(words.begins, len(words.rows)))
    inside = met_in_window[np.arange(len(words.rows)), np.repeat(window, sizes)]
    total = np.maximum(words.total(words.weights), 1e-9)
    columns = zip(
        claims,
        figures.held(window),
        best.tolist(),
        window.tolist(),
        _coverage(words, inside, met.max(axis=1)).tolist(),
        np.where(sizes > 1, held.max(axis=1) / total, 1.0).tolist(),
        (held[np.arange(len(claims)), best] / total).tolist(),
        _weakest_clauses(claims, words, inside),
        _likest(words, evidence).tolist(),
        strict=True,
    )
    return [
        _support(claim, evidence, exact, (at, first), [*coverage, most, weakest], likest, of_best)
        for claim, exact, at, first, coverage, most, of_best, weakest, likest in columns
    ]


class _Figures(Struct, frozen=True):
    """The figures of several claims, and where in the context they stand.

    Attributes:
        exact: Of each claim.
        begins: The first row of each claim, and one past the last row of all.
        stated: A row a figure, a column a sentence that states it.
        in_window: Likewise, a column a window.
    """

    exact: Sequence[Sequence[Entity]]
    begins: Sequence[int]
    stated: Array
    in_window: Array

    def count(self, stated: Array) -> Array:
        """For each claim and column how many of its figures are stated there."""
        found = np.zeros((len(self.exact), stated.shape[1]), np.float32)
        for claim, (begin, end) in enumerate(pairwise(self.begins)):
            if begin < end:
                found[claim] = stated[begin:end].sum(axis=0)
        return found

    def held(self, windows: NDArray[np.intp]) -> Iterator[list[tuple[Entity, bool, bool]]]:
        """For each claim its figures, each with whether the context states it, and whether its window does."""
        anywhere: list[bool] = [bool(row.any()) for row in self.stated]
        sizes = np.diff(self.begins)
        inside = self.in_window[np.arange(len(anywhere)), np.repeat(windows, sizes)].tolist()
        for exact, (begin, end) in zip(self.exact, pairwise(self.begins), strict=True):
            yield list(zip(exact, anywhere[begin:end], inside[begin:end], strict=True))


def _figures_of(claims: Sequence[Sentence], evidence: Evidence) -> _Figures:
    exact = [_figures(claim) for claim in claims]
    stated = evidence.of_figures([entity for own in exact for entity in own])
    return _Figures(exact, [0, *accumulate(map(len, exact))], stated, evidence.in_windows(stated))


def _support(
    claim: Sentence,
    evidence: Evidence,
    figures: Sequence[tuple[Entity, bool, bool]],
    place: tuple[int, int],
    words: list[float],
    likest: float,
    of_best: float,
) -> Support:
    best, window = place
    passage = evidence.sentences[best]
    count = max(len(figures), 1)
    missing = [entity for entity, anywhere, _ in figures if not anywhere]
    elsewhere = sum(not inside for _, _, inside in figures)
    values = (
        *words,
        len(missing) / count,
        elsewhere / count,
        *_order(claim, evidence),
        likest,
        *_manner(claim),
        float(np.log1p(len(evidence.sentences))),
        float(claim.denied and not passage.denied),
        float(not claim.denied and passage.denied),
        float(bool(figures)),
        float(conflict(claim, passage)),
    )
    span = (int(evidence.windows[window, 0]), int(evidence.windows[window, -1]))
    return Support(np.array(values, np.float32), best, span, missing, of_best, bool(figures) and not elsewhere)


def _coverage(words: _Words, inside: Array, anywhere: Array) -> Array:
    """How much of each claim's words the best window and the whole context hold, and what they lack most."""
    weights, names = words.weights, words.proper
    total = np.maximum(words.total(weights), 1e-9)
    lacking, lacking_inside = weights * (1 - anywhere), weights * (1 - inside)
    shares = [words.total(weights * held) / total for held in (inside >= 1, inside, anywhere >= 1, anywhere)]
    worded = total > 1e-9
    return np.stack(
        [
            *(np.where(worded, held, 1.0) for held in shares),
            np.maximum.reduceat(lacking_inside, words.begins) / 16,
            words.total(lacking * names) / total,
            words.total(lacking_inside * names) / total,
            np.log1p(words.total((inside < 0.6).astype(np.float32))),
        ],
        axis=1,
    )


def _order(claim: Sentence, evidence: Evidence) -> tuple[float, float]:
    """Which share of neighbouring words are neighbours in the context too, and of the longest run of them."""
    own = pairs_of(claim)
    size = max(len(own), 1)
    return sum(pair in evidence.pairs for pair in own) / size, _longest_run(own, evidence.pairs) / size


def _likest(words: _Words, evidence: Evidence) -> Array:
    """How like the sense of each claim the likest sentence is."""
    weighted = words.terms.weights[:, None] * words.terms.vectors
    nothing = np.zeros((1, weighted.shape[1]), np.float32)
    means = unit_rows(words.total(np.concatenate([weighted, nothing])[words.rows]))
    return np.asarray(cosines(means, evidence.means).max(axis=1))


def _manner(claim: Sentence) -> tuple[float, ...]:
    """How it is said: by somebody about himself, as an opinion, as talk, as a question; and how long."""
    said = {token.text for token in claim.tokens}
    return (
        *(float(not said.isdisjoint(words)) for words in (_FIRST_PERSON, _OPINION, _CHAT)),
        float(claim.raw.rstrip().endswith("?")),
        float(np.log1p(sum(token.kind != "mark" for token in claim.tokens))),
    )


def _longest_run(own: Sequence[tuple[str, str]], given: frozenset[tuple[str, str]]) -> int:
    longest = run = 0
    for pair in own:
        run = run + 1 if pair in given else 0
        longest = max(longest, run)
    return longest


def _weakest_clauses(claims: Sequence[Sentence], words: _Words, met: Array) -> Iterator[float]:
    """For each claim the share met of the clause that fares worst, among clauses with at least two words."""
    weights, held = words.weights.tolist(), (words.weights * met).tolist()
    for claim, begin in zip(claims, words.begins.tolist(), strict=True):
        row = {key: begin + 1 + at for at, key in enumerate(dict.fromkeys(term.key for term in claim.terms))}
        worst = 1.0
        for clause in claim.clauses:
            rows = [row[term.key] for term in claim.terms if clause.start <= term.at < clause.end]
            if len(rows) >= 2:
                worst = min(worst, sum(held[at] for at in rows) / sum(weights[at] for at in rows))
        yield worst
