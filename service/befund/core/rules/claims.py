"""The claims of an answer, each with the passage that supports or contradicts it."""

from collections.abc import Sequence

from msgspec.structs import replace

from befund.core.judging import Claim, ClaimVerdict, Passage
from befund.core.quotes import stands_in
from befund.core.rules import versions
from befund.core.rules.answer import opens_with_yes
from befund.core.rules.asked import asks_openly, is_asked
from befund.core.rules.bare import place_of_figures
from befund.core.rules.conflict import conflict, denied_there
from befund.core.rules.entity import Entity, Key
from befund.core.rules.evidence import Evidence
from befund.core.rules.exclusion import said_otherwise
from befund.core.rules.language import Tongue
from befund.core.rules.reading import Sentence, Text, text_of, words_found
from befund.core.rules.support import Support
from befund.core.rules.verbatim import Standing, place_in_order, places_of
from befund.core.rules.vocabulary import listed
from befund.core.rules.weights import Linear, probability

_MOST_FIGURES = 50
"""Of one sentence that are looked at for the version they hold for; only a text made for it has more."""
_SMALL_TALK = listed(
    "yes no yeah yep sure okay ok oh wow well thanks thank please sorry agree true exactly absolutely indeed "
    "great good "
    "nice cool awesome amazing interesting fun pretty really hope help helps glad welcome too hi hello hey know "
    "right "
    "ja nein gern gerne klar natürlich danke bitte leider entschuldigung hallo guten tag stimmt genau gut schön "
    "helfen hoffe weiter so very scary popular talented definitely haha lol"
)


_SAME_MATTER = 0.5
"""Share of a claim's words from where on a passage that denies them speaks of the same."""


class Context:
    """The passages, read, with what is said about which version in them."""

    def __init__(self, passages: Sequence[Passage], evidence: Evidence, question: Text) -> None:
        self.passages = passages
        self.texts = texts = evidence.texts
        self.evidence = evidence
        self.question = question
        self.echoes = asks_openly(question)
        self.known = versions.keys_of([*texts, question])
        self.scopes = [scope for text in texts for scope in versions.scopes(text.sentences, self.known)]

    def is_echo(self, entity: Entity) -> bool:
        """Whether a name is only repeated from the question, and the question does not ask about it."""
        return self.echoes and entity.kind == "name" and not entity.wants.isdisjoint(self.question.provides)


_SPEAKERS = listed("i you we me us my your our ich wir sie du mich uns mein meine ihr")


def is_claim(sentence: Sentence) -> bool:
    """Whether a sentence says something that could be true or false of the world, and is no courtesy.

    >>> from befund.core.rules.words import tokens
    """
    if sentence.entities or _denies_of_others(sentence):
        return True
    said = [token.text for token in sentence.tokens if token.kind != "mark"]
    told = [term for term in sentence.terms if term.key not in _SMALL_TALK and term.raw.casefold() not in _SMALL_TALK]
    return bool(told) and not (
        len(said) <= 4 and any(word in ("i", "you", "ich", "sie") for word in said) and len(told) < 2
    )


def _denies_of_others(sentence: Sentence) -> bool:
    """Whether it denies something, and not of who speaks or is spoken to ("I do not know")."""
    return sentence.denied and all(token.text not in _SPEAKERS for token in sentence.tokens)


def claim_of(
    sentence: Sentence,
    found: Support,
    about: frozenset[Key],
    tongue: Tongue,
    context: Context,
    model: Linear,
    *,
    force: bool,
) -> Claim:
    """The verdict on one claim.

    Args:
        sentence: The claim.
        found: How it fares in the context.
        about: The versions it speaks of.
        tongue: Language of the answer, for claims too short to show theirs.
        context: What may support it.
        model: Decides where no rule does.
        force: Whether the model may not abstain.
    """
    if found.best is None:
        return Claim(sentence.raw, "unsupported", rule="empty context")
    best = context.evidence.sentences[found.best]
    if missing := [entity for entity in found.missing if not context.is_echo(entity)]:
        return _without(sentence, missing[0], found, context)
    if (at := _other_version(sentence, about, context)) is not None:
        return _cite(sentence, "contradicted", at, context, "version differs")
    same = _word_for_word(sentence, about, context)
    if same and same[1] == "asserted" and (sentence.terms or _is_all_of(sentence, context.evidence.sentences[same[0]])):
        return _cite(sentence, "supported", same[0], context, "word for word")
    only_asked = not force and not is_asked(sentence) and _is_only_asked(found.best, context)
    chunk = context.evidence.chunks[found.best]
    other = context.texts[chunk].tongue
    if tongue and other and tongue != other:
        claim = _translated(sentence, found, context, model, force=force)
        return _unless_supported(claim) if only_asked else claim
    if conflict(sentence, best):
        if found.coverage >= _SAME_MATTER:
            return _cite(sentence, "contradicted", found.best, context, "negation differs")
        if not force:
            return _cite(sentence, None, found.best, context, "negation differs in another matter")
    if same and same[1] != "asserted" and not force:
        return _cite(sentence, None, same[0], context, "word for word, but denied or passed on")
    if (at := place_in_order(sentence, context.evidence)) is not None:
        return _cite(sentence, "supported", at, context, "its words in order")
    if (at := place_of_figures(sentence, context.question, context.evidence)) is not None:
        return _cite(sentence, "supported", at, context, "figures given for the question")
    if sentence.denied and not best.denied and not force:
        return _cite(sentence, None, found.best, context, "negation not in the passage")
    if denied_there(sentence, best) and not force:
        return _cite(sentence, None, found.best, context, "denied in the passage")
    score = model.score(found.features)
    decided = model.decide(score, force=force)
    if decided is None and found.together and score >= model.yes / 2:
        decided = True  # its figures side by side in one place make up for words
    if not force and (rule := _too_close(sentence, found, best, decided=decided)):
        return _cite(sentence, None, found.best, context, rule)
    verdicts: dict[bool | None, ClaimVerdict | None] = {True: "supported", False: "unsupported", None: None}
    weighed = _weighed(_cite(sentence, verdicts[decided], found.best, context, "wording"), score)
    claim = replace(weighed, seen=_seen(sentence, found, context))
    return _unless_supported(claim) if only_asked else claim


def _is_only_asked(row: int, context: Context) -> bool:
    """Whether a sentence of the context asks for yes or no, and the next one does not say yes."""
    sentences, chunks = context.evidence.sentences, context.evidence.chunks
    if not is_asked(sentences[row]) or asks_openly(text_of(sentences[row : row + 1], "")):
        return False
    says_yes = row + 1 < len(sentences) and chunks[row + 1] == chunks[row] and opens_with_yes(sentences[row + 1])
    return not says_yes


def _unless_supported(claim: Claim) -> Claim:
    """What a question alone supports is left open."""
    if claim.verdict != "supported":
        return claim
    return replace(claim, verdict=None, rule="only asked in the passage", confidence=None, seen=None)


def _seen(sentence: Sentence, found: Support, context: Context) -> str:
    window = context.evidence.sentences[found.window[0] : found.window[1] + 1]
    there = frozenset().union(*(each.keys for each in window))
    return f"{words_found(sentence.keys, there)} found in the best passage"


def _too_close(sentence: Sentence, found: Support, best: Sentence, *, decided: bool | None) -> str | None:
    """Why the words decide nothing: they may say the same, or the opposite, in other words."""
    if not sentence.terms and not sentence.entities:
        return "yes or no alone"
    if decided and all("/" in key for key in sentence.keys):
        return "figures alone, not given for the question"
    if decided is None:
        return None
    otherwise = said_otherwise([sentence], [best])
    if otherwise is not None and decided != otherwise:
        return "denied in other words"
    measures = all(entity.kind == "quantity" for entity in sentence.entities if not entity.weak)
    return "figures found, words differ" if found.together and measures and not decided else None


def _word_for_word(sentence: Sentence, about: frozenset[Key], context: Context) -> tuple[int, Standing] | None:
    """Where the context asserts the claim word for word, and of no other version; else where it doubts it."""
    doubted: tuple[int, Standing] | None = None
    for row, standing in places_of(sentence, context.evidence):
        meant = frozenset(key for _, key in versions.named(sentence, context.known)) or about
        passage = context.evidence.sentences[row]
        held = frozenset(key for _, key in versions.named(passage, context.known)) or context.scopes[row]
        if standing == "asserted" and (not meant or not held or meant & held):
            return row, standing
        if standing == "doubted":
            doubted = doubted or (row, standing)
    return doubted


def _is_all_of(claim: Sentence, passage: Sentence) -> bool:
    """Whether a sentence has no word beside those of a claim; a bare figure stands in many that are no answer."""
    return sum(token.kind != "mark" for token in claim.tokens) == sum(token.kind != "mark" for token in passage.tokens)


def _weighed(claim: Claim, score: float) -> Claim:
    """The claim with how sure the model is that it is supported, or is not."""
    if claim.verdict is None:
        return claim
    return replace(claim, confidence=probability(score if claim.verdict == "supported" else -score))


def _cite(sentence: Sentence, verdict: ClaimVerdict | None, at: int, context: Context, rule: str) -> Claim:
    passage = context.passages[context.evidence.chunks[at]]
    quote = context.evidence.sentences[at].raw
    if verdict == "unsupported":
        return Claim(sentence.raw, verdict, rule=rule)
    return Claim(sentence.raw, verdict, passage.id, quote, stands_in(quote, passage.text or ""), rule)


def _without(sentence: Sentence, lost: Entity, found: Support, context: Context) -> Claim:
    """A figure or name stands nowhere in the context: contradicted where the best passage has another of its kind."""
    best = found.best or 0
    window = context.evidence.sentences[found.window[0] : found.window[1] + 1]
    others = [entity for each in window for entity in each.entities if _rivals(entity, lost, sentence)]
    if others and found.coverage >= 0.5:
        return _cite(sentence, "contradicted", best, context, f"{lost.kind} differs: {lost.text}")
    return Claim(sentence.raw, "unsupported", rule=f"{lost.kind} missing: {lost.text}")


def _rivals(entity: Entity, lost: Entity, sentence: Sentence) -> bool:
    mine = frozenset(key for own in sentence.entities for key in own.provides)
    return bool(entity.dimensions & lost.dimensions) and not entity.weak and entity.wants.isdisjoint(mine)


def _other_version(sentence: Sentence, about: frozenset[Key], context: Context) -> int | None:
    """A sentence of the context that gives a figure of the claim for another version, if none gives it for this one."""
    here = versions.named(sentence, context.known)
    named = {key for _, key in here}
    for entity in sentence.entities[:_MOST_FIGURES]:
        meant = versions.scope_at(sentence, entity.start, about, here)
        if entity.weak or len(meant) != 1 or not entity.provides.isdisjoint(named | meant):
            continue
        stating = sorted({row for key in entity.wants for row in context.evidence.places.get(key, ())})
        held = [_held(row, entity, context) for row in stating]
        if stating and all(scope and not scope & meant for scope in held):
            return stating[0]
    return None


def _held(row: int, entity: Entity, context: Context) -> frozenset[Key]:
    sentence = context.evidence.sentences[row]
    here = versions.named(sentence, context.known)
    found: frozenset[Key] = frozenset()
    for other in sentence.entities[:_MOST_FIGURES]:
        if not entity.wants.isdisjoint(other.provides):
            found |= versions.scope_at(sentence, other.start, context.scopes[row], here)
    return found


def _translated(sentence: Sentence, found: Support, context: Context, model: Linear, *, force: bool) -> Claim:
    """Another language than the passage: its figures, versions and names must stand in one passage, else nobody knows.

    A sentence about several versions is taken clause by clause.
    """
    cited: list[tuple[int, bool]] = []
    lonely = False
    for exact in _bound_together(sentence, context):
        at = _passage_with(exact, context, context.evidence.chunks[found.best or 0])
        if at is None:
            lonely = True
        else:
            cited.append((at, _same_polarity(sentence, exact, context.evidence.sentences[at])))
    if cited and not lonely:
        if all(same for _, same in cited):
            return _cite(sentence, "supported", cited[0][0], context, "figures in one passage")
        return _cite(sentence, "contradicted" if force else None, cited[0][0], context, "negation in another language")
    if lonely:
        return Claim(sentence.raw, "unsupported", rule="figures in no single passage")
    score = model.score(found.features)
    verdict: ClaimVerdict | None = None if not force else "supported" if score > 0 else "unsupported"
    return _weighed(_cite(sentence, verdict, found.best or 0, context, "other language"), score)


def _bound_together(sentence: Sentence, context: Context) -> list[list[Entity]]:
    """The figures and names that must stand in one passage: all, or those of each version where it names several."""
    exact = [entity for entity in sentence.entities if not entity.weak and not context.is_echo(entity)]
    labels = versions.named(sentence, context.known)
    if all(any(entity is label for label, _ in labels) for entity in exact):
        return []
    if len({key for _, key in labels}) < 2:
        return [exact]
    parts = [[e for e in exact if part.start <= e.start < part.end] for part in sentence.clauses]
    return [part for part in parts if part]


def _passage_with(exact: Sequence[Entity], context: Context, first: int) -> int | None:
    """The sentence that has most of these, in a chunk that has all; None if no chunk has."""
    provides, rows_of = context.evidence.provides, context.evidence.rows_of
    for chunk in dict.fromkeys([first, *rows_of]):
        rows = rows_of[chunk]
        held = frozenset().union(*(provides[row] for row in rows))
        if all(not entity.wants.isdisjoint(held) or not entity.near.isdisjoint(held) for entity in exact):
            return max(rows, key=lambda row: sum(not entity.wants.isdisjoint(provides[row]) for entity in exact))
    return None


def _same_polarity(sentence: Sentence, exact: Sequence[Entity], passage: Sentence) -> bool:
    """Whether what is said of these figures is denied on neither side or on both."""
    for entity in exact:
        there = [other for other in passage.entities if not entity.wants.isdisjoint(other.provides)]
        if there and _denies(sentence, entity) != all(_denies(passage, other) for other in there):
            return False
    return True


def _denies(sentence: Sentence, entity: Entity) -> bool:
    return entity.start in sentence.denied_at and not sentence.clause_at(entity.start).conditional
