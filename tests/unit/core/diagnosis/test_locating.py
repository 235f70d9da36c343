from befund.core.corpus import Chunk
from befund.core.diagnosis.gold import Wanted
from befund.core.diagnosis.locating import document_of, documents_to_read, located
from befund.core.diagnosis.trace import Trace

QUOTE = "retried for 72 hours"


def wanted(*chunks: str, quote: str | None = QUOTE) -> Wanted:
    return Wanted(id="E1", grade=1.0, chunks=chunks, document="D1", quote=quote)


def found(each: Wanted, **texts: str) -> Trace:
    chunks, at = [], 0
    for id_, text in texts.items():
        chunks.append(Chunk(id=id_, document="D1", text=text, start=at, end=at + len(text)))
        at += len(text) + 1
    return located(each, "D1", ids=texts.keys(), chunks=chunks, held=())


def places(trace: Trace) -> list[tuple[str, bool]]:
    return [(place.chunk, place.held) for place in trace.places]


def test_a_quote_in_another_chunk() -> None:
    trace = found(wanted("c1"), c1="Webhooks.", c2=f"It is {QUOTE}.")
    assert (trace.text, places(trace)) == ("elsewhere", [("c2", True)])


def test_a_quote_that_is_cut_over_two() -> None:
    trace = found(wanted("c1"), c1="It is retried for", c2="72 hours.")
    assert (trace.text, places(trace)) == ("split", [("c1", True), ("c2", True)])


def test_a_quote_that_is_nowhere() -> None:
    trace = found(wanted("c1"), c1="It is.", c2="Hours.")
    assert (trace.text, places(trace)) == ("lost", [("c1", True)])


def test_a_chunk_that_is_gone_with_its_quote() -> None:
    trace = found(wanted("c1"), c2="Hours.")
    assert (trace.text, places(trace), trace.document_held) == ("unread", [("c1", False)], True)


def test_a_half_that_is_gone() -> None:
    trace = found(wanted("c1", "c2"), c1="It is retried for")
    assert (trace.text, places(trace)) == ("split", [("c1", True), ("c2", False)])


def test_a_copy_that_is_left() -> None:
    trace = found(wanted("c1", "c2"), c2=f"It is {QUOTE}.")
    assert (trace.text, places(trace)) == ("whole", [("c2", True)])


def test_a_document_that_is_gone() -> None:
    trace = found(wanted("c1"))
    assert (trace.text, places(trace), trace.document_held) == ("unread", [("c1", False)], False)


def test_only_what_is_not_in_its_place_is_looked_for() -> None:
    texts = {"c1": f"It is {QUOTE}.", "c2": "Hours.", "c3": None, "gone": None}
    in_place = [wanted("c1"), wanted("c2", "c1"), wanted("c2", quote=None), wanted("c3")]
    elsewhere = [wanted("c2"), wanted("gone"), wanted()]
    assert list(documents_to_read([*in_place, *elsewhere], texts, {"c1", "c2", "c3"})) == elsewhere


def test_a_document_is_known_from_evidence_metadata_or_id() -> None:
    named = Wanted(id="E1", grade=1.0, chunks=["D3-chunk-1"])
    assert document_of(wanted("D3-chunk-1"), {"document": "D2"}) == "D1"
    assert document_of(named, {"document": "D2"}) == "D2"
    assert document_of(named, {}) == "D3"
    assert document_of(Wanted(id="E1", grade=1.0, chunks=["7"]), {}) is None
