"""Where the gold was lost: each stage by itself, from what was looked at to the cause."""

from collections.abc import Mapping
from typing import Any

from befund.contract import Cause, Stage
from befund.core.diagnosis.evidence import Evidence, FactPlace, Seen
from befund.core.diagnosis.gold import Wanted
from befund.core.diagnosis.trace import Place, Recorded, Trace
from befund.core.diagnosis.walk import Walk, walk

QUOTE = "retried for 72 hours"
E1 = Wanted(id="E1", grade=2.0, chunks=["g1"], document="D1", quote=QUOTE)


def lost(*wanted: Wanted) -> Evidence:
    """A context that states nothing of what it should."""
    gold = [Seen(each, False, "text") for each in wanted or (E1,)]
    return Evidence(False, "text", [FactPlace("72 hours")], gold)


def traced(place: Place | None = None, wanted: Wanted = E1, **about: Any) -> dict[str, Trace]:
    places = [place] if place is not None else about.pop("places", [])
    return {wanted.id: Trace(wanted=wanted, places=places, **({"text": "whole", "document": "D1"} | about))}


def held(chunk: str = "g1", **about: Any) -> Place:
    return Place(chunk=chunk, **({"text": f"A delivery is {QUOTE}."} | about))


def recorded(*retrieved: str, k: int = 5, context: Mapping[str, str | None] | None = None) -> Recorded:
    return Recorded(context=context or {"x": "Nothing."}, retrieved=retrieved or None, k=k)


def first(found: Walk) -> tuple[str, str]:
    return found.causes[0].code, found.causes[0].confidence


def states(found: Walk) -> list[str]:
    return [stage.state for stage in found.stages]


def stage(found: Walk, name: str) -> Stage:
    return next(stage for stage in found.stages if stage.stage == name)


def cause(found: Walk, code: str) -> Cause:
    return next(cause for cause in found.causes if cause.code == code)


def test_without_a_look_into_the_index_its_stages_are_not_probed() -> None:
    found = walk(lost(), None, recorded())
    assert first(found) == ("NOT_RETRIEVED", "inferred")
    assert states(found) == ["ok", "ok", "not_probed", "not_probed", "not_probed", "failed"]


def test_a_rank_below_a_number_that_nobody_said_is_inferred() -> None:
    told = Recorded(context={"x": "Nothing."}, k=1, k_is_told=False)
    found = walk(lost(), traced(held(rank=9)), told)
    assert first(found) == ("RANKED_BELOW_K", "inferred")
    assert found.causes[0].detail == "g1 is at rank 9, top_k, which nobody said, is taken to be 1"


def test_evidence_that_the_mapping_lacks() -> None:
    unmapped = Wanted(id="E1", grade=1.0, chunks=[], document="D1", quote=QUOTE, unmapped=True)
    found = walk(lost(unmapped), None, recorded())
    assert first(found) == ("UNMAPPED_EVIDENCE", "measured")
    assert states(found) == ["ok", "failed", "not_probed", "not_probed", "not_probed", "skipped"]


def test_a_mapping_of_another_chunking_names_where_the_quote_is_and_the_walk_goes_on_there() -> None:
    traces = traced(held("g7", rank=9), text="elsewhere")
    found = walk(lost(), traces, recorded())
    assert [each.code for each in found.causes] == ["UNMAPPED_EVIDENCE", "RANKED_BELOW_K"]
    assert found.causes[0].detail.startswith("evidence E1 is mapped to g1, but its quote stands in g7")


def test_a_quote_found_without_any_mapping_is_mapped() -> None:
    inline = Wanted(id="E1", grade=1.0, chunks=[], document="D1", quote=QUOTE)
    found = walk(lost(inline), traced(held("g7", rank=9), inline, text="elsewhere"), recorded())
    assert first(found) == ("RANKED_BELOW_K", "measured")
    assert stage(found, "mapping").detail == "found by its quote in g7"


def test_a_document_that_is_not_there() -> None:
    traces = traced(Place(chunk="g1", held=False), text="unread", document_held=False)
    found = walk(lost(), traces, recorded())
    assert first(found) == ("DOCUMENT_MISSING", "measured")
    assert states(found) == ["ok", "ok", "failed", "skipped", "skipped", "skipped"]


def test_a_chunk_that_is_not_there() -> None:
    traces = traced(Place(chunk="g1", held=False), text="unread", document_held=True)
    assert first(walk(lost(), traces, recorded())) == ("CHUNK_MISSING", "measured")


def test_a_text_that_lost_its_quote() -> None:
    found = walk(lost(), traced(held(rank=1), text="lost"), recorded())
    assert (first(found), found.causes[0].passage) == (("TEXT_LOST", "measured"), QUOTE)


def test_a_chunk_that_does_not_pass_the_filter_names_the_clause() -> None:
    place = held(clause={"version": "2.4"}, value="3.0")
    found = walk(lost(), traced(place), recorded())
    assert first(found) == ("FILTERED_OUT", "measured")
    assert found.causes[0].clause == {"version": "2.4"}
    assert found.causes[0].detail == 'g1 does not pass the clause {"version":"2.4"} of the filter; its version is "3.0"'
    assert states(found) == ["ok", "ok", "ok", "failed", "skipped", "skipped"]


def test_a_chunk_without_the_field_of_the_filter_says_so() -> None:
    found = walk(lost(E1), traced(held(clause={"tenant": "a"})), recorded())
    assert first(found) == ("FILTERED_OUT", "measured")
    assert found.causes[0].detail.endswith('the clause {"tenant":"a"} of the filter; it has no field tenant')


def test_a_rank_below_k() -> None:
    found = walk(lost(), traced(held(rank=9)), recorded())
    assert (first(found), found.causes[0].rank) == (("RANKED_BELOW_K", "measured"), 9)
    assert found.causes[0].detail == "g1 is at rank 9, top_k is 5"
    assert (stage(found, "ranking").rank, stage(found, "ranking").k) == (9, 5)


def test_a_rank_beyond_a_thousand_is_not_told_exactly() -> None:
    found = walk(lost(), traced(held(rank=1_001)), recorded())
    assert (found.causes[0].rank, found.causes[0].detail) == ("> 1000", "g1 is at a rank beyond 1000, top_k is 5")


def test_a_vector_that_is_not_the_texts_explains_its_rank() -> None:
    assert first(walk(lost(), traced(held(rank=90, likeness=0.02)), recorded())) == ("INDEX_UNREACHABLE", "measured")
    assert first(walk(lost(), traced(held(rank=90, likeness=0.999)), recorded())) == ("RANKED_BELOW_K", "measured")


def test_a_chunk_that_the_index_does_not_return_though_it_is_near() -> None:
    found = walk(lost(), traced(held(rank=2, returned=False, reachable=False)), recorded())
    assert first(found) == ("INDEX_UNREACHABLE", "measured")
    assert found.causes[0].detail.endswith("not even its own vector finds it")


def test_a_rank_in_the_answers_own_ranking_counts_over_that_of_the_index() -> None:
    found = walk(lost(), traced(held(rank=1)), recorded("x", "y", "g1", k=2))
    assert (first(found), found.causes[0].rank) == (("RANKED_BELOW_K", "measured"), 3)


def test_what_was_retrieved_and_did_not_reach_the_context() -> None:
    for traces in (
        None,
        traced(held(rank=2)),
        traced(Place(chunk="g1", held=False), text="unread", document_held=True),
    ):
        found = walk(lost(), traces, recorded("x", "g1"))
        assert (first(found), found.causes[0].rank) == (("DROPPED_FROM_CONTEXT", "measured"), 2)
        assert stage(found, "context").state == "failed"


def test_what_the_index_gives_and_nobody_says_was_retrieved() -> None:
    found = walk(lost(), traced(held(rank=2, returned=True)), recorded())
    assert first(found) == ("DROPPED_FROM_CONTEXT", "inferred")


def test_what_was_not_retrieved_though_the_index_gives_it() -> None:
    found = walk(lost(), traced(held(rank=2, returned=True)), recorded("x", "y"))
    assert first(found) == ("NOT_RETRIEVED", "measured")
    assert "though the index gives it at rank 2 now" in found.causes[0].detail


def test_a_chunk_that_is_cut_in_the_context() -> None:
    found = walk(lost(), traced(held(rank=1)), recorded("g1", context={"g1": "A delivery is"}))
    assert first(found) == ("DROPPED_FROM_CONTEXT", "measured")
    assert "cut or changed (13 of 35 characters)" in found.causes[0].detail
    assert first(walk(lost(), None, recorded(context={"g1": "A delivery is"}))) == ("DROPPED_FROM_CONTEXT", "inferred")


def test_a_quote_that_is_cut_over_chunks_of_which_one_arrived() -> None:
    places = [held("g1", text="A delivery is retried", rank=1), held("g2", text="for 72 hours.", rank=9)]
    found = walk(lost(), traced(places=places, text="split"), recorded("g1", context={"g1": "A delivery is retried"}))
    assert [each.code for each in found.causes] == ["SPLIT_ACROSS_CHUNKS", "RANKED_BELOW_K"]
    assert found.causes[0].detail.endswith("g1 reached the context without g2")


def test_a_quote_that_is_cut_over_chunks_of_which_none_arrived() -> None:
    places = [held("g1", rank=8), held("g2", rank=9)]
    found = walk(lost(), traced(places=places, text="split"), recorded())
    assert [each.code for each in found.causes] == ["RANKED_BELOW_K", "SPLIT_ACROSS_CHUNKS"]
    assert found.causes[0].chunk == "g2"


def test_of_several_chunks_with_the_quote_the_nearest_is_followed() -> None:
    places = [held("g1", rank=30), held("g2", rank=6)]
    assert walk(lost(), traced(places=places), recorded()).causes[0].chunk == "g2"


def test_the_highest_grade_is_followed_first_and_the_rest_contributes() -> None:
    e2 = Wanted(id="E2", grade=1.0, chunks=["g2"], document="D2", quote="for three days")
    traces = traced(held(rank=9)) | traced(
        Place(chunk="g2", held=False), e2, text="unread", document="D2", document_held=False
    )
    found = walk(lost(E1, e2), traces, recorded())
    assert [each.code for each in found.causes] == ["RANKED_BELOW_K", "DOCUMENT_MISSING"]


def test_a_part_of_the_facts_is_the_cause_where_nobody_looked_for_the_rest() -> None:
    facts = [FactPlace("72 hours", "c1", "72 hours"), FactPlace("30 seconds")]
    evidence = Evidence(False, "text", facts, [Seen(E1, False, "text")])
    found = walk(evidence, None, recorded())
    assert [each.code for each in found.causes] == ["PARTIAL_EVIDENCE", "NOT_RETRIEVED"]
    assert found.causes[0].detail == 'the context states "72 hours", but not "30 seconds"'
    looked = walk(evidence, traced(held(rank=9)), recorded())
    assert [each.code for each in looked.causes] == ["RANKED_BELOW_K", "PARTIAL_EVIDENCE"]


def test_without_known_gold_there_is_nothing_to_follow() -> None:
    found = walk(Evidence(False, "text", [FactPlace("72 hours")], []), None, recorded())
    assert first(found) == ("NOT_RETRIEVED", "inferred")
    assert 'nothing in the context states "72 hours"' in found.causes[0].detail


def test_what_arrived_has_no_cause_and_says_how_it_came() -> None:
    arrived = Evidence(True, "text", [FactPlace("72 hours", "g1", QUOTE)], [Seen(E1, True, "text")])
    found = walk(arrived, traced(held(rank=1)), recorded("g1", context={"g1": f"A delivery is {QUOTE}."}))
    assert (list(found.causes), states(found)) == ([], ["ok"] * 6)
    assert stage(found, "ranking").rank == 1
