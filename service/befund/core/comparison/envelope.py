"""A comparison as callers send it, with its large parts unread."""

from collections.abc import Sequence

import msgspec
from msgspec import Raw

from befund.contract import CompareOptions, DatasetReference, SideOptions
from befund.core.decoding import decode
from befund.core.errors import ContradictionError
from befund.core.repeated import refuse_repeated_fields, without
from befund.core.retrieval.envelope import NO_RANKINGS, LazyDataset, by_question
from befund.core.retrieval.run import Run as Rankings

SIDES = ("baseline", "candidate")


class LazySide(SideOptions, frozen=True, kw_only=True):
    """`CompareSide` with its rankings unread."""

    rankings: Raw = NO_RANKINGS

    @property
    def has_rankings(self) -> bool:
        """Whether rankings were sent."""
        return bytes(self.rankings) != b"null"


class LazyCompareRequest(CompareOptions, frozen=True, kw_only=True):
    """`CompareRequest` with its large parts unread."""

    baseline: LazySide
    candidate: LazySide
    dataset: DatasetReference | LazyDataset | None = None

    @property
    def sides(self) -> tuple[LazySide, LazySide]:
        """Baseline and candidate."""
        return self.baseline, self.candidate


_REQUEST = msgspec.json.Decoder(LazyCompareRequest)


def read_compare_request(body: bytes) -> LazyCompareRequest:
    """The outer request.

    Raises:
        MalformedRequestError: The body does not decode, or names a field twice.
        ContradictionError: A side is not exactly one of a run and rankings, or inline rankings have no data set.
    """
    request = decode(body, _REQUEST)
    questions: Sequence[Raw] = request.dataset.questions if isinstance(request.dataset, LazyDataset) else []
    raw = [[side.rankings] for side in request.sides if side.has_rankings]
    refuse_repeated_fields(without(body, questions, *raw), LazyCompareRequest)
    for name, side in zip(SIDES, request.sides, strict=True):
        if (side.run is not None) == side.has_rankings:
            raise ContradictionError.at(
                f"/{name}", "run-or-rankings", f"Give exactly one of {name}.run and {name}.rankings."
            )
        if side.run is not None and side.config:
            raise ContradictionError.at(
                f"/{name}/config", "config-of-run", f"Run {side.run!r} has its own config. Leave {name}.config out."
            )
    if request.dataset is None and all(side.has_rankings for side in request.sides):
        raise ContradictionError.at(
            "/dataset", "dataset-missing", "Rankings need questions to be measured on. Send dataset, or its name."
        )
    return request


def rankings_of(side: LazySide, name: str) -> Rankings:
    """The rankings that one side brings."""
    pointer = f"/{name}/rankings"
    return Rankings(by_question(side.rankings, pointer=pointer), pointer=pointer)
