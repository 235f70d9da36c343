"""Questions meet their rankings: one by one, or all together where the rankings are plain lists of ids."""

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from befund.core.eligibility import Gold, Mapped, gold_of
from befund.core.errors import BefundError, ContradictionError
from befund.core.retrieval.cases import Cases
from befund.core.retrieval.content import ContentHash
from befund.core.retrieval.envelope import (
    LazyDataset,
    LazyQuestion,
    LazyRetrieveEvalRequest,
    read_mapping,
    read_questions,
    read_rankings,
)
from befund.core.retrieval.judged import JudgedIds, look
from befund.core.retrieval.plain import Block, NotPlainError, plain_blocks
from befund.core.retrieval.ranking import Retrieved, sight
from befund.core.retrieval.run import Run
from befund.core.retrieval.strings import Integers

_UNKNOWN = -1
_EXCLUDED, _NOT_ASKED = -1, -2


def collect(request: LazyRetrieveEvalRequest, dataset: LazyDataset, *, content: ContentHash | None = None) -> Cases:
    """Read the questions of a data set and the rankings of a request, and bring them together.

    Args:
        request: The request.
        dataset: The data set it means.
        content: Takes in every question, if given.

    Raises:
        MalformedRequestError: A question or ranking does not decode.
        ContradictionError: The data set is empty or contradicts itself, or no question or ranking fits the other.
    """
    if not dataset.questions:
        raise ContradictionError.at("/dataset/questions", "empty-dataset", "The data set has no questions. Send some.")
    mapping = _mapping_of(dataset)
    cases = None
    if not request.per_question and request.level == "chunk":
        cases = _together(request, _Questions(request, dataset, mapping, content))
    if cases is None:
        cases = _one_by_one(request, _Questions(request, dataset, mapping, content))
    if not cases.total:
        raise ContradictionError.at(
            "/tags" if request.tags else "/split",
            "nothing-selected",
            f"No question of the data set {_filters(request)}.",
        )
    return cases


class _Questions:
    """The questions of a data set, read one after the other.

    Attributes:
        cases: What becomes of them.
        position: Where each question stands that was read.
        asks_all: Whether the request selects every question.
    """

    def __init__(
        self, request: LazyRetrieveEvalRequest, dataset: LazyDataset, mapping: Mapped, content: ContentHash | None
    ) -> None:
        self.cases = Cases(request, mapping)
        self.position: dict[str, int] = {}
        self._raw = dataset.questions
        self._content = content
        self._split = request.split
        self._tags = frozenset(request.tags)
        self.asks_all = request.split is None and not request.tags

    def __iter__(self) -> Iterator[tuple[LazyQuestion, Gold]]:
        mapping, level = self.cases.evidence_mapping, self.cases.relevance_level
        position = self.position
        try:
            for question, grades in read_questions(self._raw):
                if question.id in position:
                    detail = f"Question {question.id!r} is given twice. Keep one."
                    raise ContradictionError.at(f"/{len(position)}/id", "question-twice", detail)
                try:
                    gold = gold_of(question, grades, mapping, relevance_level=level)
                except BefundError as error:
                    error.move_below(f"/{len(position)}")
                    raise
                position[question.id] = len(position)
                if self._content is not None:
                    self._content.add(question, grades)
                yield question, gold
        except BefundError as error:
            error.move_below("/dataset/questions")
            raise

    def asked(self, question: LazyQuestion) -> bool:
        """Whether the request selects this question."""
        return (self._split is None or question.split == self._split) and (
            not self._tags or not self._tags.isdisjoint(question.tags)
        )


def _one_by_one(request: LazyRetrieveEvalRequest, questions: _Questions) -> Cases:
    cases, run = questions.cases, Run(read_rankings(request))
    for question, gold in questions:
        seen = run.look(question, gold)  # of every question, so that a broken ranking is refused whatever is selected
        if questions.asked(question):
            cases.add(question, gold, seen)
    cases.unknown = len(run.unknown(questions.position))
    return cases


def _together(request: LazyRetrieveEvalRequest, questions: _Questions) -> Cases | None:
    """Look at all rankings together; None where they must be read one by one after all."""
    try:
        blocks = plain_blocks(request.retrieval.rankings)
        first = next(blocks)  # before the questions are read: most runs that are not plain show it at once
        together = _Together(questions)
        for block in chain((first,), blocks):
            together.meet(block)
        return together.finish()
    except NotPlainError:
        return None


class _Together:
    """The questions first, then the rankings block by block."""

    def __init__(self, questions: _Questions) -> None:
        self._cases = questions.cases
        self._position = questions.position
        self._judged = JudgedIds()
        self._non_relevant: dict[str, Sequence[str]] = {}
        numbers = array("i")
        for question, gold in questions:
            if not (questions.asks_all or questions.asked(question)):
                numbers.append(_NOT_ASKED)
                continue
            if question.non_relevant:
                self._non_relevant[question.id] = question.non_relevant
            if self._cases.exclude(question, gold) is None:
                numbers.append(self._cases.begin(question, gold))
                self._judged.add(gold.grades)
            else:
                numbers.append(_EXCLUDED)
        self._numbers = np.asarray(numbers)
        self._has_ranking = np.zeros(len(numbers), dtype=np.bool_)
        self._unknown: set[str] = set()

    def meet(self, block: Block) -> None:
        """Account for some rankings.

        Raises:
            NotPlainError: A question has two of them.
        """
        names = block.questions()
        position = np.array([self._position.get(name, _UNKNOWN) for name in names])
        self._note(names, position)
        number = np.where(position == _UNKNOWN, _NOT_ASKED, self._numbers[position])
        seen = look(block, number, self._judged)
        asked, scored = number != _NOT_ASKED, number >= 0
        rankings = self._cases.rankings
        rankings.set_returned(number[scored], block.count[scored])
        rankings.find_judged(number[seen.ranking], seen.rank, seen.judged)
        self._cases.count(int(asked.sum()), shown=int(np.minimum(block.count[asked], self._cases.largest_k).sum()))
        repeating = set(seen.repeating.tolist())
        watched = {i for i, name in enumerate(names) if name in self._non_relevant} if self._non_relevant else set()
        for i in sorted(watched | repeating):
            if asked[i]:
                ranking = Retrieved(block.ids(i))
                self._cases.watch(names[i], ranking, known_false=self._non_relevant.get(names[i], ()))
                if i in repeating and scored[i]:
                    self._find(int(number[i]), ranking)

    def finish(self) -> Cases:
        """All of it, in the order of the data set.

        Raises:
            NotPlainError: No ranking belongs to a known question.
        """
        if not self._has_ranking.any():
            raise NotPlainError
        cases = self._cases
        missing = self._numbers[~self._has_ranking & (self._numbers >= 0)]
        cases.missing = [cases.eligible[number] for number in missing.tolist()]
        cases.unknown = len(self._unknown)
        for noted in (cases.duplicates, cases.false_positives):
            in_order = sorted(noted.items(), key=lambda item: self._position[item[0]])
            noted.clear()
            noted.update(in_order)
        return cases

    def _note(self, names: list[str], position: Integers) -> None:
        """Note which questions have a ranking."""
        known = position[position != _UNKNOWN]
        unknown = [name for name, at in zip(names, position.tolist(), strict=True) if at == _UNKNOWN]
        before = int(self._has_ranking.sum()) + len(self._unknown)
        self._has_ranking[known] = True
        self._unknown.update(unknown)
        if int(self._has_ranking.sum()) + len(self._unknown) != before + len(names):
            raise NotPlainError

    def _find(self, number: int, ranking: Retrieved) -> None:
        """Find the judged ids of a ranking in which an id stands twice."""
        place_of = {name: place for place, name in enumerate(self._judged.names(number))}
        sighting = sight(ranking, place_of)
        first = self._judged.first(number)
        judged = [first + place_of[name] for name in sighting.found]
        self._cases.rankings.find_judged(
            np.full(len(judged), number), np.array(sighting.ranks, dtype=np.int64), np.array(judged, dtype=np.int64)
        )


def _mapping_of(dataset: LazyDataset) -> Mapped:
    try:
        return read_mapping(dataset)
    except BefundError as error:
        error.move_below("/dataset")
        raise


def _filters(request: LazyRetrieveEvalRequest) -> str:
    split = f"is in split {request.split!r}" if request.split is not None else ""
    tags = f"has one of the tags {', '.join(map(repr, request.tags))}" if request.tags else ""
    return " and ".join(filter(None, (split, tags)))
