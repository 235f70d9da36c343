"""How refusals, denials and questions are worded, in both languages, as patterns over folded text.

Folded text has contractions written out (`behavior.folded`): "not" stands alone in it.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

_DOCUMENT = (
    r"(?:documents?|documentation|docs?|context|sources?|passages?|excerpts?|materials?|texts?|information|"
    r"knowledge base|"
    r"files?|articles?|snippets?|search results?|results?|manuals?(?! (?:mode|gear|input|entry|process|operation|"
    r"steps?|"
    r"settings?))|handbooks?|(?:user |quick.start )?guides?(?! rails?)|faqs?|readme|wiki|help pages?|data ?sheets?)"
)
"""What an answer is looked up in: "does not cover" says that it has no answer."""
_DEED = (
    r"(?:polic(?:y|ies)|contracts?|agreements?|terms|conditions|warrant(?:y|ies)|guarantees?|plans?|licen[cs]es?|"
    r"tariffs?|rules?|instructions?|pages?|websites?|sites?|sections?|chapters?|tables?|reports?|specifications?|"
    r"brochures?|leaflets?|letters?|e-?mails?)"
)
"""What says something and also does something: "the policy does not cover hail" is an answer."""
_SPEAK = (
    r"(?:say|specify|state|mention|tell|name|indicate|explain|address|list|discuss|disclose|reveal|define|note|"
    r"describe)"
)
_SPEAKS = (
    r"(?:says|specifies|states|mentions|tells (?:us |me |you )?|names|indicates|explains|addresses|lists|discusses|"
    r"discloses|reveals|defines|notes|describes)"
)
_SPOKEN = (
    r"(?:mentioned|specified|stated|documented|described|named|addressed|discussed|disclosed|indicated|defined|"
    r"explained|listed)"
)
_HOLD = r"(?:contain|include|cover|give|provide|answer|document|report|show|have|offer)"
_HOLDS = r"(?:contains?|has|have|gives?|provides?|makes?|offers?|includes?|covers?|shows?)"
_HELD = r"(?:covered|found|contained|given|included|provided|available|answered|shown)"
_KNOWLEDGE = r"(?:information|info|details?|data|mention|answers?|indication|statement|evidence|records?|references?)"

_NO_ANSWER = [
    rf"\b{_DOCUMENT}\b.{{0,60}}?\b(?:do|does|did) not\b.{{0,20}}?\b(?:{_SPEAK}|{_HOLD})\b",
    rf"\b{_DEED}\b.{{0,60}}?\b(?:do|does|did) not\b.{{0,20}}?\b(?:{_SPEAK}|{_HOLD} (?:any |enough )?{_KNOWLEDGE})\b",
    rf"\b(?:{_DOCUMENT}|{_DEED})\b.{{0,40}}?\b(?:never {_SPEAKS}|fails? to {_SPEAK}|(?:{_SPEAK}|{_SPEAKS}) (?:no\b|"
    rf"nothing)|"
    rf"(?:is|are|remains?) silent|leaves? (?:\w+ ){{1,3}}?(?:open|unsaid|unspecified))",
    rf"\b{_DOCUMENT}\b.{{0,60}}?\b{_HOLDS} (?:no|nothing|neither)\b",
    rf"\b(?:{_DOCUMENT}|{_DEED})\b.{{0,40}}?\b(?:lacks?|omits?|{_HOLDS} no) (?:any |such )?(?:information|info|"
    rf"details?|mention|"
    r"indication)\b",
    rf"\b(?:not|never|nowhere)\b.{{0,40}}?\b(?:{_SPOKEN}|{_HELD})\b.{{0,15}}? (?:in|by|from|within|among|"
    rf"throughout)\b (?:[\w-]+ ){{0,4}}?{_DOCUMENT}\b",
    rf"\b(?:not|never|nowhere)\b.{{0,40}}?\b{_SPOKEN}\b.{{0,15}}? (?:in|by|within)\b (?:[\w-]+ ){{0,4}}?{_DEED}\b",
    rf"\bno (?:[\w-]+ ){{1,5}}?(?:is|are|was|were) (?:\w+ )?(?:{_SPOKEN}|{_HELD}) (?:in|by)\b"
    rf" (?:[\w-]+ ){{0,4}}?{_DOCUMENT}\b",
    rf"\b(?:is|are|was|were) not (?:\w+ )?(?:in|part of|among|contained in)\b.{{0,20}}?\b{_DOCUMENT}\b",
    rf"\b(?:not (?:something|anything)|nothing)\b.{{0,20}}?\b{_DOCUMENT}\b.{{0,10}}?\b(?:{_SPEAKS}|{_SPEAK}|"
    rf"{_HOLDS})\b",
    rf"\b(?:outside|beyond) (?:of )?(?:the )?scope of .{{0,20}}?\b{_DOCUMENT}\b",
    r"\b(?:i|we)(?: \w+)? (?:could|can|did|was|were|am|are|have|do) not\b.{0,30}?\b(?:find|found|locate|answer|"
    r"determine|tell|say|see|have (?:any |enough |sufficient |the |that |this )?(?:information|info|details|data|"
    r"record|context))\b",
    r"^(?:could|can|did) not (?:\w+ )?(?:find|answer|locate|determine|tell|say)\b",
    r"\b(?:unable|not able) to (?:find|answer|determine|locate|tell|say|provide an answer)\b",
    r"\bcan not (?:give|provide|offer) (?:you )?(?:an?|any|the) (?:\w+ )?answer\b",
    r"\b(?:i|we) (?:have )?(?:found|see|saw) (?:no|nothing|neither)\b",
    r"\b(?:i|we) (?:have|know of) (?:no|nothing)\b.{0,40}?\b(?:information|info|data|document\w*|record|details?|"
    r"statement|about|on|idea)\b",
    r"\b(?:that|this|the|such) (?:\w+ )?(?:information|info|detail|answer) is not\b",
    r"\b(?:not |im)possible to (?:determine|answer|say|tell)\b|\b(?:not |un)clear from\b|^no mention\b",
    r"\b(?:insufficient|not enough) (?:context|information|details?)\b",
    r"\b(?:context|information)\b.{0,30}?\b(?:is|are) (?:insufficient|not (?:sufficient|enough))\b",
    rf"\bthere (?:is|are|was) (?:no|not any)\b.{{0,30}}?\b{_KNOWLEDGE}\b",
    r"\b(?:there (?:is|was)|(?:i|we) (?:can )?(?:see|find)) nothing (?:[\w-]+ ){0,5}?(?:about|on|regarding|"
    r"concerning)\b",
    r"\bnothing (?:[\w-]+ ){0,5}?(?:is|was) (?:said|mentioned|stated|specified|written)\b",
    r"\b(?:no|not enough|insufficient) (?:information|info|details|data)\b.{0,40}?\b(?:available|provided|given|"
    r"found|on|about|to)\b",
    r"\bi do not know\b|^(?:do not know|no (?:idea|clue))\b|^(?:(?:sorry|unfortunately),? )?(?:i am )?not sure"
    r"(?=\W*$| ?[.,;]| (?:how|what|which|when|where|who|why|if|whether)\b)",
    r"\b(?:is|are|remains?) (?:not known(?= ?[.,;]|$)|unknown|unspecified|undocumented)\b",
    r"\b(?:not|can not be) (?:be )?(?:determined|answered|inferred|derived|deduced)\b.{0,40}?\b(?:from|"
    r"with|by|based)\b",
    r"\bcan not be (?:determined|answered|found)\b",
]

_UNSAID = [
    r"(?:^|: )(?:(?:sorry|unfortunately),? )?(?:(?:it|this|that) (?:is|was) )?(?:not|nowhere|never) (?:\w+ )?"
    r"(?:mentioned|specified|stated|documented|disclosed)\b",
    r"\b(?:is|are|was|were|been) (?:not|never|nowhere) (?:\w+ )?(?:mentioned|specified|stated|documented|disclosed)\b",
    rf"^(?:(?:sorry|unfortunately),? )?no (?:[\w-]+ ){{1,5}}?(?:is|are|was|were|has been|have been)"
    rf" (?:\w+ )?{_SPOKEN}\b",
    rf"^(?:sorry, )?(?:no|nothing) (?:{_KNOWLEDGE}|answers?|results?|found)(?: (?:is|are|was|were))?(?: available|"
    rf" given| found)?\W*$",
    r"\b(?:it|they|this) (?:do|does|did) not (?:\w+ )?(?:say|mention|specify|state)\b",
]
"""Without a source these say that nothing is said, unless the question asks whether it is."""
_PERHAPS = [
    r"^(?:i am )?not sure about\b",
    r"\b(?:is|are|was|were|been) (?:not|never) (?:\w+ )?(?:listed|indicated|described|defined)\b",
    r"^(?:(?:this|that|it) is )?not (?:covered|included|available|provided|given|listed|applicable|found|known)\W*$",
    r"^no (?:[\w-]+ ){1,4}?(?:is|are|was|were) (?:available|provided|given|included|covered|shown)\W*$",
    r"\b(?:can not|unable to) (?:help|assist)\b(?:.{0,20}?\b(?:this|that|request|question)\b|\W*$)",
]
"""A refusal or an answer; nobody can tell from the wording."""
_QUELLE = (
    r"(?:unterlagen?|doku(?:ment\w*)?|kontext\w*|quellen?|auszüg\w*|texte?n?|material\w*|informationen|ausschnitt\w*|"
    r"abschnitt\w*|passagen?|wissensdatenbank|artikeln?|dateien|\w*handb[uü]ch\w*|\w*anleitung\w*|leitf[aä]den\w*|"
    r"datenbl[aä]tt\w*|faqs?|hilfeseiten?)"
)
_SCHRIFT = (
    r"(?:\w*vertrag\w*|\w*verträge\w*|police\w*|\w*bedingungen|agb|tarif\w*|garantie\w*|richtlinien?|regeln?|"
    r"regelung\w*|"
    r"webseiten?|seiten?|bericht\w*|tabellen?|broschüren?|prospekt\w*|plan|klauseln?|satzung)"
)
_SAGT = (
    r"(?:sagt|sagen|steht|stehen|erwähnt|erwähnen|nennt|nennen|äußer\w*|spezifizier\w*|verrät|verraten|erläuter\w*|"
    r"erklär\w*)"
)
_HAT = (
    r"(?:enthält|enthalten|gibt|geben|macht|machen|beschr[ei]+b\w*|beantworte\w*|behandel\w*|liefer\w*|biete\w*|hat|"
    r"haben|finde\w*|gefunden|geht|hervor|lässt|lassen|führ\w*|entnehmen|angegeben|genannt|aufgeführt|aufgelistet|"
    r"dokumentiert|vorhanden|verfügbar|ersichtlich)"
)
_ANGABEN = r"(?:angaben?|information(?:en)?|auskunft|hinweise?|aussagen?|antwort)"
_NICHT = r"(?:nicht|keine?n?|keinerlei|nichts|nirgends)"

_KEINE_ANTWORT = [
    rf"\b{_QUELLE}\b(?=.{{0,120}}?\b(?:{_SAGT}|{_HAT})\b)(?:(?!, da[sß]).){{0,80}}?\b{_NICHT}\b",
    rf"\b(?:{_SAGT}|{_HAT})\b.{{0,40}}?\b{_QUELLE}\b.{{0,40}}?\b{_NICHT}\b",
    rf"\b{_NICHT}\b.{{0,60}}?\b(?:in|im|aus|den|der|dem|unter)\b.{{0,30}}?\b{_QUELLE}\b",
    rf"\b{_SCHRIFT}\b.{{0,30}}?\b(?:{_SAGT}\b(?:(?!, da[sß]).){{0,60}}?\b{_NICHT}|"
    rf"{_HAT}\b.{{0,40}}?\b{_NICHT} {_ANGABEN})\b",
    rf"\b{_SAGT}\b.{{0,20}}?\b{_SCHRIFT}\b.{{0,30}}?\b(?:nichts|keine?n?)\b",
    rf"\bsteh(?:t|en)\b.{{0,40}}?\b{_NICHT}\b.{{0,30}}?\b(?:im|in)\b.{{0,20}}?\b{_SCHRIFT}\b",
    rf"\b(?:{_QUELLE}|{_SCHRIFT})\b.{{0,30}}?\bschweig\w*|\bschweig\w*\b.{{0,30}}?\b(?:{_QUELLE}|{_SCHRIFT})\b",
    r"\b(?:dazu|darüber|hierzu|hierüber|diesbezüglich)\b.{0,10}?\b(?:steht|stehen|find\w*|gibt es|habe|haben|liegt|"
    r"liegen|weiß|weiss)\b.{0,40}?\b(?:nichts|nicht|keine?n?)\b",
    r"\b(?:find\w*|fand|gefunden|habe|haben|liegen|liegt|gibt es|gibt|enthält|enthalten)\b.{0,50}?\b(?:keine?n?|"
    r"nichts|nirgends)\b.{0,30}?\b(?:angaben?|informationen?|auskunft|unterlagen|daten|hinweise?|aussagen?|antwort|"
    r"gefunden|vor|dazu|darüber)\b",
    r"\b(?:keine|nichts)\b.{0,40}?\b(?:angaben?|informationen?|hinweise?|unterlagen|"
    r"aussagen?)\b.{0,30}?\b(?:gefunden|finden|vor|vorliegen|habe|haben|verfügbar|vorhanden|dazu|enthalten)\b",
    r"\b(?:habe|haben) (?:\w+ ){0,6}?(?:nichts|nicht) gefunden\b",
    r"\b(?:weiß|weiss) (?:ich|man|wir) (?:\w+ ){0,2}?nicht\b|\bich (?:weiß|weiss) (?:\w+ ){0,2}?nicht\b|"
    r"^keine ahnung\b",
    r"\b(?:kann|können|konnte|konnten)\b.{0,70}?\b(?:nicht|nichts|keine)\b.{0,30}?\b(?:beantworten|sagen|finden|"
    r"entnehmen|ermitteln|feststellen|bestimmen|ableiten)\b",
    r"\bist (?:mir |uns )?(?:nicht bekannt|unbekannt)\b",
    r"\bgeht\b.{0,60}?\bnicht hervor\b|\bkeine rede\b",
]
_UNGESAGT = [
    r"\b(?:nicht|nirgends) (?:\w+ ){0,2}?(?:erwähnt|genannt|angegeben|dokumentiert|spezifiziert|beantworte\w*)\b",
    r"\bkeine?n? (?:[\w-]+ ){1,4}?(?:erwähnt|genannt|angegeben|aufgeführt|aufgelistet|spezifiziert|gefunden|"
    r"beschrieben)\b",
    rf"^(?:leider )?keine {_ANGABEN}(?: (?:dazu|darüber|verfügbar|vorhanden|gefunden))?\W*$",
]
_VIELLEICHT = [
    r"\b(?:nicht|nirgends) (?:\w+ ){0,2}?(?:beschrieben|aufgeführt|aufgelistet|enthalten)\b",
    r"^nicht (?:abgedeckt|versichert|verfügbar|bekannt|zutreffend)\W*$",
    r"\b(?:kann|können) (?:\w+ ){0,4}?nicht (?:weiter)?helfen\b",
]

_DENY = [
    r"\b(?:i|we) (?:am|are)(?: \w+)? not (?:allowed|permitted|authori[sz]ed|able|at liberty|cleared)\b.{0,30}?"
    r"\b(?:share|disclose|reveal|tell|give|provide|discuss|show|talk|answer|pass)\b",
    r"\b(?:i|we) (?:can not|may not|must not|will not|am unable to|could not)\b.{0,20}?\b(?:share|disclose|reveal|"
    r"give (?:you|out)|provide you(?! with an)|show you|discuss|pass on|release|hand out)\b",
    r"\b(?:you|your (?:\w+ )?(?:role|account|user|permissions?|profile)|this (?:role|account|user))\b.{0,20}?\b(?:not|"
    r"lacks?|no|without)\b(?! (?:\w+ )?(?:need|require))(?: \w+){0,3}? (?:permissions?|permitted|allowed|"
    r"authori[sz]ed|"
    r"authori[sz]ation|entitled|access(?= to\b|\W*$| rights)|cleared|clearance|rights?|include)\b(?!.*\b(?:without|"
    r"unless|until)\b)(?:\W*$|.{0,60}?\b(?:information|(?:this|that|these|those|it)\b(?! (?:feature|function|command|"
    r"plan|version|option|endpoint|api)\b)|documents?|see|view|read|data|content|details?)\b)",
    r"\b(?:this|that|the|such)(?: \w+){0,4} (?:is|are) (?:confidential|restricted|classified|internal|"
    r"for internal|reserved|only (?:available|accessible|visible) (?:to|for)|not (?:available|accessible|visible|open|"
    r"meant|intended) (?:to|for))\b",
    r"\b(?:access|permission) (?:\w+ ){0,4}?(?:is |was )?(?:denied|refused|restricted|required to (?:see|view|"
    r"read))\b",
    r"\bnot (?:permitted|allowed|authori[sz]ed) to (?:see|view|know|receive|read|access|share|disclose|tell|reveal)\b",
    r"\b(?:only|reserved for|restricted to) (?:staff|employees|partners|administrators|admins|"
    r"authori[sz]ed)\b.{0,30}?\b(?:see|view|access|read|know)?",
]
_VERWEIGERT = [
    r"\b(?:darf|dürfen|kann|können|möchte)\b.{0,60}?\b(?:keine|nicht|nichts)\b.{0,25}?\b(?:auskunft|mitteilen|"
    r"weitergeben|herausgeben|preisgeben|offenlegen|nennen|verraten|teilen|sagen dürfen|zeigen|geben|erteilen)\b",
    r"\b(?:darf|dürfen)\b.{0,60}?\b(?:nicht|nichts|keine\w*)\b.{0,30}?\b(?:sagen|beantworten|informationen|"
    r"angaben)\b",
    r"\b(?:sie|du|ihre? (?:rolle|konto|benutzer|zugang)|diese rolle|ihnen|dir)\b(?! (?:brauch|benötig)).{0,40}?"
    r"\b(?:nicht|keine?n?|fehlt|fehlen)\b.{0,40}?\b(?:berechtigt|berechtigung(?:en)?|zugriff|zugang|befugt|befugnis|"
    r"rechte?|freigegeben|freigabe)\b",
    r"\b(?:vertraulich\w*|nicht für sie (?:bestimmt|freigegeben)|nur für (?:mitarbeiter|partner|interne|befugte|"
    r"administratoren)\w*|streng intern)\b",
    r"\bzugriff (?:\w+ ){0,3}?(?:verweigert|verwehrt|gesperrt|nicht (?:gestattet|erlaubt))\b",
    r"\b(?:nicht|keine) (?:\w+ ){0,3}?(?:befugt|berechtigt)\b.{0,40}?\b(?:auskunft|informationen?|sehen|"
    r"einzusehen|weiterzugeben|mitzuteilen|nennen)\b",
]
_ASKS = [
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
_PLAIN = [
    r"\b(?:please|could you|can you|you need to|i need to know|i would need)\b.{0,60}?\b(?:clarify|specify|"
    r"tell me|let me know|"
    r"which|more (?:details|information|context))\b",
    r"\b(?:bitte|ich müsste wissen|könnten sie|teilen sie mir mit)\b.{0,60}?\b(?:präzisier\w*|genauer|"
    r"konkretisier\w*|geben sie an|"
    r"nennen sie|sagen sie|welche\w*|um welche\w*|mitteilen)\b",
    r"\b(?:it )?depends on (?:which|what|the|your)\b.{0,80}?\b(?:do you|are you|please|which one)\b",
]

_HINTS = (
    "no", "unable", "silent", "unspecified", "undocumented", "insufficient", "lack", "without", "confidential",
    "restricted", "classified", "internal", "reserved", "only", "denied", "refused", "required", "omit", "fail",
    "scope", "leave",
)  # fmt: skip
_SOURCES = (
    "doc", "context", "source", "passage", "excerpt", "material", "text", "information", "knowledge base", "file",
    "article", "snippet", "result", "manual", "handbook", "guide", "faq", "readme", "wiki", "help page", "data",
    "polic", "contract", "agreement", "terms", "condition", "warrant", "guarantee", "plan", "licen", "tariff", "rule",
    "instruction", "page", "site", "section", "chapter", "table", "report", "specification", "brochure", "leaflet",
    "letter", "mail",
)  # fmt: skip
_HINWEISE = (
    "nicht", "kein", "nirgends", "unbekannt", "fehl", "vertraulich", "intern", "nur", "zugriff", "schweig",
)  # fmt: skip


class Wordings(Struct, frozen=True):
    """Patterns of one language.

    Attributes:
        hints: One of these stands in every text that any of them matches.
        any: Matches what any of them matches, each of which begins a word; one search takes far less than all.
        each: One by one.
    """

    hints: tuple[str, ...]
    any: re.Pattern[str]
    each: tuple[re.Pattern[str], ...]


def _of(hints: tuple[str, ...], patterns: Sequence[str]) -> Wordings:
    return Wordings(hints, re.compile(rf"\b(?:{'|'.join(patterns)})"), tuple(map(re.compile, patterns)))


def _compiled(english: Sequence[str], german: Sequence[str]) -> tuple[Wordings, ...]:
    return _of(_HINTS, english), _of(_HINWEISE, german)


def _by_source(patterns: Sequence[str]) -> tuple[Wordings, Wordings]:
    """Patterns that name a source are tried only where one is named, the others everywhere."""
    sourced = [pattern for pattern in patterns if _DOCUMENT in pattern or _DEED in pattern]
    plain = [pattern for pattern in patterns if pattern not in sourced]
    return _of(_SOURCES, sourced), _of(_HINTS, plain)


NO_ANSWER = (*_by_source(_NO_ANSWER), _of(_HINWEISE, _KEINE_ANTWORT))
UNSAID = _compiled(_UNSAID, _UNGESAGT)
PERHAPS = _compiled(_PERHAPS, _VIELLEICHT)
DENY = _compiled(_DENY, _VERWEIGERT)
CLARIFY = re.compile("|".join(_ASKS))
CLARIFY_PLAIN = re.compile("|".join(_PLAIN))
