"""True items made false in ways a person would notice: how many are caught, or at least abstained on.

    python calibration/perturb.py [--samples FOLDER] [--show N]

From the items that people called right: a number swapped, a "not" inserted, the reference or the passage negated, and
the right answer hidden among seven candidates.
"""

import argparse
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import samples
from fit import WEIGHTS

from befund.adapters.lexicon import InstalledLexicon
from befund.core.judging import Item, Passage, verdicts_of
from befund.core.rules.judge import Knowledge, judge
from befund.core.rules.weights import Weights

_VERB = re.compile(
    r"\b(is|was|are|were|has|have|had|can|could|will|would|should|must|may|did|does|do|"
    r"ist|war|sind|waren|hat|haben|kann|können|wird|werden|muss|darf)\b(?! (?:not|nicht|n't))"
)
_NUMBER = re.compile(r"\d+")
CANDIDATES = 7


def swapped(text: str, only_in: Sequence[str] | None = None) -> str | None:
    """The text with one number changed; only one that also stands in a text of `only_in`, where that is given."""
    for found in _NUMBER.finditer(text):
        if only_in is None or any(re.search(rf"(?<!\d){found[0]}(?!\d)", other) for other in only_in):
            other = str(int(found[0]) + (7 if len(found[0]) < 4 else 13))
            return text[: found.start()] + other + text[found.end() :]
    return None


def denied(text: str) -> str | None:
    """The text with "not" behind its first verb."""
    found = _VERB.search(text)
    if not found:
        return None
    word = (
        "nicht"
        if found[1] in ("ist", "war", "sind", "waren", "hat", "haben", "kann", "wird", "muss", "darf")
        else "not"
    )
    return f"{text[: found.end()]} {word}{text[found.end() :]}"


def among(right: str, others: Sequence[str], form: str) -> str:
    """The right answer somewhere among others, as one list."""
    place = int(hashlib.sha256(right.encode()).hexdigest(), 16) % CANDIDATES
    names = [*others[:place], right, *others[place : CANDIDATES - 1]]
    if form == "lines":
        return "\n".join(f"- {name}" for name in names)
    if form == "or":
        return " or ".join(names)
    if form == "sentence":
        return f"It could be {', '.join(names[:-1])} or {names[-1]}."
    return ", ".join(names)


def overlap(claim: str, text: str) -> int:
    """How many words of the claim the text has."""
    return len(set(claim.lower().split()) & set(text.lower().split()))


def perturbed(sample: samples.Sample, others: Sequence[str]) -> Iterator[tuple[str, Item]]:
    """Kind and item, for every perturbation that this item allows."""
    item = sample.item
    replace: Callable[..., Item] = lambda **changes: msgspec.structs.replace(item, **changes)  # noqa: E731
    if sample.dimension == "correct":
        if len(item.reference_answers) == 1 and (changed := swapped(item.answer, item.reference_answers)):
            yield "number swapped", replace(answer=changed)
        if changed := denied(item.answer):
            yield "not inserted", replace(answer=changed)
        yield "reference negated", replace(reference_answers=tuple(f"not {each}" for each in item.reference_answers))
        for form in ("commas", "or", "sentence", "lines"):
            yield f"seven candidates, {form}", replace(answer=among(item.reference_answers[0], others, form))
        return
    texts = [passage.text or "" for passage in item.context or ()]
    if changed := swapped(item.answer):
        fresh = set(_NUMBER.findall(changed)) - set(_NUMBER.findall(item.answer))
        if not any(number in text for number in fresh for text in texts):
            yield "number swapped", replace(answer=changed)
    if changed := denied(item.answer):
        yield "not inserted", replace(answer=changed)
    if len(texts) > 1:
        return  # another passage may say it, too
    sentences = [(chunk, part) for chunk, text in enumerate(texts) for part in re.split(r"(?<=[.!?])\s+", text)]
    chunk, best = max(sentences, key=lambda each: overlap(item.answer, each[1]))
    if changed := denied(best):
        context = [
            Passage(p.id, (p.text or "").replace(best, changed) if n == chunk else p.text)
            for n, p in enumerate(item.context or ())
        ]
        yield "passage negated", replace(context=tuple(context))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=Path, default=samples.DEFAULT)
    parser.add_argument("--show", type=int, default=0, help="print so many of those missed")
    options = parser.parse_args()
    knowledge = Knowledge(InstalledLexicon(), msgspec.json.decode(WEIGHTS.read_bytes(), type=Weights))
    print("| source | perturbation | n | caught | abstained | missed |\n|---|---|---|---|---|---|")
    for source, items in samples.read(options.samples).items():
        counts: dict[str, list[int]] = {}
        for number, sample in enumerate(items):
            if not sample.label:
                continue
            names = [
                each.item.reference_answers[0] for each in items[number + 1 :] + items if each.item.reference_answers
            ]
            others = [name for name in dict.fromkeys(names) if name not in sample.item.reference_answers]
            for kind, item in perturbed(sample, others[: CANDIDATES - 1]):
                seen = judge(item, knowledge)
                verdict = getattr(verdicts_of(item, seen), sample.dimension).verdict
                counts.setdefault(kind, [0, 0, 0])[{False: 0, None: 1, True: 2}[verdict]] += 1
                if verdict and options.show > sum(count[2] for count in counts.values()):
                    print(f"    {kind}: {item.question!r} {item.answer!r} {item.reference_answers[:3]} {seen.reason}")
        for kind, (caught, silent, missed) in counts.items():
            print(f"| {source} | {kind} | {caught + silent + missed} | {caught} | {silent} | {missed} |")


if __name__ == "__main__":
    main()
