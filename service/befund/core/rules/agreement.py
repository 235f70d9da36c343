"""Whether an answer says what a reference says: what is measured of the two."""

from collections.abc import Sequence

import numpy as np

from befund.core.rules.alignment import Array, Terms, likeness, share, terms_of
from befund.core.rules.entity import Entity, Key
from befund.core.rules.language import Lexicon
from befund.core.rules.reading import Text
from befund.core.rules.spelling import spelled_otherwise
from befund.core.rules.words import fold

FEATURES = (
    "recall_exact", "recall_soft", "sentence_recall", "weakest_word", "entities_missing", "entities_differ",
    "contained", "trigrams", "precision", "answer_in_reference", "name_recall", "likeness", "answer_length",
    "reference_length", "reference_is_exact", "vague", "last_word", "plain_recall", "plain_precision", "short_overlap",
    "head_recall",
)  # fmt: skip
ENTITY_WEIGHT = 14.0


_SMALLEST = frozenset({"the", "a", "an", "of", "in"})


def measure(question: Text, answer: Text, reference: Text, raw: tuple[str, str], lexicon: Lexicon) -> Array:
    """One value a name of `FEATURES` for one reference."""
    known = question.keys
    wanted = terms_of(reference.sentences, lexicon, without=known)
    exact = new_entities(reference, question)
    if not wanted.keys and not exact:
        wanted, exact = terms_of(reference.sentences, lexicon), strong(reference.entities)
    given = terms_of(answer.sentences, lexicon)
    alike = likeness(wanted, given)
    same = spelled_otherwise(reference.sentences, answer.sentences)
    met = alike.max(axis=1, initial=0.0)
    met[[row for row, key in enumerate(wanted.keys) if key in same]] = 1.0
    stated = np.array([states(answer.provides, entity) for entity in exact], np.float32)
    weights = np.concatenate([wanted.weights, np.full(len(exact), ENTITY_WEIGHT, np.float32)])
    soft = np.concatenate([met, stated])
    answered = [column for column, key in enumerate(given.keys) if key not in known]
    back = alike.max(axis=0, initial=0.0)[answered]
    others = [e for e in new_entities(answer, question) if not any(_same(e, own) for own in exact)]
    dimensions = frozenset(name for entity in exact for name in entity.dimensions)
    folded = [" ".join(fold(text).casefold().split()) for text in raw]
    words, own_words = _words(answer), _words(reference)
    values = (
        share(weights, (soft >= 1).astype(np.float32)),
        share(weights, soft),
        _sentence_recall(answer, exact, weights, alike, given),
        float((weights * (1 - soft)).max(initial=0.0)) / 16,
        1 - float(stated.mean()) if len(exact) else 0.0,
        float(bool(len(exact)) and not stated.all() and any(other.dimensions & dimensions for other in others)),
        float(_contains(folded[1], folded[0])),
        _trigram_share(folded[0], folded[1]),
        share(given.weights[answered], back) if answered else float(bool(len(exact)) and stated.all()),
        float(_contains(folded[0], folded[1].rstrip("."))),
        share(wanted.weights[wanted.proper], met[wanted.proper]) if wanted.proper.any() else share(weights, soft),
        _mean_likeness(wanted, given, answered),
        float(np.log1p(len(words))),
        float(np.log1p(len(own_words))),
        float(bool(exact)),
        float(
            bool(len(exact))
            and not stated.all()
            and any(vaguely(entity, other) for entity in exact for other in others)
        ),
        float(soft[len(wanted.keys) - 1]) if wanted.keys else share(weights, soft),
        *_plain(words, own_words),
        _head_recall(reference, wanted, met),
    )
    return np.array(values, np.float32)


def _head_recall(reference: Text, wanted: Terms, met: Array) -> float:
    """The share met of what stands before the first comma: of a place its name, and not the land it lies in."""
    place = {key: row for row, key in enumerate(wanted.keys)}
    rows = [
        place[term.key]
        for sentence in reference.sentences[:1]
        for term in sentence.terms
        if term.key in place and all(token.text != "," for token in sentence.tokens[: term.at])
    ]
    rows = rows or list(range(len(wanted.keys)))
    return share(wanted.weights[rows], met[rows])


def _plain(words: Sequence[str], own_words: Sequence[str]) -> tuple[float, float, float]:
    """Recall and precision of the reference's words as they are, and their harmonic mean for short answers."""
    own, given = (frozenset(found) - _SMALLEST for found in (own_words, words))
    common = len(own & given)
    recall, precision = common / max(len(own), 1), common / max(len(given), 1)
    return recall, precision, 2 * recall * precision / max(recall + precision, 1e-9) * (len(given) <= 8)


def _words(text: Text) -> list[str]:
    return [token.text for sentence in text.sentences for token in sentence.tokens if token.kind != "mark"]


def vaguely(entity: Entity, other: Entity) -> bool:
    """Whether the other says the same date less exactly."""
    if entity.kind != "date":
        return False
    coarse = {("date", year, month, 0) for _, year, month, day in entity.wants if day} | {
        ("date", year, 0, 0) for _, year, _, _ in entity.wants
    }
    return bool(coarse & (other.wants | (other.near if other.kind == "number" else frozenset())))


def _sentence_recall(answer: Text, exact: Sequence[Entity], weights: Array, alike: Array, given: Terms) -> float:
    """The most that one sentence of the answer states of the reference."""
    if not answer.sentences:
        return 0.0
    place = {key: column for column, key in enumerate(given.keys)}
    columns: list[int] = []
    begins: list[int] = []
    for sentence in answer.sentences:
        begins.append(len(columns))
        columns.extend([place[term.key] for term in sentence.terms] or [len(given.keys)])
    padded = np.concatenate([alike, np.zeros((len(alike), 1), np.float32)], axis=1)
    words = np.maximum.reduceat(padded[:, columns], begins, axis=1)
    stated = [[states_in(sentence.entities, entity) for sentence in answer.sentences] for entity in exact]
    met = np.concatenate([words, np.array(stated, np.float32).reshape(len(exact), len(begins))])
    total = float(weights.sum())
    return float((weights @ met).max()) / total if total else 1.0


def strong(found: Sequence[Entity]) -> list[Entity]:
    """Entities that are not weak, or all where there are no others."""
    return [entity for entity in found if not entity.weak] or list(found)


def new_entities(text: Text, question: Text) -> list[Entity]:
    """The entities that the question does not already name."""
    known = question.provides
    return [entity for entity in strong(text.entities) if entity.wants.isdisjoint(known)]


def states(provides: frozenset[Key], entity: Entity) -> bool:
    """Whether these keys state the entity."""
    return not entity.wants.isdisjoint(provides) or not entity.near.isdisjoint(provides)


def states_in(found: Sequence[Entity], entity: Entity) -> bool:
    """Whether one of these entities states it."""
    return any(_same(other, entity) for other in found)


def _same(one: Entity, other: Entity) -> bool:
    return not other.wants.isdisjoint(one.provides) or not other.near.isdisjoint(one.provides)


def _contains(whole: str, part: str) -> bool:
    """Whether the part stands in the whole, at word boundaries."""
    at = whole.find(part) if part else -1
    if at < 0:
        return False
    end = at + len(part)
    return not (whole[at - 1 : at].isalnum() or whole[end : end + 1].isalnum())


def _trigram_share(part: str, whole: str) -> float:
    grams = {part[at : at + 3] for at in range(len(part) - 2)} or {part}
    return sum(gram in whole for gram in grams) / len(grams)


def _mean_likeness(wanted: Terms, given: Terms, columns: list[int]) -> float:
    if not wanted.keys or not columns:
        return 0.0
    left = (wanted.weights[:, None] * wanted.vectors).sum(axis=0)
    right = (given.weights[columns, None] * given.vectors[columns]).sum(axis=0)
    size = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(left @ right) / size if size else 0.0
