"""Quotes found again in chunks. The chunks are small enough to see where each quote lies."""

from befund.core.corpus import Chunk
from befund.core.evidence_mapping import Mapped, Quoted, map_evidence


def chunks(document: str, text: str, *spans: tuple[int, int]) -> list[Chunk]:
    return [
        Chunk(id=f"{document}-chunk-{number}", document=document, text=text[start:end], start=start, end=end)
        for number, (start, end) in enumerate(spans, start=1)
    ]


def find(quote: str, *given: Chunk, document: str | None = "D1") -> Mapped:
    return map_evidence([Quoted(id="E1", quote=quote, document=document)], given)


TEXT = "It is retried\nfor 72 hours.\n\nThen it\tis moved."
WHOLE = chunks("D1", TEXT, (0, 27), (29, 46))


def test_a_quote_is_found_with_whitespace_folded() -> None:
    assert find("retried for  72 hours.", *WHOLE).chunks == {"E1": ["D1-chunk-1"]}


def test_case_is_not_folded() -> None:
    assert find("it is retried", *WHOLE).missing == ["E1"]


def test_a_quote_cut_in_two_maps_to_both_halves() -> None:
    found = find("72 hours. Then it", *WHOLE)
    assert (found.chunks, found.cut) == ({"E1": ["D1-chunk-1", "D1-chunk-2"]}, ["E1"])


def test_a_quote_cut_in_four_maps_to_all_four() -> None:
    pieces = chunks("D1", TEXT, (0, 13), (14, 20), (21, 27), (29, 46))
    assert find("retried for 72 hours. Then", *pieces).chunks == {
        "E1": ["D1-chunk-1", "D1-chunk-2", "D1-chunk-3", "D1-chunk-4"]
    }


def test_a_quote_cut_within_a_word() -> None:
    pieces = chunks("D1", TEXT, (0, 10), (10, 27), (29, 46))
    assert find("retried for", *pieces).chunks == {"E1": ["D1-chunk-1", "D1-chunk-2"]}


def test_a_quote_in_the_overlap_of_two_chunks_maps_to_both_and_is_not_cut() -> None:
    pieces = chunks("D1", TEXT, (0, 27), (14, 46))
    found = find("for 72 hours.", *pieces)
    assert (found.chunks, found.cut) == ({"E1": ["D1-chunk-1", "D1-chunk-2"]}, [])


def test_a_quote_that_reaches_beyond_the_overlap_maps_to_both() -> None:
    pieces = chunks("D1", TEXT, (0, 20), (14, 46))
    found = find("retried for 72 hours", *pieces)
    assert (found.chunks, found.cut) == ({"E1": ["D1-chunk-1", "D1-chunk-2"]}, ["E1"])


def test_a_chunk_that_lies_within_another_takes_nothing_from_it() -> None:
    pieces = chunks("D1", TEXT, (0, 27), (6, 13), (29, 46))
    assert find("for 72 hours.", *pieces).chunks == {"E1": ["D1-chunk-1"]}
    assert find("retried", *pieces).chunks == {"E1": ["D1-chunk-1", "D1-chunk-2"]}


def test_a_quote_that_stands_twice_maps_to_all_chunks_that_hold_it_whole() -> None:
    pieces = chunks("D1", "Ten devices. Or: Ten devices.", (0, 12), (13, 16), (17, 29))
    assert find("Ten devices.", *pieces).chunks == {"E1": ["D1-chunk-1", "D1-chunk-3"]}


def test_the_order_in_which_chunks_come_does_not_matter() -> None:
    assert find("72 hours. Then it", *reversed(WHOLE)).chunks == {"E1": ["D1-chunk-1", "D1-chunk-2"]}


def test_only_the_document_named_is_searched() -> None:
    other = chunks("D2", TEXT, (0, 46))
    found = find("72 hours", *other)
    assert (found.chunks, found.missing, found.other_document) == ({}, ["E1"], {"E1": "D2"})


def test_without_a_document_every_one_is_searched() -> None:
    assert find("72 hours", *WHOLE, *chunks("D2", TEXT, (0, 46)), document=None).chunks == {
        "E1": ["D1-chunk-1", "D2-chunk-1"]
    }


def test_a_quote_does_not_reach_from_one_document_into_the_next() -> None:
    pieces = [*chunks("D1", "It ends", (0, 7)), *chunks("D2", "here.", (0, 5))]
    assert find("ends here.", *pieces, document=None).missing == ["E1"]


def test_a_blank_quote_is_not_found() -> None:
    assert find(" \n", *WHOLE).missing == ["E1"]


def test_nothing_is_found_where_there_are_no_chunks() -> None:
    assert find("72 hours").missing == ["E1"]


def test_a_blank_chunk_holds_nothing() -> None:
    pieces = chunks("D1", "One.  \n  Two.", (0, 4), (4, 9), (9, 13))
    assert find("One. Two.", *pieces).chunks == {"E1": ["D1-chunk-1", "D1-chunk-3"]}
