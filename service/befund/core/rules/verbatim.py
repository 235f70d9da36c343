"""Claims that stand word for word in the context: no model is asked about these."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from befund.core.rules.asked import is_asked
from befund.core.rules.evidence import Evidence, line_of
from befund.core.rules.reading import Sentence, Term
from befund.core.rules.vocabulary import listed
from befund.core.rules.words import Token, tokens

Standing = Literal["asserted", "doubted", "part"]
"""How words stand in a sentence: it says so; it denies, asks or passes it on; or they are a part of what it says."""

_DOUBT = listed(
    "myth myths misconception rumour rumor rumours claim claims claimed claiming alleged allegedly alleges believe "
    "believes believed think thinks thought suppose supposed supposedly falsely wrongly mistakenly assume assumed "
    "pretend pretends whether if might perhaps say says said wrote mythos gerücht behauptet behaupten behauptung "
    "angeblich vermeintlich irrtümlich fälschlich fälschlicherweise glaubt glauben glaubte denkt meint meinen ob "
    "wenn falls"
)
"""Behind these a source passes on what it does not itself say."""
_RESTRICTS = listed(
    "only if unless when except until provided but however nur wenn falls sofern ausser außer bis aber jedoch"
)
"""What follows one of these takes something back."""
_OPENS = listed("and und but aber that dass because weil so also since denn sondern while whereas während")
_QUOTED = re.compile('["“„«]([^"“”«»]*)["“”»]')
_TAKEN_BACK = re.compile(
    r"(?:this|that|it|das|dies|es) (?:is|was|ist|war) (?:\w+ )?(?:false|wrong|incorrect|untrue|not (?:true|correct|so|"
    r"the case)|a (?:\w+ )?(?:myth|mistake|misconception)|falsch|unwahr|nicht (?:wahr|richtig)|ein irrtum)\b"
)
_MOST_BETWEEN = 2
"""Words of the passage that may stand among those of a claim."""
_FRAGMENT = 4
"""Words of an answer that is no sentence: "36 months"."""


def places_of(claim: Sentence, evidence: Evidence) -> Iterator[tuple[int, Standing]]:
    """The sentences of the context that have the claim word for word, whatever its case and final mark, and how."""
    line = line_of(_bare(claim.tokens))
    if not line.strip():
        return
    for row, at in evidence.rows_with(line):
        start = evidence.lines[row].count(" ", 0, at)
        yield row, _standing(claim, line, row, (start, start + line.count(" ") - 1), evidence)


def _standing(claim: Sentence, line: str, row: int, span: tuple[int, int], evidence: Evidence) -> Standing:
    sentence = evidence.sentences[row]
    if _is_passed_on(sentence, line, row, evidence):
        return "doubted"
    before, after = sentence.tokens[: span[0]], sentence.tokens[span[1] :]
    if all(token.kind == "mark" for token in (*before, *after)):
        return "asserted"
    if any(token.text in _DOUBT for token in before) or _is_denied(sentence, span):
        return "doubted"
    if any(token.text in _RESTRICTS for token in after) or sentence.clause_at(span[0]).conditional:
        return "part"
    opens = not before or before[-1].kind == "mark" or before[-1].text in _OPENS
    return "asserted" if opens or _is_only_figure(claim, row, span, evidence) else "part"


def _bare(found: Sequence[Token]) -> Sequence[Token]:
    """The tokens without marks at either end."""
    words = [at for at, token in enumerate(found) if token.kind != "mark"]
    return found[words[0] : words[-1] + 1] if words else ()


def _is_passed_on(sentence: Sentence, line: str, row: int, evidence: Evidence) -> bool:
    """Whether it is asked or quoted, or the next sentence takes it back."""
    if is_asked(sentence):
        return True
    if any(line in line_of(tokens(quoted[1])) for quoted in _QUOTED.finditer(sentence.raw)):
        return True
    following = row + 1
    if following >= len(evidence.sentences) or evidence.chunks[following] != evidence.chunks[row]:
        return False
    return _TAKEN_BACK.match(evidence.lines[following].strip()) is not None


def _is_denied(sentence: Sentence, span: tuple[int, int]) -> bool:
    """Whether a word outside of the part denies it."""
    end = sentence.clause_at(span[0]).end
    outside = [cue for each in sentence.clauses for cue in each.cues if not span[0] <= cue < span[1]]
    return any(cue < span[0] or cue < end for cue in outside)


def _is_only_figure(claim: Sentence, row: int, span: tuple[int, int], evidence: Evidence) -> bool:
    """Whether a few words give a figure as the passage does, and the context has no other of its kind."""
    own = [entity for entity in claim.entities if not entity.weak]
    if not own or sum(token.kind != "mark" for token in claim.tokens) > _FRAGMENT:
        return False
    here = [entity for entity in evidence.sentences[row].entities if span[0] <= entity.start < span[1]]
    if any(entity.bound != other.bound for entity, other in zip(own, here, strict=False)):
        return False
    others = [entity for sentence in evidence.sentences for entity in sentence.entities if not entity.weak]
    return not any(
        other.dimensions & entity.dimensions and other.wants.isdisjoint(entity.provides)
        for entity in own
        for other in others
    )


def place_in_order(claim: Sentence, evidence: Evidence) -> int | None:
    """The sentence that has all words of a claim in the claim's order, hardly another between them, and asserts them.

    A further word right before one of them narrows it down: "enterprise customers" are not all customers.
    """
    wanted = [term.key for term in claim.terms]
    if len(wanted) < 2 or claim.denied or is_asked(claim):
        return None
    for row in evidence.rows_having(set(wanted)):
        sentence = evidence.sentences[row]
        if not _is_doubtful(sentence) and _in_order(wanted, sentence.terms):
            return row
    return None


def _is_doubtful(sentence: Sentence) -> bool:
    said = {token.text for token in sentence.tokens}
    return sentence.denied or is_asked(sentence) or not said.isdisjoint(_DOUBT | _RESTRICTS)


def _in_order(wanted: Sequence[str], given: Sequence[Term]) -> bool:
    found: list[int] = []
    for at, term in enumerate(given):
        if len(found) < len(wanted) and term.key == wanted[len(found)]:
            found.append(at)
    between = found[-1] - found[0] + 1 - len(found) if found else 0
    narrowed = any(at and given[at - 1].at == given[at].at - 1 and at - 1 not in found for at in found)
    return len(found) == len(wanted) and between <= _MOST_BETWEEN and not narrowed
