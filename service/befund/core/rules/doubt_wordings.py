"""How an answer words that it names a value and does not mean it, in both languages, over tokens joined by spaces."""

import re

from befund.core.rules.vocabulary import listed

NEW_START = listed("; : but and which who aber und sondern jedoch doch because weil denn so")
_WRONG = (
    r"(?:wrong|false|incorrect|untrue|inaccurate|outdated|obsolete|mistaken|not (?:\w+ )?(?:true|correct|right|"
    r"so|accurate|the case)|"
    r"no longer (?:\w+ )?(?:true|correct|right|so|valid|the case)|(?:just )?an? (?:\w+ )?(?:myth|mistake|"
    r"misconception|error|typo|rumou?r)|"
    r"falsch|unwahr|veraltet|überholt|unzutreffend|nicht (?:mehr )?(?:\w+ )?(?:wahr|richtig|korrekt|der fall|"
    r"aktuell|so)|"
    r"(?:nur )?ein (?:irrtum|mythos|fehler|gerücht|tippfehler))\b(?! (?:to|if|that|dass|zu|of|for|in|für|bei)\b)"
)
TAKEN_BACK = re.compile(
    rf"\b(?:that|this|it|which|das|dies|es|was)(?: (?:is|was|ist|war|wäre)| ' s|'s) (?:\w+ ){{0,2}}?{_WRONG}"
    r"|\b(?:that|this|it|which) (?:is ?n't|isn't|wasn't) (?:\w+ )?(?:true|correct|right|so|accurate|the case)\b"
    r"|\b(?:das|dies|was|es) (?:(?:stimmt|trifft) (?:\w+ )?nicht|(?:\w+ )?nicht (?:\w+ )?(?:stimmt|zutrifft))\b"
)
IS_WRONG = re.compile(rf"^ ?[,(-]? ?(?:(?:is|was|ist|war|wäre|sind|are|were|would be) )?(?:\w+ )?{_WRONG}")
CORRECTED = re.compile(
    r"^[ .,;:!?(-]*(?:(?:just kidding|kleiner scherz|actually|in (?:fact|truth|reality|wirklichkeit)|"
    r"tatsächlich|eigentlich)\b|"
    r"(?:no|nein|nope|wait|sorry|oops|correction|korrektur|moment|halt|entschuldigung|scratch that|rather)"
    r" ?[,.:;!-]|(?:or|oder) (?:rather|besser gesagt|vielmehr)\b|(?:i mean|ich meine|better|besser gesagt|"
    r"vielmehr)\b)"
)
CONFIRMED = re.compile(r"^ ?(?:yes|ja|yep|yeah|correct|right|exactly|indeed|genau|stimmt|richtig|jawohl)\b")
DENIED = re.compile(r"^ ?(?:no|nein|nope|wrong|falsch|never|niemals)\b")
PASSED_ON = re.compile(
    r"\b(?:everyone|everybody|people|some|many|most|others|they|users|rumou?rs?|customers|colleagues|somebody|"
    r"someone|man|alle|viele|manche|einige|leute|jeder|kollegen|kunden|nutzer) (?:\w+ ){0,2}?"
    r"(?:says?|said|thinks?|thought|believes?|believed|claims?|claimed|assumes?|assumed|sagen|sagt|sagten|glaub\w+|"
    r"mein(?:en|t|ten|te)|behaupt\w+|denk\w+|vermut\w+)\b"
    r"|\b(?:it is|it's) (?:often |commonly |widely )?(?:said|claimed|believed|rumou?red|assumed)\b|\bes heißt\b|"
    r"\bes heisst\b"
    r"|\b(?:you|one|man) (?:would|might|may|could|könnte|möchte) (?:\w+ )?(?:think|believe|assume|expect|heard|"
    r"glauben|meinen|denken)\b"
    r"|\b(?:contrary to|doubt\w*|bezweif\w+|(?:wrong|false|incorrect|falsch\w*) (?:is|are|sind|ist|answer|wäre|"
    r"wären|antwort))\b"
    r"|\b(?:allegedly|supposedly|purportedly|reportedly|falsely|wrongly|mistakenly|erroneously|angeblich|"
    r"vermeintlich\w*|irrtümlich\w*|fälschlich\w*|rumou?r|myth|misconception|gerüchte?|mythos|irrtum)\b"
)
PAST = re.compile(
    r"\b(?:used to|formerly|previously|originally|initially|once was|once were|in the past|until recently|at first|"
    r"früher\w*|ehemals|vormals|ursprünglich\w*|bisher|bislang|bis vor kurzem|vorher|zuvor|anfangs|einst)\b"
)
NOW = re.compile(r"\b(?:now|nowadays|today|currently|meanwhile|jetzt|nun|heute|inzwischen|mittlerweile|aktuell|seit)\b")
SINCE = re.compile(rf"^.+{NOW.pattern}|^ ?(?:{PAST.pattern}|before|earlier|until|bis|damals)\b(?! ?$)")
"""Behind a value and before the one that has taken its place."""
WAS_ONCE = re.compile(
    r"^ ?(?:was|were|galt|galten|war|waren) (?:the (?:old|former|previous|original)|der (?:alte|frühere)|"
    r"die (?:alte|frühere)|"
    rf"{PAST.pattern})\b"
)
CHANGES = re.compile(
    r"\b(?:reduced|raised|increased|lowered|changed|cut|shortened|extended|dropped|went|moved|switched|decreased|"
    r"gesenkt|erhöht|verkürzt|verlängert|geändert|reduziert|angehoben|herabgesetzt|verringert|gewechselt|"
    r"umgestellt)\b"
)
FROM = re.compile(r"\b(?:from|von|vom)(?: the| den| dem)? ?$")
DISPLACED = re.compile(
    r"\b(?:instead of|rather than|as opposed to|contrary to|unlike|replac(?:es|ed|ing)|statt|anstatt|anstelle|"
    r"an stelle|entgegen)"
    r"(?: (?:of|from|the|an?|den|der|dem|von|einer|einem)){0,2} ?$"
)
PAST_TENSE = listed("was were did had war waren wurde wurden hatte hatten")
SPEAKS_OF_PAST = listed(
    "used previously formerly earlier originally before past old früher vorher bisher ursprünglich damals alte "
    "alten zuvor"
)
HEDGE = re.compile(
    r"\b(?:possibly|perhaps|maybe|probably|likely|presumably|conceivably|apparently|vielleicht|eventuell|"
    r"möglicherweise|womöglich|wahrscheinlich|vermutlich|mutmaßlich|mutmasslich|wohl|könnten?|dürften?)\b"
    r"|\b(?:might|could|may)(?: well)? be(?: \w+)? ?$|\b(?:if|wenn|falls) \w+ (?:were|was|wäre|wären)\b"
)
HEDGED_AFTER = re.compile(
    r"^ ?[,(-]? ?(?:possibly|perhaps|maybe|probably|presumably|apparently|allegedly|supposedly|i guess|"
    r"i suppose|or so|"
    r"would|wäre|wären|unconfirmed|vielleicht|eventuell|möglicherweise|wahrscheinlich|vermutlich|angeblich|"
    r"unbestätigt|oder so)\b"
)
UNSURE = re.compile(
    r"\b(?:not (?:\w+ )?(?:sure|certain)|unsure|uncertain|(?:nicht|un) ?(?:\w+ )?sicher|if i remember|if i recall|"
    r"from memory|wenn ich mich recht)\b"
)
_BELOW = (
    r"(?:less|fewer|shorter|lower|smaller|earlier|older) than|under|below|weniger als|kürzer als|niedriger als|"
    r"kleiner als|unter|unterhalb"
)
_ABOVE = (
    r"(?:more|longer|greater|higher|larger|later|newer) than|exceeding|exceeds|above|in excess of|beyond|"
    r"mehr als|länger als|höher als|grösser als|größer als|später als|oberhalb"
)
_FILLED = r"(?: (?:of|about|the|a|an|total|approximately|version|den|dem|der|ca|etwa|rund|von)){0,2} ?$"
STRICT = re.compile(
    rf"(?<!no )(?<!not )(?<!nicht )(?:\b(?:{_BELOW}|{_ABOVE})){_FILLED}|(?:^| )(?<![-=] )(?<!\w )[<>] ?$"
    r"|\b(?:half|twice|double|triple|third|quarter|hälfte|doppelte|dreifache|drittel|viertel)(?: (?:of|the|von|"
    r"der)){0,2} ?$"
)
STRICT_GIVEN = re.compile(rf"\b(?:{_BELOW}|{_ABOVE})\b")
LEAST = re.compile(
    rf"(?:> =|≥) ?$|\b(?:at least|a minimum|minimum|at minimum|no (?:less|fewer|shorter|earlier) than|"
    rf"not (?:less|fewer|shorter|earlier) than|"
    rf"mindestens|wenigstens|zumindest|nicht (?:weniger|kürzer|unter)(?: als)?|ein minimum){_FILLED}"
)
OPEN_BOUND = re.compile(
    r"\b(?:over|über|almost|nearly|fast|beinahe|knapp|not quite|gut|just under|just over|shy of|"
    r"upwards of)(?: (?:of|the|a))? ?$"
)
AROUND = re.compile(r"\b(?:before|after|vor|nach)(?: (?:the|version|dem|den|der))? ?$")
"""Of a date or version; "after 72 hours" is when the 72 hours are over."""
AND_MORE = re.compile(
    r"^ ?(?:\+|or (?:more|less|longer|fewer)|oder (?:mehr|weniger|länger)|and (?:more|up)|plus)(?: |$)"
)
ASKS_FOR_LEAST = listed(
    "minimum minimal least must need needs needed require required requires requirement should shall mindestens "
    "mindest muss müssen brauche braucht brauchen erforderlich nötig benötigt benötigen soll sollen sollte "
    "notwendig"
)
ASKS_FOR_LIMIT = listed(
    "before until from after once limit limits threshold exceed may allowed most maximum max largest longest "
    "bis ab vor "
    "nach darf dürfen maximal grenze grenzwert höchstens erst limit schwelle"
)
"""What is asked for is a limit, which "more than" and "less than" name, too."""
