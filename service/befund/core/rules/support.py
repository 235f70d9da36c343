"""Whether a claim follows from the context: what is measured of the two, and where in the context it stands."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct

from befund.core.rules.alignment import Array, Terms, likeness, share, terms_of
from befund.core.rules.language import Lexicon
from befund.core.rules.quantities import Entity, Key
from befund.core.rules.reading import Sentence, Text
from befund.core.rules.vocabulary import listed

WINDOW = 3
"""Sentences that may support a claim together."""

FEATURES = (
    "window_exact", "window_soft", "context_exact", "context_soft", "sentence_soft", "weakest_word", "weakest_clause",
    "numbers_missing", "numbers_missing_window", "names_missing", "names_missing_window", "pairs", "likeness",
    "first_person", "claim_length", "context_length", "claim_denies", "context_denies",
    "has_numbers", "longest_run", "unmet", "opinion", "asks", "conflict", "chat",
)  # fmt: skip


_REACH = 8
"""Tokens behind a denial that it can be about."""

_CHAT = listed("yeah yep yup well oh wow so haha lol actually you your i've i'm i'd pretty too ! ?")


class Evidence(Struct, frozen=True):
    """The context, ready to be compared with claims.

    Attributes:
        chunks: Which chunk each sentence is from.
        sentences: All sentences of the context, in order.
        terms: Their distinct words.
        holds: For each sentence (row) which words it holds (column).
        provides: For each sentence which keys its entities provide.
        everything: All of these keys.
        means: The mean vector of each sentence.
    """

    chunks: Sequence[int]
    sentences: Sequence[Sentence]
    terms: Terms
    holds: Array
    provides: Sequence[frozenset[Key]]
    everything: frozenset[Key]
    pairs: frozenset[tuple[str, str]]
    means: Array


def evidence_of(texts: Sequence[Text], lexicon: Lexicon) -> Evidence:
    """Prepare the texts of the context."""
    sentences = [sentence for text in texts for sentence in text.sentences]
    chunks = [number for number, text in enumerate(texts) for _ in text.sentences]
    terms = terms_of(sentences, lexicon)
    place = {key: column for column, key in enumerate(terms.keys)}
    holds = np.zeros((len(sentences), len(terms.keys)), np.float32)
    for row, sentence in enumerate(sentences):
        holds[row, [place[term.key] for term in sentence.terms]] = 1.0
    provides = [frozenset(key for entity in sentence.entities for key in entity.provides) for sentence in sentences]
    pairs = frozenset(pair for sentence in sentences for pair in pairs_of(sentence))
    means = (holds * terms.weights) @ terms.vectors
    means /= np.maximum(np.sqrt((means * means).sum(axis=1, keepdims=True)), 1e-9)
    return Evidence(
        chunks, sentences, terms, holds, provides, frozenset().union(*provides), pairs, means.astype(np.float32)
    )


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
    """

    features: Array
    best: int | None
    window: tuple[int, int]
    missing: Sequence[Entity]
    coverage: float


def support_of(claim: Sentence, evidence: Evidence, lexicon: Lexicon) -> Support:
    """Measure a claim against the context."""
    wanted = terms_of([claim], lexicon)
    exact = [entity for entity in claim.entities if not entity.weak]
    if not evidence.sentences:
        return Support(np.zeros(len(FEATURES), np.float32), None, (0, 0), exact, 0.0)
    alike = likeness(wanted, evidence.terms)
    met = _by_sentence(alike, evidence.holds)
    windows = _windows(evidence.chunks)
    in_window = np.stack([met[:, first : last + 1].max(axis=1) for first, last in windows], axis=1)
    numbers = np.array(
        [[_stands(entity, evidence.provides, first, last) for first, last in windows] for entity in exact],
        dtype=np.float32,
    ).reshape(len(exact), len(windows))
    weights = wanted.weights
    entity_weight = 14.0
    total = float(weights.sum()) + entity_weight * len(exact)
    soft = (weights @ in_window + entity_weight * numbers.sum(axis=0)) / max(total, 1e-9)
    window = int(soft.argmax())
    first, last = windows[window]
    inside = in_window[:, window]
    anywhere = met.max(axis=1) if met.size else np.zeros(len(wanted.keys), np.float32)
    by_sentence = weights @ met / max(float(weights.sum()), 1e-9)
    counts = np.array(
        [[_stands(entity, evidence.provides, row, row) for row in range(len(evidence.sentences))] for entity in exact],
        np.float32,
    ).reshape(len(exact), len(evidence.sentences))
    best = int((weights @ met + entity_weight * counts.sum(axis=0)).argmax())
    missing = [
        entity for entity in exact if not (entity.wants & evidence.everything or entity.near & evidence.everything)
    ]
    names = wanted.proper
    own_pairs = pairs_of(claim)
    mean = (weights[:, None] * wanted.vectors).sum(axis=0)
    mean /= max(float(np.sqrt((mean * mean).sum())), 1e-9)
    words = sum(token.kind != "mark" for token in claim.tokens)
    values = (
        share(weights, (inside >= 1).astype(np.float32)),
        share(weights, inside),
        share(weights, (anywhere >= 1).astype(np.float32)),
        share(weights, anywhere),
        float(by_sentence.max()) if len(weights) else 1.0,
        float((weights * (1 - inside)).max(initial=0.0)) / 16,
        _weakest_clause(claim, wanted, inside),
        len(missing) / max(len(exact), 1),
        1 - float(numbers[:, window].mean()) if len(exact) else 0.0,
        float((weights * (1 - anywhere))[names].sum()) / max(float(weights.sum()), 1e-9),
        float((weights * (1 - inside))[names].sum()) / max(float(weights.sum()), 1e-9),
        sum(pair in evidence.pairs for pair in own_pairs) / max(len(own_pairs), 1),
        float((evidence.means @ mean).max()),
        float(any(token.text in ("i", "my", "me", "i'm", "ich", "mein", "meine") for token in claim.tokens)),
        float(np.log1p(words)),
        float(np.log1p(len(evidence.sentences))),
        float(claim.denied and not evidence.sentences[best].denied),
        float(not claim.denied and evidence.sentences[best].denied),
        float(bool(exact)),
        _longest_run(own_pairs, evidence.pairs) / max(len(own_pairs), 1),
        float(np.log1p((inside < 0.6).sum())),
        float(
            any(
                token.text in ("think", "love", "like", "believe", "favorite", "hope", "guess", "great")
                for token in claim.tokens
            )
        ),
        float(claim.raw.rstrip().endswith("?")),
        float(conflict(claim, evidence.sentences[best])),
        float(any(token.text in _CHAT for token in claim.tokens)),
    )
    return Support(np.array(values, np.float32), best, (first, last), missing, float(by_sentence[best]))


def conflict(claim: Sentence, passage: Sentence) -> bool:
    """Whether one denies what the other says, in the same words."""
    return _denies(claim, passage) or _denies(passage, claim)


def _denies(one: Sentence, other: Sentence) -> bool:
    """Whether what one denies, right behind a cue or else right before it, the other says and does not deny."""
    there = {term.key: term.at in other.denied_at for term in other.terms}
    for clause in one.clauses:
        for cue in clause.cues:
            after = [term.key for term in one.terms if cue < term.at <= cue + _REACH]
            before = [term.key for term in one.terms if clause.start <= term.at < cue][-3:]
            scope = (after or before)[:4]
            shared = [key for key in scope if key in there]
            if shared and 2 * len(shared) >= len(scope) and not any(there[key] for key in shared):
                return True
    return False


def _longest_run(own: Sequence[tuple[str, str]], given: frozenset[tuple[str, str]]) -> int:
    longest = run = 0
    for pair in own:
        run = run + 1 if pair in given else 0
        longest = max(longest, run)
    return longest


def _by_sentence(alike: Array, holds: Array) -> Array:
    """For each word (row) and sentence (column) the likeness of the likest word in it."""
    if not alike.size:
        return np.zeros((alike.shape[0], holds.shape[0]), np.float32)
    met = np.zeros((alike.shape[0], holds.shape[0]), np.float32)
    rows, columns = np.nonzero(alike)
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        np.maximum(met[row], holds[:, column] * alike[row, column], out=met[row])
    return met


def _windows(chunks: Sequence[int]) -> list[tuple[int, int]]:
    """First and last sentence of every stretch of `WINDOW` sentences within one chunk."""
    found = []
    for first in range(len(chunks)):
        last = first
        while last + 1 < len(chunks) and last + 1 - first < WINDOW and chunks[last + 1] == chunks[first]:
            last += 1
        if last + 1 - first == WINDOW or first == 0 or chunks[first - 1] != chunks[first]:
            found.append((first, last))
    return found


def _stands(entity: Entity, provides: Sequence[frozenset[Key]], first: int, last: int) -> bool:
    return any(
        not entity.wants.isdisjoint(provides[row]) or not entity.near.isdisjoint(provides[row])
        for row in range(first, last + 1)
    )


def _weakest_clause(claim: Sentence, wanted: Terms, met: Array) -> float:
    """The share met of the clause that fares worst, among clauses with at least two words."""
    place = {key: row for row, key in enumerate(wanted.keys)}
    worst = 1.0
    for clause in claim.clauses:
        rows = [place[term.key] for term in claim.terms if clause.start <= term.at < clause.end]
        if len(rows) >= 2:
            worst = min(worst, share(wanted.weights[rows], met[rows]))
    return worst
