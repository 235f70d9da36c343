"""Whether a claim follows from the context: what is measured of the two, and where in the context it stands."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from befund.core.rules.alignment import Array, Terms, likeness, share, terms_of
from befund.core.rules.language import Lexicon
from befund.core.rules.polarity import WITHOUT
from befund.core.rules.quantities import Entity, Key
from befund.core.rules.reading import Sentence, Text
from befund.core.rules.vocabulary import listed

WINDOW = 3
"""Sentences that may support a claim together."""

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
_REACH = 8
"""Tokens behind a denial that it can be about."""

_CHAT = listed("yeah yep yup well oh wow so haha lol actually you your i've i'm i'd pretty too ! ?")


class Evidence(Struct, frozen=True):
    """The context, ready to be compared with claims.

    Attributes:
        chunks: Which chunk each sentence is from.
        sentences: All sentences of the context, in order.
        terms: Their distinct words.
        words: Columns of `terms`, sentence after sentence; one past the last stands in a sentence without any.
        begins: Where in `words` each sentence begins.
        provides: For each sentence which keys its entities provide.
        places: For each of these keys the sentences that provide it.
        pairs: Words that stand side by side.
        means: The mean vector of each sentence.
        windows: For each sentence the `WINDOW` sentences that begin with it, in its chunk; the last repeats.
    """

    chunks: Sequence[int]
    sentences: Sequence[Sentence]
    terms: Terms
    words: NDArray[np.intp]
    begins: NDArray[np.intp]
    provides: Sequence[frozenset[Key]]
    places: Mapping[Key, Sequence[int]]
    pairs: frozenset[tuple[str, str]]
    means: Array
    windows: NDArray[np.intp]


def evidence_of(texts: Sequence[Text], lexicon: Lexicon) -> Evidence:
    """Prepare the texts of the context."""
    sentences = [sentence for text in texts for sentence in text.sentences]
    chunks = [number for number, text in enumerate(texts) for _ in text.sentences]
    terms = terms_of(sentences, lexicon)
    place = {key: column for column, key in enumerate(terms.keys)}
    words: list[int] = []
    begins: list[int] = []
    means = np.zeros((len(sentences), terms.vectors.shape[1]), np.float32)
    for row, sentence in enumerate(sentences):
        columns = [place[key] for key in dict.fromkeys(term.key for term in sentence.terms)]
        begins.append(len(words))
        words.extend(columns or [len(terms.keys)])
        means[row] = terms.weights[columns] @ terms.vectors[columns]
    means /= np.maximum(np.sqrt((means * means).sum(axis=1, keepdims=True)), 1e-9)
    provides = [frozenset(key for entity in sentence.entities for key in entity.provides) for sentence in sentences]
    places: dict[Key, list[int]] = {}
    for row, keys in enumerate(provides):
        for key in keys:
            places.setdefault(key, []).append(row)
    pairs = frozenset(pair for sentence in sentences for pair in pairs_of(sentence))
    columns_of, starts = np.array(words, np.intp), np.array(begins, np.intp)
    return Evidence(chunks, sentences, terms, columns_of, starts, provides, places, pairs, means, _windows(chunks))


def _windows(chunks: Sequence[int]) -> NDArray[np.intp]:
    found = np.zeros((len(chunks), WINDOW), np.intp)
    for first in range(len(chunks)):
        last = first
        for at in range(WINDOW):
            if first + at < len(chunks) and chunks[first + at] == chunks[first]:
                last = first + at
            found[first, at] = last
    return found


def pairs_of(sentence: Sentence) -> list[tuple[str, str]]:
    """Neighbouring words, in order."""
    keys = [term.key for term in sentence.terms]
    return list(pairwise(keys))


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


def support_of(claim: Sentence, evidence: Evidence, lexicon: Lexicon) -> Support:
    """Measure a claim against the context."""
    wanted = terms_of([claim], lexicon)
    exact = [entity for entity in claim.entities if not entity.weak]
    if not evidence.sentences:
        return Support(np.zeros(len(FEATURES), np.float32), None, (0, 0), exact, 0.0, False)
    met = _by_sentence(likeness(wanted, evidence.terms), evidence)
    figures = _figures_by_sentence(exact, evidence)
    in_window, figures_in_window = met[:, evidence.windows].max(axis=2), figures[:, evidence.windows].max(axis=2)
    window = int((wanted.weights @ in_window + ENTITY_WEIGHT * figures_in_window.sum(axis=0)).argmax())
    words = wanted.weights @ met
    best = int((words + ENTITY_WEIGHT * figures.sum(axis=0)).argmax())
    total = max(float(wanted.weights.sum()), 1e-9)
    values = (
        *_coverage(wanted, in_window[:, window], met.max(axis=1)),
        float(words.max()) / total if wanted.keys else 1.0,
        _weakest_clause(claim, wanted, in_window[:, window]),
        1 - float(figures.max(axis=1).mean()) if exact else 0.0,
        1 - float(figures_in_window[:, window].mean()) if exact else 0.0,
        *_order(claim, evidence),
        _likest(wanted, evidence),
        *_manner(claim),
        float(np.log1p(len(evidence.sentences))),
        float(claim.denied and not evidence.sentences[best].denied),
        float(not claim.denied and evidence.sentences[best].denied),
        float(bool(exact)),
        float(conflict(claim, evidence.sentences[best])),
    )
    missing = [entity for entity, row in zip(exact, figures, strict=True) if not row.any()]
    span = (int(evidence.windows[window, 0]), int(evidence.windows[window, -1]))
    together = bool(exact) and bool(figures_in_window[:, window].all())
    return Support(np.array(values, np.float32), best, span, missing, float(words[best]) / total, together)


def _by_sentence(alike: Array, evidence: Evidence) -> Array:
    """For each word (row) and sentence (column) the likeness of the likest word in it."""
    padded = np.concatenate([alike, np.zeros((alike.shape[0], 1), np.float32)], axis=1)
    return np.maximum.reduceat(padded[:, evidence.words], evidence.begins, axis=1)


def _figures_by_sentence(exact: Sequence[Entity], evidence: Evidence) -> Array:
    """For each entity (row) and sentence (column) whether the sentence states it."""
    found = np.zeros((len(exact), len(evidence.sentences)), np.float32)
    for row, entity in enumerate(exact):
        for key in entity.wants | entity.near:
            found[row, evidence.places.get(key, [])] = 1.0
    return found


def _coverage(wanted: Terms, inside: Array, anywhere: Array) -> tuple[float, ...]:
    """How much of the words the best window and the whole context hold, and what they lack most."""
    weights, names = wanted.weights, wanted.proper
    total = max(float(weights.sum()), 1e-9)
    return (
        share(weights, (inside >= 1).astype(np.float32)),
        share(weights, inside),
        share(weights, (anywhere >= 1).astype(np.float32)),
        share(weights, anywhere),
        float((weights * (1 - inside)).max(initial=0.0)) / 16,
        float((weights * (1 - anywhere))[names].sum()) / total,
        float((weights * (1 - inside))[names].sum()) / total,
        float(np.log1p((inside < 0.6).sum())),
    )


def _order(claim: Sentence, evidence: Evidence) -> tuple[float, float]:
    """Which share of neighbouring words are neighbours in the context too, and of the longest run of them."""
    own = pairs_of(claim)
    size = max(len(own), 1)
    return sum(pair in evidence.pairs for pair in own) / size, _longest_run(own, evidence.pairs) / size


def _likest(wanted: Terms, evidence: Evidence) -> float:
    mean = wanted.weights @ wanted.vectors
    mean /= max(float(np.sqrt((mean * mean).sum())), 1e-9)
    return float((evidence.means @ mean).max())


def _manner(claim: Sentence) -> tuple[float, ...]:
    """How it is said: by somebody about himself, as an opinion, as talk, as a question; and how long."""
    said = {token.text for token in claim.tokens}
    return (
        *(float(not said.isdisjoint(words)) for words in (_FIRST_PERSON, _OPINION, _CHAT)),
        float(claim.raw.rstrip().endswith("?")),
        float(np.log1p(sum(token.kind != "mark" for token in claim.tokens))),
    )


def conflict(claim: Sentence, passage: Sentence) -> bool:
    """Whether one denies what the other says, in the same words."""
    return _denies(claim, passage) or _denies(passage, claim)


def _denies(one: Sentence, other: Sentence) -> bool:
    """Whether what one denies, right behind a cue or else right before it, the other says and does not deny."""
    there = {term.key: term.at in other.denied_at for term in other.terms}
    for clause in one.clauses:
        for cue in clause.cues:
            if one.tokens[cue].text in WITHOUT:
                continue
            after = [term.key for term in one.terms if cue < term.at < min(clause.end, cue + _REACH)]
            before = [term.key for term in one.terms if clause.start <= term.at < cue][-3:]
            scope = (after or before)[:4]
            shared = [key for key in scope if key in there]
            close = shared[:1] == scope[:1] or 2 * len(shared) >= len(scope)
            if shared and close and not any(there[key] for key in shared):
                return True
    return False


def _longest_run(own: Sequence[tuple[str, str]], given: frozenset[tuple[str, str]]) -> int:
    longest = run = 0
    for pair in own:
        run = run + 1 if pair in given else 0
        longest = max(longest, run)
    return longest


def _weakest_clause(claim: Sentence, wanted: Terms, met: Array) -> float:
    """The share met of the clause that fares worst, among clauses with at least two words."""
    place = {key: row for row, key in enumerate(wanted.keys)}
    worst = 1.0
    for clause in claim.clauses:
        rows = [place[term.key] for term in claim.terms if clause.start <= term.at < clause.end]
        if len(rows) >= 2:
            worst = min(worst, share(wanted.weights[rows], met[rows]))
    return worst
