"""What an answer does: answers, asks back, says that the documents do not say, or denies access."""

import re
from collections.abc import Iterator, Sequence

from befund.contract import ExpectedBehavior
from befund.core.rules.asked import asks_openly
from befund.core.rules.reading import Text
from befund.core.rules.wordings import CLARIFY, CLARIFY_PLAIN, DENY, NO_ANSWER, PERHAPS, UNSAID, Wordings

Act = ExpectedBehavior | None
"""What a sentence does; None where it may be a refusal or an answer, and its wording does not tell."""

_TRIGGER = re.compile(
    r"\?|\b(?:no|not|nothing|never|nowhere|neither|unable|silent|unknown|unspecified|undocumented|remains?|"
    r"insufficient|lacks?|omits?|fails?|leaves?|scope|without|confidential|restricted|classified|internal|reserved|only|"
    r"denied|refused|required|please|could you|can you|need to know|would need|you need|depends|nicht|nichts|kein\w*|"
    r"nirgends|unbekannt|fehl\w*|schweig\w*|vertraulich\w*|nur|intern|zugriff|bitte|könnten|müsste|teilen)\b"
)
"""No refusal or question is without one of these."""
_CONTRACTED = [
    (re.compile(pattern), full)
    for pattern, full in (
        (r"\bcan(?:not|'t)\b", "can not"), (r"\bwon't\b", "will not"), (r"n't\b", " not"), (r"\bi'm\b", "i am"),
        (r"(?<=\w)'re\b", " are"), (r"(?<=\w)'ve\b", " have"), (r"\b(that|there|it)'s\b", r"\1 is"),
    )
]  # fmt: skip
_SORRY = re.compile(r"\b(?:sorry|afraid|unfortunately|leider|bedaure|entschuldigung|apologi[sz]e)\b")
_BUT = re.compile(r"\b(?:but|aber)\b")
_GOES_ON = re.compile(r"\b(?:but|however|aber|jedoch|allerdings)\b(?:\W+\w+){4}")
_IF = re.compile(r"\b(?:if|unless|when no|where no|wenn|falls|sofern)\b[^,;]*$")
_ACCORDING = re.compile(r"\b(?:according to|laut|gemäß|gemäss) (?:\w+ ){0,3}$")
_THEN = re.compile(r"[^,]*,(?:\W*\w+){2}")
_COURTESY = re.compile(
    r"\b(?:anything else|something else|help you|be of help|further questions|sonst noch|weiterhelfen|"
    r"behilflich|weitere fragen)\b"
)
_LOOKED_AT = 600
"""Characters of a sentence; refusals are short."""
_STEM = 5
"""Letters by which a word of the question and one of the refusal are taken for the same verb."""
_SAYING = re.compile(
    r"\b(?:say|said|specif|stat|mention|tell|contain|includ|cover|describ|provid|indicat|list|disclos|document|defin|"
    r"availab|found|find|steh|erwähn|genannt|nenn|angegeben|enthalten|beschr|aufgeführt|dokumentiert|gefunden)\w*"
)


def folded(sentence: str) -> str:
    """A sentence as the wordings are written: in small letters, contractions written out.

    >>> folded("The manual  DOESN’T say; I can't tell.")
    'the manual does not say; i can not tell.'
    """
    text = " ".join(sentence[:_LOOKED_AT].casefold().replace("’", "'").split())
    if "'" in text or "cannot" in text:
        for pattern, full in _CONTRACTED:
            text = pattern.sub(full, text)
    return text


def act_of(sentence: str, question: Text | None = None) -> Act:
    """What one sentence does, as far as its wording and the question tell.

    >>> act_of("The documents do not say how long."), act_of("Welche Version meinen Sie?")
    ('no_answer', 'clarify')
    >>> act_of("Dazu darf ich keine Auskunft geben."), act_of("It is not retried."), act_of("Not included.")
    ('deny', 'answer', None)
    """
    text = folded(sentence)
    if not _TRIGGER.search(text):
        return "answer"
    if next(_found(DENY, text), None):
        return "deny"
    if refused := _unconditional(NO_ANSWER, text):
        return _refusal(text, min(refused, key=lambda found: found.span()), question)
    if unsaid := _unconditional(UNSAID, text):
        return _unless_asked(unsaid[0], question, "no_answer")
    if perhaps := _unconditional(PERHAPS, text):
        return _unless_asked(perhaps[0], question, None)
    return _question(text)


def _unconditional(wordings: Sequence[Wordings], text: str) -> list[re.Match[str]]:
    """What is found and is neither a condition nor said by a source ("according to the manual, it does not")."""
    return [
        found
        for found in _found(wordings, text)
        if not _is_condition(text, found) and not _ACCORDING.search(text, 0, found.start())
    ]


def _refusal(text: str, found: re.Match[str], question: Text | None) -> Act:
    """A refusal, unless more is said, or the question is just whether the source says it."""
    start, end = found.span()
    if _GOES_ON.search(text, end) or _said_before(text[:start]):
        return "answer"
    return None if question and not asks_openly(question) and _is_asked(found, question) else "no_answer"


def _unless_asked(found: re.Match[str], question: Text | None, otherwise: Act) -> Act:
    """Asked whether something is covered or listed, "not covered" is an answer; asked what is, nobody can tell."""
    if question is None or not _is_asked(found, question):
        return otherwise
    return None if asks_openly(question) else "answer"


def _is_asked(found: re.Match[str], question: Text) -> bool:
    """Whether the question asks with the verb of the refusal."""
    stems = {verb[0][:_STEM] for verb in _SAYING.finditer(found[0])}
    return any(token.text[:_STEM] in stems for each in question.sentences for token in each.tokens)


def _is_condition(text: str, found: re.Match[str]) -> bool:
    """Whether it only says under which condition something else holds: "if no region is specified, the first is"."""
    before = _IF.search(text, 0, found.start())
    if before is None:
        return False
    return bool(before.start()) or bool(_THEN.match(text, found.end()))


def _question(text: str) -> Act:
    if _COURTESY.search(text):
        return "answer"
    asks = text.rstrip(" \"'»)*").endswith("?")
    if (asks and CLARIFY.search(text)) or CLARIFY_PLAIN.search(text):
        return "clarify"
    return "answer"


def _found(wordings: Sequence[Wordings], text: str) -> Iterator[re.Match[str]]:
    for language in wordings:
        if _hinted(text, language.hints) and language.any.search(text):
            yield from (found for pattern in language.each if (found := pattern.search(text)))


def _hinted(text: str, hints: Sequence[str]) -> bool:
    for hint in hints:  # noqa: SIM110 - any() takes twice as long, and every sentence comes here
        if hint in text:
            return True
    return False


def _said_before(text: str) -> bool:
    """Whether something is said, and no regret, before a "but" that leads to the refusal."""
    but = _BUT.search(text)
    return but is not None and len(text[: but.start()].split()) >= 4 and not _SORRY.search(text)


def behavior_of(acts: Sequence[Act], says: Sequence[bool]) -> Act:
    """What the whole answer does: a refusal or a question, unless another sentence says something that could be it.

    None where nobody can tell.

    Args:
        acts: What each sentence does.
        says: Which sentences say something that could be the answer.
    """
    if any(did == "answer" and said for did, said in zip(acts, says, strict=True)):
        return "answer"
    refusals: tuple[ExpectedBehavior, ...] = ("deny", "no_answer", "clarify")
    certain = next((act for act in refusals if act in acts), None)
    return certain or (None if None in acts else "answer")
