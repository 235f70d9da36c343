"""Values that an answer names and does not mean: asked for, taken back, passed on, of the past, doubted, bounded."""

import re
from collections.abc import Sequence

from befund.core.judging import FactVerdict
from befund.core.rules.asked import is_asked
from befund.core.rules.entity import Entity
from befund.core.rules.reading import Sentence, Text
from befund.core.rules.vocabulary import listed
from befund.core.rules.words import Token

Doubt = tuple[str, FactVerdict | None]
"""The rule, and what it makes of the fact; None where nobody can tell."""

_REACH = 12
"""Tokens before a value that can say how it is meant."""
_NEW_START = listed("; : but and which who aber und sondern jedoch doch because weil denn so")
_WRONG = (
    r"(?:wrong|false|incorrect|untrue|inaccurate|outdated|obsolete|mistaken|not (?:\w+ )?(?:true|correct|right|so|accurate|the case)|"
    r"no longer (?:\w+ )?(?:true|correct|right|so|valid|the case)|(?:just )?an? (?:\w+ )?(?:myth|mistake|misconception|error|typo|rumou?r)|"
    r"falsch|unwahr|veraltet|überholt|unzutreffend|nicht (?:mehr )?(?:\w+ )?(?:wahr|richtig|korrekt|der fall|aktuell|so)|"
    r"(?:nur )?ein (?:irrtum|mythos|fehler|gerücht|tippfehler))\b(?! (?:to|if|that|dass|zu|of|for|in|für|bei)\b)"
)
_TAKEN_BACK = re.compile(
    rf"\b(?:that|this|it|which|das|dies|es|was)(?: (?:is|was|ist|war|wäre)| ' s|'s) (?:\w+ ){{0,2}}?{_WRONG}"
    r"|\b(?:that|this|it|which) (?:is ?n't|isn't|wasn't) (?:\w+ )?(?:true|correct|right|so|accurate|the case)\b"
    r"|\b(?:das|dies|was|es) (?:(?:stimmt|trifft) (?:\w+ )?nicht|(?:\w+ )?nicht (?:\w+ )?(?:stimmt|zutrifft))\b"
)
_IS_WRONG = re.compile(rf"^ ?[,(-]? ?(?:(?:is|was|ist|war|wäre|sind|are|were|would be) )?(?:\w+ )?{_WRONG}")
_CORRECTED = re.compile(
    r"^[ .,;:!?(-]*(?:(?:no|nein|nope|wait|sorry|oops|correction|korrektur|moment|halt|entschuldigung|scratch that|rather)"
    r" ?[,.:;!-]|(?:or|oder) (?:rather|besser gesagt|vielmehr)\b|(?:i mean|ich meine|better|besser gesagt|vielmehr)\b)"
)
_CONFIRMED = re.compile(r"^ ?(?:yes|ja|yep|yeah|correct|right|exactly|indeed|genau|stimmt|richtig|jawohl)\b")
_PASSED_ON = re.compile(
    r"\b(?:everyone|everybody|people|some|many|most|others|they|users|rumou?rs?|customers|colleagues|somebody|someone|"
    r"man|alle|viele|manche|einige|leute|jeder|kollegen|kunden|nutzer) (?:\w+ ){0,2}?"
    r"(?:says?|said|thinks?|thought|believes?|believed|claims?|claimed|assumes?|assumed|sagen|sagt|sagten|glaub\w+|"
    r"mein(?:en|t|ten|te)|behaupt\w+|denk\w+|vermut\w+)\b"
    r"|\b(?:it is|it's) (?:often |commonly |widely )?(?:said|claimed|believed|rumou?red|assumed)\b|\bes heißt\b|\bes heisst\b"
    r"|\b(?:allegedly|supposedly|purportedly|reportedly|falsely|wrongly|mistakenly|erroneously|angeblich|vermeintlich\w*|"
    r"irrtümlich\w*|fälschlich\w*|rumou?r|myth|misconception|gerüchte?|mythos|irrtum)\b"
)
_PAST = re.compile(
    r"\b(?:used to|formerly|previously|originally|initially|once was|once were|in the past|until recently|at first|"
    r"früher\w*|ehemals|vormals|ursprünglich\w*|bisher|bislang|bis vor kurzem|vorher|zuvor|anfangs|einst)\b"
)
_NOW = re.compile(r"\b(?:now|nowadays|today|currently|meanwhile|jetzt|nun|heute|inzwischen|mittlerweile|aktuell|seit)\b")
_CHANGES = re.compile(
    r"\b(?:reduced|raised|increased|lowered|changed|cut|shortened|extended|dropped|went|moved|switched|decreased|"
    r"gesenkt|erhöht|verkürzt|verlängert|geändert|reduziert|angehoben|herabgesetzt|verringert|gewechselt|umgestellt)\b"
)
_FROM = re.compile(r"\b(?:from|von|vom)(?: the| den| dem)? ?$")
_DISPLACED = re.compile(
    r"\b(?:instead of|rather than|as opposed to|contrary to|unlike|replac(?:es|ed|ing)|statt|anstatt|anstelle|an stelle|entgegen)"
    r"(?: (?:of|from|the|an?|den|der|dem|von|einer|einem)){0,2} ?$"
)
_PAST_TENSE = listed("was were did had war waren wurde wurden hatte hatten")
_SPEAKS_OF_PAST = listed(
    "used previously formerly earlier originally before past old früher vorher bisher ursprünglich damals alte alten zuvor"
)
_HEDGE = re.compile(
    r"\b(?:possibly|perhaps|maybe|probably|likely|presumably|conceivably|apparently|vielleicht|eventuell|möglicherweise|"
    r"womöglich|wahrscheinlich|vermutlich|mutmaßlich|mutmasslich|wohl|könnten?|dürften?)\b"
    r"|\b(?:might|could|may)(?: well)? be(?: \w+)? ?$"
)
_HEDGED_AFTER = re.compile(
    r"^ ?[,(-]? ?(?:possibly|perhaps|maybe|probably|presumably|apparently|allegedly|supposedly|i guess|i suppose|or so|"
    r"unconfirmed|vielleicht|eventuell|möglicherweise|wahrscheinlich|vermutlich|angeblich|unbestätigt|oder so)\b"
)
_UNSURE = re.compile(
    r"\b(?:not (?:\w+ )?(?:sure|certain)|unsure|uncertain|(?:nicht|un) ?(?:\w+ )?sicher|if i remember|if i recall|"
    r"from memory|wenn ich mich recht)\b"
)
_BELOW = (
    r"(?:less|fewer|shorter|lower|smaller|earlier|older) than|under|below|weniger als|kürzer als|niedriger als|kleiner als|unter|unterhalb"
)
_ABOVE = (
    r"(?:more|longer|greater|higher|larger|later|newer) than|exceeding|exceeds|above|in excess of|beyond|mehr als|länger als|"
    r"höher als|grösser als|größer als|später als|oberhalb"
)
_FILLED = r"(?: (?:of|about|the|a|an|total|approximately|version|den|dem|der|ca|etwa|rund|von)){0,2} ?$"
_STRICT = re.compile(rf"(?<!no )(?<!not )(?<!nicht )(?:\b(?:{_BELOW}|{_ABOVE})){_FILLED}")
_LEAST = re.compile(
    rf"\b(?:at least|a minimum|minimum|at minimum|no (?:less|fewer|shorter|earlier) than|not (?:less|fewer|shorter|earlier) than|"
    rf"mindestens|wenigstens|zumindest|nicht (?:weniger|kürzer|unter)(?: als)?|ein minimum){_FILLED}"
)
_OPEN_BOUND = re.compile(
    r"\b(?:over|über|almost|nearly|fast|beinahe|knapp|not quite|gut|just under|just over|shy of|upwards of)(?: (?:of|the|a))? ?$"
)
_AROUND = re.compile(r"\b(?:before|after|vor|nach)(?: (?:the|version|dem|den|der))? ?$")
"""Of a date or version; "after 72 hours" is when the 72 hours are over."""
_AND_MORE = re.compile(r"^ ?(?:\+|or (?:more|less|longer|fewer)|oder (?:mehr|weniger|länger)|and (?:more|up)|plus)(?: |$)")
_ASKS_FOR_LEAST = listed(
    "minimum minimal least must need needs needed require required requires requirement should shall mindestens "
    "mindest muss müssen brauche braucht brauchen erforderlich nötig benötigt benötigen soll sollen sollte notwendig"
)
_ASKS_FOR_LIMIT = listed(
    "before until from after once limit limits threshold exceed may allowed most maximum max largest longest bis ab vor "
    "nach darf dürfen maximal grenze grenzwert höchstens erst limit schwelle"
)
"""What is asked for is a limit, which "more than" and "less than" name, too."""
_BETWEEN = frozenset({"to", "-", "and", "bis", "und"})


def doubt_of(
    said: Sequence[Sentence], row: int, span: tuple[int, int], entity: Entity | None, question: Text, read: Text
) -> Doubt | None:
    """Why what stands here is named and not meant; None if it is meant.

    Args:
        said: The sentences of the answer.
        row: Which of them it stands in.
        span: First token, and token after the last.
        entity: The value, if it is one.
        question: What was asked.
        read: The fact, which may itself be a bound, a doubt or of the past.
    """
    sentence = said[row]
    before_at, after_at = _between_rivals(sentence, span, entity)
    before = _text(sentence.tokens[before_at : span[0]])
    after = _text(sentence.tokens[span[1] : after_at])
    following = said[row + 1] if row + 1 < len(said) and after_at == len(sentence.tokens) else None
    rivals = entity is not None and _has_rival(said, entity, question)
    if rule := _taken_back(sentence, span, before, after, following):
        return rule, "contradicted"
    if is_asked(sentence) and not (following and _CONFIRMED.match(_text(following.tokens))):
        return "asked", "contradicted" if rivals else None
    given = _text([token for text in (question, read) for each in text.sentences for token in each.tokens])
    if _is_past(sentence, span, before, entity) and (rule := _past(question, read, rivals=rivals)):
        return rule
    if entity is not None and (bounded := _bounded(sentence, span, before, after, entity, question, read)):
        return bounded
    if _PASSED_ON.search(before) and not _PASSED_ON.search(given):
        return "passed on", "contradicted" if rivals else None
    near = _stretch(sentence.tokens[before_at : span[0]])
    hedged = _HEDGE.search(near) or _HEDGED_AFTER.search(after) or _UNSURE.search(_text(sentence.tokens))
    return ("doubted", None) if hedged and not _HEDGE.search(given) else None


def _text(found: Sequence[Token]) -> str:
    return " ".join([token.text for token in found])


def _stretch(before: Sequence[Token]) -> str:
    """What stands right before, as far as it is of one breath."""
    start = next((at + 1 for at in range(len(before) - 1, -1, -1) if before[at].text in _NEW_START), 0)
    return _text(before[max(start, len(before) - _REACH) :])


def _differs(other: Entity, entity: Entity) -> bool:
    return bool(other.dimensions & entity.dimensions) and other.wants.isdisjoint(entity.provides) and not other.weak


def _between_rivals(sentence: Sentence, span: tuple[int, int], entity: Entity | None) -> tuple[int, int]:
    """From behind the last other value of its kind before it, to the next behind it."""
    others = [other for other in sentence.entities if entity is not None and _differs(other, entity)]
    before = max((other.end for other in others if other.end <= span[0]), default=0)
    return before, min((other.start for other in others if other.start >= span[1]), default=len(sentence.tokens))


def _has_rival(said: Sequence[Sentence], entity: Entity, question: Text) -> bool:
    """Whether the answer names another value of its kind that the question does not."""
    return any(
        _differs(other, entity) and other.wants.isdisjoint(question.provides)
        for sentence in said
        for other in sentence.entities
    )


def _taken_back(
    sentence: Sentence, span: tuple[int, int], before: str, after: str, following: Sentence | None
) -> str | None:
    if _DISPLACED.search(before):
        return "replaced"
    if _IS_WRONG.match(after) or _TAKEN_BACK.search(after):
        return "taken back"
    behind = _text(sentence.tokens[span[1] :])
    if _CORRECTED.match(behind) and len(after) < len(behind):
        return "taken back"
    if following is None:
        return None
    then = _text(following.tokens)
    corrects = _CORRECTED.match(then) and any(not entity.weak for entity in following.entities)
    return "taken back" if corrects or _TAKEN_BACK.match(then) else None


def _past(question: Text, read: Text, *, rivals: bool) -> Doubt | None:
    """What a value of the past states: nothing, unless the past is asked for."""
    given = {token.text for text in (question, read) for sentence in text.sentences for token in sentence.tokens}
    if not given.isdisjoint(_SPEAKS_OF_PAST):
        return None
    if given.isdisjoint(_PAST_TENSE):
        return "of the past", "contradicted" if rivals else None
    return ("of the past", None) if rivals else None


def _is_past(sentence: Sentence, span: tuple[int, int], before: str, entity: Entity | None) -> bool:
    found = None
    for found in _PAST.finditer(before):
        pass
    if found and not _NOW.search(before, found.end()):
        return True
    later = entity is not None and any(o.start >= span[1] and _differs(o, entity) for o in sentence.entities)
    return later and bool(_FROM.search(before) and _CHANGES.search(_text(sentence.tokens)))


def _bounded(
    sentence: Sentence, span: tuple[int, int], before: str, after: str, entity: Entity, question: Text, read: Text
) -> Doubt | None:
    """A bound or an end of a range where the fact is neither."""
    if any(own.bound or not own.weak and _differs(own, entity) for own in read.entities):
        return None
    given = _text([token for each in read.sentences for token in each.tokens])
    asked = frozenset(token.text for each in question.sentences for token in each.tokens)
    if _STRICT.search(before) and not re.search(rf"\b(?:{_BELOW}|{_ABOVE})\b", given):
        return ("bound differs", "contradicted") if asked.isdisjoint(_ASKS_FOR_LIMIT) else ("bound may differ", None)
    if _LEAST.search(before) and asked.isdisjoint(_ASKS_FOR_LEAST):
        return "bound differs", "contradicted"
    open_bound = _OPEN_BOUND.search(before) or (entity.kind in ("date", "version") and _AROUND.search(before))
    if open_bound and open_bound[0].split()[0] not in given.split():
        return "bound may differ", None
    if _AND_MORE.match(after) or _AND_MORE.match(_text(sentence.tokens[span[1] :])):
        return "bound may differ", None
    return ("end of a range", None) if _ends_range(sentence, entity) else None


def _ends_range(sentence: Sentence, entity: Entity) -> bool:
    """Whether it is the one end of "24 to 72 hours"; what was changed from one value to the other is no range."""
    if entity.kind not in ("quantity", "number") or _CHANGES.search(_text(sentence.tokens)):
        return False
    for other in sentence.entities:
        first, last = sorted((other, entity), key=lambda each: each.start)
        between = [token.text for token in sentence.tokens[first.end : last.start]]
        if _differs(other, entity) and len(between) == 1 and between[0] in _BETWEEN:
            opened = sentence.tokens[first.start - 1].text if first.start else ""
            if between[0] not in ("and", "und") or opened in ("between", "zwischen"):
                return True
    return False
