"""What the store adds to a retrieval evaluation: the data set by name, the run it is kept under, the answer given once.

Evaluations run in threads and the store on the event loop; `wait` leads from one to the other.
"""

import math
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar, cast

import msgspec
import numpy as np
from msgspec import Raw, Struct

from befund.contract import Content, Exclusion, Finding, RetrieveEvalResponse
from befund.core.datasets import Edition, edition_of
from befund.core.eligibility import Gold, gold_of
from befund.core.errors import BefundError, ConflictError, ContradictionError
from befund.core.retrieval.cases import Cases
from befund.core.retrieval.envelope import (
    LazyDataset,
    LazyRetrieveEvalRequest,
    read_mapping,
    read_questions,
    read_ranking,
    read_rankings,
)
from befund.core.retrieval.measurement import Measurement
from befund.core.retrieval.ranking import sight
from befund.core.runs import (
    LARGEST_CONFIG,
    RETRIEVAL,
    Figures,
    Identity,
    Record,
    StoredRetrieval,
    compared,
    missing_keys,
)
from befund.ports import Answered, RunWrite, Store
from befund.usecases.repetition import (
    Caller,
    answered_with,
    refuse_answered_meanwhile,
    request_hash,
    unanswered,
)

TEST_SPLIT = "test"
PORTION = 128
"""Records made and written at a time; the event loop is free in between."""

T = TypeVar("T")


class Wait(Protocol):
    """Waits in a thread for what the event loop does."""

    def __call__(self, call: Coroutine[Any, Any, T], /) -> T:
        """The result of the call, or its error."""
        ...


class Recorder(Struct, frozen=True):
    """The store as evaluations see it.

    Attributes:
        store: The store.
        content: Whether texts are kept.
        wait: The way from the evaluation's thread to the store.
        caller: Who asks.
        show: Told the figures of every run that was written.
    """

    store: Store
    content: Content
    wait: Wait
    caller: Caller
    show: Callable[[Figures], None]

    def begin(self, request: LazyRetrieveEvalRequest, body: bytes) -> "Recording":
        """Look up what the request names.

        Raises:
            AlreadyAnswered: It was carried out before.
            NotFoundError: There is no such data set.
            ContradictionError: Its idempotency key belongs to another request, or its configuration is too large.
        """
        if request.run is not None and len(msgspec.json.encode(request.config)) > LARGEST_CONFIG:
            raise ContradictionError.at(
                "/config", "config-too-large", f"The configuration of a run has at most {LARGEST_CONFIG} bytes."
            )
        stored = self.wait(self.store.dataset(request.dataset)) if isinstance(request.dataset, str) else None
        name = request.dataset.partition("@")[0] if isinstance(request.dataset, str) else None
        uses_test = stored is not None and (
            TEST_SPLIT in stored.version.splits if request.split is None else request.split == TEST_SPLIT
        )
        test_of = name if uses_test else None
        stores = request.run is not None or test_of is not None
        return Recording(
            recorder=self,
            request=request,
            stored=stored,
            name=name,
            test_of=test_of,
            times=self.wait(self.store.test_measurements(test_of)) if test_of is not None else 0,
            unanswered=self._unanswered(body) if stores else None,
        )

    def _unanswered(self, body: bytes) -> Answered | None:
        return self.wait(unanswered(self.store, self.caller, request_hash("/retrieve-eval", body)))


class Recording(Struct, frozen=True):
    """One evaluation, tied to the store.

    Attributes:
        recorder: Where it is kept.
        request: The request.
        stored: The stored data set it names; None for one sent inline.
        name: What that is called.
        test_of: The data set whose test split is measured.
        times: How often it was measured before.
        unanswered: What to remember of the request; None where nothing is.
    """

    recorder: Recorder
    request: LazyRetrieveEvalRequest
    stored: Edition | None
    name: str | None
    test_of: str | None
    times: int
    unanswered: Answered | None

    def dataset(self) -> LazyDataset | None:
        """The stored data set, where one is named."""
        return None if self.stored is None else self.stored.dataset(self.name)

    def findings(self, config: Mapping[str, Any]) -> Iterator[Finding]:
        """What the store knows that a reader should know too."""
        if self.times:
            often = "once" if self.times == 1 else f"{self.times} times"
            yield Finding(
                code="TEST_SPLIT_REUSED",
                message=f"The test split of {self.test_of!r} has been measured {often} before on this service: the "
                "more often it decides, the less it proves. Choose on another split, and measure this one last.",
            )
        missing = missing_keys(config) if self.request.run is not None else []
        if missing:
            yield Finding(
                code="CONFIG_INCOMPLETE",
                message=f"The run's config does not say {', '.join(missing)}: a later comparison cannot tell whether "
                "they differ.",
            )

    def keep(self, measurement: Measurement, response: RetrieveEvalResponse, *, tokens: Mapping[str, int] = {}) -> None:
        """Store everything that is to be stored, all of it or nothing.

        Args:
            measurement: What was measured.
            response: The answer.
            tokens: How many tokens chunks have, as far as it is known.

        Raises:
            ConflictError: The run is stored and differs.
            AlreadyAnswered: The same request was answered meanwhile.
        """
        recorder = self.recorder
        write = None if self.request.run is None else self._write(self.request.run, measurement, response, tokens)
        if write is None and self.test_of is None:
            return
        answered = None if self.unanswered is None else answered_with(self.unanswered, msgspec.json.encode(response))
        try:
            recorder.wait(recorder.store.write_run(write, answered=answered, measured_test_of=self.test_of))
        except ConflictError as error:
            if error.code == "answered-meanwhile":
                recorder.wait(refuse_answered_meanwhile(recorder.store, self.unanswered))
            raise
        if write is not None and not self.request.tags:
            recorder.show(Figures(write.name, self.name, self.request.split, response.metrics))

    def _write(
        self, run: str, measurement: Measurement, response: RetrieveEvalResponse, tokens: Mapping[str, int]
    ) -> RunWrite:
        edition = self.stored
        if edition is None:
            edition = _inline_edition(measurement.dataset, self.recorder.content)
        request = measurement.request  # with the rankings of a live search, where there was one
        rankings = cast(Mapping[str, Raw], read_rankings(request))
        return RunWrite(
            name=run,
            identity=Identity(
                version=edition.version.hash,
                config=compared(response.config),
                measured={
                    "level": request.level,
                    "gain": request.gain,
                    "relevance_level": request.relevance_level,
                },
            ),
            dataset_name=self.name,
            edition=None if self.stored is not None else edition,
            records=_records(edition, measurement, rankings, tokens),
            replace=request.replace_run,
        )


def _inline_edition(dataset: LazyDataset, content: Content) -> Edition:
    try:
        return edition_of(dataset, content=content)
    except BefundError as error:
        error.move_below("/dataset")
        raise


def _records(
    edition: Edition, measurement: Measurement, rankings: Mapping[str, Raw], tokens: Mapping[str, int]
) -> Iterator[Sequence[Record]]:
    """A record for every question that was selected, in portions."""
    cases = measurement.cases
    names = [str(metric) for metric in measurement.values]
    table = np.column_stack(list(measurement.values.values())) if names else np.zeros((len(cases.eligible), 0))
    row_of = {question: row for row, question in enumerate(cases.eligible)}
    reason_of = {question: reason for reason, excluded in cases.excluded.items() for question in excluded}
    dataset = edition.dataset()
    mapping, read = read_mapping(dataset), read_questions(dataset.questions)
    portion: list[Record] = []
    for position, (kept, (question, grades)) in enumerate(zip(edition.questions, read, strict=True)):
        row = row_of.get(kept.id)
        if row is None and kept.id not in reason_of:
            continue
        values = () if row is None else map(_or_null, table[row].tolist())
        gold = gold_of(question, grades, mapping, relevance_level=cases.relevance_level)
        found = _retrieval(
            kept.id,
            rankings.get(kept.id),
            gold,
            cases,
            metrics={} if row is None else dict(zip(names, values, strict=True)),
            excluded=reason_of.get(kept.id),
            tokens=tokens,
        )
        portion.append(
            Record(
                question_id=kept.id,
                question_hash=kept.hash,
                position=position,
                part=RETRIEVAL,
                json=msgspec.json.encode(found),
            )
        )
        if len(portion) == PORTION:
            yield portion
            portion = []
    yield portion


def _retrieval(
    question: str,
    raw: Raw | None,
    gold: Gold,
    cases: Cases,
    *,
    metrics: dict[str, float | None],
    excluded: Exclusion | None,
    tokens: Mapping[str, int],
) -> StoredRetrieval:
    ranks: list[int] = []
    counted: list[int] | None = None
    if raw is not None:
        ranking = read_ranking(raw)
        sighting = sight(ranking, gold.grades)
        if tokens and all(chunk in tokens for chunk in ranking.ids):
            counted = [tokens[chunk] for chunk in ranking.ids]
        pairs = zip(sighting.found, sighting.ranks, strict=True)
        ranks = [rank for chunk, rank in pairs if gold.grades[chunk] >= cases.relevance_level]
    return StoredRetrieval(
        ranking=None if raw is None else _entries(raw),
        relevant=dict(gold.grades),
        evidence=dict(gold.evidence),
        unmapped=list(gold.unmapped),
        metrics=metrics,
        first_relevant_rank=min(ranks, default=None),
        excluded=excluded,
        acl_leaks=cases.leaks.get(question, []),
        known_false_positives=cases.false_positives.get(question, []),
        duplicates=cases.duplicates.get(question, []),
        tokens=counted,
    )


def _or_null(value: float) -> float | None:
    return None if math.isnan(value) else value


def _entries(raw: Raw) -> Raw:
    """A ranking as a list of entries on one line, in rank order."""
    text = bytes(raw)
    if not text.startswith(b"{"):
        return Raw(msgspec.json.format(text, indent=-1))
    scores = msgspec.json.decode(text, type=dict[str, float])
    return Raw(msgspec.json.encode([{"id": chunk, "score": scores[chunk]} for chunk in read_ranking(raw).ids]))
