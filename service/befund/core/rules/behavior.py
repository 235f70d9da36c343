"""What an answer does: answers, asks back, says that the documents do not say, or denies access."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from befund.contract import ExpectedBehavior

_SOURCE = (
    r"(?:documents?|documentation|context|sources?|passages?|excerpts?|materials?|texts?|information|"
    r"(?:knowledge )?base|files?|articles?|snippets?|search results?|results?)"
)
_QUELLE = (
    r"(?:unterlagen?|dokument\w*|kontext\w*|quellen?|auszüg\w*|texte?n?|material\w*|informationen|ausschnitt\w*|"
    r"abschnitt\w*|passagen?|wissensdatenbank|artikeln?|dateien)"
)
_SAY = (
    r"(?:say|specify|state|mention|tell|contain|include|cover|describe|name|give|provide|indicate|answer|"
    r"explain|address|"
    r"list|discuss|disclose|reveal|document|define|note|report|show)"
)

_NO_ANSWER = [
    rf"\b{_SOURCE}\b.{{0,60}}?\b(?:do|does|did)(?: not|n't)\b.{{0,20}}?\b{_SAY}\b",
    rf"\b(?:not|n't|never|nowhere)\b.{{0,40}}?\b(?:mentioned|specified|stated|documented|covered|described|"
    rf"found|contained|"
    rf"given|listed|included|provided|available|answered|named)\b.{{0,40}}?\b{_SOURCE}\b",
    rf"\b(?:is|are|was|were)(?: not|n't) (?:\w+ )?(?:in|part of|among|covered by|"
    rf"contained in)\b.{{0,20}}?\b{_SOURCE}\b",
    rf"\b{_SOURCE}\b.{{0,60}}?\b(?:contains?|has|have|gives?|provides?|makes?|offers?|includes?) (?:no|nothing|"
    rf"neither)\b",
    rf"\b{_SOURCE}\b.{{0,40}}?\b(?:is|are) silent\b",
    r"\b(?:i|we)(?: \w+)? (?:could|can|did|was|were|am|are|have|do)(?: not|n't|not)\b.{0,30}?\b(?:find|found|"
    r"locate|answer|"
    r"determine|tell|say|see|have (?:any |enough |sufficient )?(?:information|details|data|record))\b",
    r"\bi(?: 'm|'m| am) (?:not able|unable) to (?:find|answer|determine|locate|tell|say)\b",
    r"\b(?:unable|not able) to (?:find|answer|determine|locate)\b",
    r"\b(?:i|we) (?:have |'ve )?found (?:no|nothing|neither)\b",
    r"\b(?:i|we) (?:have|see|know of) (?:no|nothing)\b.{0,40}?\b(?:information|data|document\w*|record|details?|"
    r"statement|"
    r"about|on)\b",
    r"\bthere (?:is|are|was) (?:no|not any|n't any)\b.{0,30}?\b(?:information|mention|indication|details?|data|"
    r"statement|"
    rf"evidence|record|answer|reference)\b(?:.{{0,60}}?\b{_SOURCE}\b)?",
    r"\b(?:no|not enough|insufficient) (?:information|details|data)\b.{0,40}?\b(?:available|provided|given|"
    r"found|on|about|to)\b",
    r"\bi (?:do not|don't|don 't) know\b",
    r"\b(?:is|are|remains?) (?:not known(?= ?[.,;]|$)|unknown|unspecified|undocumented)\b",
    r"\b(?:not|cannot be|can't be) (?:be )?(?:determined|answered|inferred|derived|deduced)\b.{0,40}?\b(?:from|"
    r"with|by|based)\b",
    r"\bcan(?:not|'t) be (?:determined|answered|found)\b",
]
_KEINE_ANTWORT = [
    rf"\b{_QUELLE}\b.{{0,80}}?\b(?:nicht|keine?n?|nichts)\b",
    rf"\b(?:nicht|keine?n?|nichts)\b.{{0,60}}?\b(?:in|aus|den|der|dem|unter)\b.{{0,30}}?\b{_QUELLE}\b",
    r"\b(?:nicht|nirgends) (?:\w+ ){0,2}?(?:erwähnt|genannt|angegeben|dokumentiert|beschrieben|aufgeführt|"
    r"spezifiziert|"
    r"enthalten|beantworte\w*|hervor)\b",
    r"\b(?:finde|fand|gefunden|habe|haben|liegen|liegt|gibt es|gibt|enthält|enthalten)\b.{0,50}?\b(?:keine?n?|"
    r"nichts|"
    r"nirgends)\b.{0,30}?\b(?:angaben?|informationen?|auskunft|unterlagen|daten|hinweise?|aussagen?|antwort|"
    r"gefunden|vor|"
    r"dazu|darüber)\b",
    r"\b(?:keine|nichts)\b.{0,40}?\b(?:angaben?|informationen?|hinweise?|unterlagen|"
    r"aussagen?)\b.{0,30}?\b(?:gefunden|finden|"
    r"vor|vorliegen|habe|haben|verfügbar|vorhanden|dazu|enthalten)\b",
    r"\b(?:habe|haben) (?:\w+ ){0,6}?(?:nichts|nicht) gefunden\b",
    r"\b(?:weiß|weiss) (?:ich|man|wir) (?:\w+ ){0,2}?nicht\b|\bich (?:weiß|weiss) (?:\w+ ){0,2}?nicht\b",
    r"\b(?:kann|können|konnte|konnten)\b.{0,70}?\b(?:nicht|nichts|keine)\b.{0,30}?\b(?:beantworten|sagen|finden|"
    r"entnehmen|"
    r"ermitteln|feststellen|bestimmen|ableiten)\b",
    r"\bist (?:mir |uns )?(?:nicht bekannt|unbekannt)\b",
    r"\bgeht\b.{0,60}?\bnicht hervor\b",
]
_DENY = [
    r"\b(?:i|we)(?: 'm|'m| am|'re| are)(?: \w+)? (?:not|n't) (?:allowed|permitted|authori[sz]ed|able|at liberty|"
    r"cleared)\b.{0,30}?"
    r"\b(?:share|disclose|reveal|tell|give|provide|discuss|show|talk|answer|pass)\b",
    r"\b(?:i|we) (?:can ?not|can't|may not|must not|mustn't|won't|will not|am unable to|"
    r"could not)\b.{0,20}?\b(?:share|"
    r"disclose|reveal|give (?:you|out)|provide you|show you|discuss|pass on|release|hand out)\b",
    r"\b(?:you|your (?:role|account|user|permissions?|profile)|this (?:role|account|user))\b.{0,30}?\b(?:not|"
    r"n't|lacks?|no|"
    r"without)\b.{0,30}?\b(?:permission|permitted|allowed|authori[sz]ed|authori[sz]ation|entitled|access|"
    r"cleared|clearance|"
    r"rights?|include)\b.{0,60}?\b(?:information|this|that|it|document|see|view|read|access|data|content|"
    r"details?|$)",
    r"\b(?:this|that|the|such)(?: \w+){0,4} (?:is|are) (?:confidential|restricted|classified|internal|"
    r"for internal|reserved|"
    r"only (?:available|accessible|visible) (?:to|for)|not (?:available|accessible|visible|open|meant|"
    r"intended) (?:to|for))\b",
    r"\b(?:access|permission) (?:\w+ ){0,4}?(?:is |was )?(?:denied|refused|restricted|required to (?:see|view|"
    r"read))\b",
    r"\bnot (?:permitted|allowed|authori[sz]ed) to (?:see|view|know|receive|read|access|share|disclose|tell|"
    r"reveal)\b",
    r"\b(?:only|reserved for|restricted to) (?:staff|employees|partners|administrators|admins|"
    r"authori[sz]ed)\b.{0,30}?\b(?:see|"
    r"view|access|read|know)?",
]
_VERWEIGERT = [
    r"\b(?:darf|dürfen|kann|können|möchte)\b.{0,60}?\b(?:keine|nicht|nichts)\b.{0,25}?\b(?:auskunft|mitteilen|"
    r"weitergeben|"
    r"herausgeben|preisgeben|offenlegen|nennen|verraten|teilen|sagen dürfen|zeigen|geben|erteilen)\b",
    r"\b(?:darf|dürfen)\b.{0,60}?\b(?:nicht|nichts|keine\w*)\b.{0,30}?\b(?:sagen|beantworten|informationen|"
    r"angaben)\b",
    r"\b(?:sie|du|ihre? (?:rolle|konto|benutzer|zugang)|diese rolle|ihnen|dir)\b.{0,40}?\b(?:nicht|keine?n?|"
    r"fehlt|fehlen)\b"
    r".{0,40}?\b(?:berechtigt|berechtigung(?:en)?|zugriff|zugang|befugt|befugnis|rechte?|freigegeben|freigabe)\b",
    r"\b(?:vertraulich\w*|nicht für sie (?:bestimmt|freigegeben)|nur für (?:mitarbeiter|partner|interne|befugte|"
    r"administratoren)\w*|streng intern)\b",
    r"\bzugriff (?:\w+ ){0,3}?(?:verweigert|verwehrt|gesperrt|nicht (?:gestattet|erlaubt))\b",
    r"\b(?:nicht|keine) (?:\w+ ){0,3}?(?:befugt|berechtigt)\b.{0,40}?\b(?:auskunft|informationen?|sehen|"
    r"einzusehen|weiterzugeben|"
    r"mitzuteilen|nennen)\b",
]
_CLARIFY = [
    r"\b(?:do|did) you (?:mean|use|want|need|have|refer|run|work|ask)\b",
    r"\bare you (?:asking|referring|using|looking|talking|interested in the|on|a|an)\b",
    r"\b(?:can|could|would|will) you\b.{0,40}?\b(?:clarify|specify|tell|say|name|give|provide|explain|be more)\b",
    r"\b(?:which|what)\b.{0,60}?\b(?:version|product|plan|type|kind|one|edition|release|region|environment|"
    r"account|model|mean|"
    r"referring|asking|interested|using)\b",
    r"\bwhich\b",
    r"\b(?:meinen|meinst|nutzen|nutzt|verwenden|verwendest|benutzen|welche\w*|um was|worauf|auf was|was genau|"
    r"beziehen)\b",
    r"\b(?:möchten|möchtest|haben|sprechen|können|könnten|könntest|geht es)\b.{0,60}?\b(?:oder|präzisier\w*|"
    r"genauer|um)\b",
]
_CLARIFY_PLAIN = [
    r"\b(?:please|could you|can you|you need to|i need to know|i would need)\b.{0,60}?\b(?:clarify|specify|"
    r"tell me|let me know|"
    r"which|more (?:details|information|context))\b",
    r"\b(?:bitte|ich müsste wissen|könnten sie|teilen sie mir mit)\b.{0,60}?\b(?:präzisier\w*|genauer|"
    r"konkretisier\w*|geben sie an|"
    r"nennen sie|sagen sie|welche\w*|um welche\w*|mitteilen)\b",
    r"\b(?:it )?depends on (?:which|what|the|your)\b.{0,80}?\b(?:do you|are you|please|which one)\b",
]

_HINTS = (
    "no", "n't", "unable", "silent", "unspecified", "undocumented", "insufficient", "lack", "without", "confidential",
    "restricted", "classified", "internal", "reserved", "only", "denied", "refused", "required",
)  # fmt: skip
_HINWEISE = ("nicht", "kein", "nirgends", "unbekannt", "fehl", "vertraulich", "intern", "nur", "zugriff")


class _Wordings(Struct, frozen=True):
    """Patterns of one language.

    Attributes:
        hints: One of these stands in every text that any of them matches.
        any: Matches what any of them matches; one search takes a third of the time of all.
        each: One by one.
    """

    hints: tuple[str, ...]
    any: re.Pattern[str]
    each: tuple[re.Pattern[str], ...]


def _compiled(english: Sequence[str], german: Sequence[str]) -> tuple[_Wordings, ...]:
    return tuple(
        _Wordings(hints, re.compile("|".join(own)), tuple(map(re.compile, own)))
        for hints, own in ((_HINTS, english), (_HINWEISE, german))
    )


NO_ANSWER = _compiled(_NO_ANSWER, _KEINE_ANTWORT)
DENY = _compiled(_DENY, _VERWEIGERT)
CLARIFY = [re.compile(pattern) for pattern in _CLARIFY]
CLARIFY_PLAIN = [re.compile(pattern) for pattern in _CLARIFY_PLAIN]

_TRIGGER = re.compile(
    r"\?|\b(?:no|not|nothing|never|nowhere|neither|unable|silent|unknown|unspecified|undocumented|remains?|"
    r"insufficient|lacks?|"
    r"without|confidential|restricted|classified|internal|reserved|only|denied|refused|required|please|"
    r"could you|can you|"
    r"need to know|would need|you need|depends|cannot|nicht|nichts|kein\w*|nirgends|unbekannt|fehl\w*|"
    r"vertraulich\w*|nur|intern|"
    r"zugriff|bitte|könnten|müsste|teilen)\b|n't\b"
)
"""No refusal or question is without one of these."""
_SORRY = re.compile(r"\b(?:sorry|afraid|unfortunately|leider|bedaure|entschuldigung|apologi[sz]e)\b")
_BUT = re.compile(r"\b(?:but|aber)\b")
_GOES_ON = re.compile(r"\b(?:but|however|aber|jedoch|allerdings)\b(?:\W+\w+){4}")
_COURTESY = re.compile(
    r"\b(?:anything else|something else|help you|be of help|further questions|sonst noch|weiterhelfen|"
    r"behilflich|weitere fragen)\b"
)
_LOOKED_AT = 600
"""Characters of a sentence; refusals are short."""


def act_of(sentence: str) -> ExpectedBehavior:
    """What one sentence does, as far as its wording tells.

    >>> act_of("The documents do not say how long."), act_of("Welche Version meinen Sie?")
    ('no_answer', 'clarify')
    >>> act_of("Dazu darf ich keine Auskunft geben."), act_of("It is not retried.")
    ('deny', 'answer')
    """
    text = " ".join(sentence[:_LOOKED_AT].casefold().replace("’", "'").split())
    if not _TRIGGER.search(text):
        return "answer"
    if next(_found(DENY, text), None):
        return "deny"
    refused = [found.span() for found in _found(NO_ANSWER, text)]
    if refused:
        start, end = min(refused)
        both = _GOES_ON.search(text, end) or _said_before(text[:start])
        return "answer" if both else "no_answer"
    if _COURTESY.search(text):
        return "answer"
    asks = text.rstrip(" \"'»)*").endswith("?")
    if (asks and any(pattern.search(text) for pattern in CLARIFY)) or any(p.search(text) for p in CLARIFY_PLAIN):
        return "clarify"
    return "answer"


def _found(wordings: Sequence[_Wordings], text: str) -> Iterator[re.Match[str]]:
    for language in wordings:
        if any(hint in text for hint in language.hints) and language.any.search(text):
            yield from (found for pattern in language.each if (found := pattern.search(text)))


def _said_before(text: str) -> bool:
    """Whether something is said, and no regret, before a "but" that leads to the refusal."""
    but = _BUT.search(text)
    return but is not None and len(text[: but.start()].split()) >= 4 and not _SORRY.search(text)


def behavior_of(acts: Sequence[ExpectedBehavior], says: Sequence[bool]) -> ExpectedBehavior:
    """What the whole answer does: a refusal or a question, unless another sentence says something that could be it.

    Args:
        acts: What each sentence does.
        says: Which sentences say something that could be the answer.
    """
    if any(did == "answer" and said for did, said in zip(acts, says, strict=True)):
        return "answer"
    refusals: tuple[ExpectedBehavior, ...] = ("deny", "no_answer", "clarify")
    return next((act for act in refusals if act in acts), "answer")
