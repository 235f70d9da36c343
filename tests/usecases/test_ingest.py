from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from befund.adapters.front_matter import read_front_matter
from befund.adapters.splitter import split_markdown
from befund.contract import IngestCounts, IngestRequest, IngestResponse, SkippedDocument
from befund.core.errors import ConflictError, ContradictionError, DependencyError
from befund.ports import Collection, EmbedderIdentity
from befund.usecases.ingest import Ingestion

pytestmark = pytest.mark.anyio

SHORT = "# Limits\n\nTen devices."
LONG = "\n\n".join(f"Paragraph {number} of a document with several chunks." for number in range(1, 31))
SMALL = {"max_characters": 100}

Ingest = Callable[..., Any]


@pytest.fixture
def ingest(index: Any, embedder: Any) -> Ingest:
    """Ingests documents given as `id=text` into the collection `docs`."""
    ingestion = Ingestion(index, embedder, split=split_markdown, front_matter=read_front_matter)

    async def ingest(documents: dict[str, Any], **options: Any) -> IngestResponse:
        listed = [
            {"id": name, **(given if isinstance(given, dict) else {"text": given})} for name, given in documents.items()
        ]
        request = msgspec.convert({"documents": listed, **options}, IngestRequest)
        return await ingestion.ingest("docs", request)

    return ingest


def counts(**given: Any) -> IngestCounts:
    return IngestCounts(**({"added": 0, "changed": 0, "unchanged": 0, "removed": 0, "skipped": []} | given))


def texts(index: Any) -> dict[str, str]:
    return {chunk.id: chunk.text for chunk in index.held_chunks["docs"].values()}


async def test_a_document_becomes_chunks_that_know_where_they_come_from(index: Any, ingest: Ingest) -> None:
    text = "---\nid: ignored\ntitle: Limits\nroles: partner, staff\n---\n# Limits\n\nTen devices."
    answer = await ingest({"guide/limits": text})
    assert answer.documents == counts(added=1)
    assert (answer.collection, answer.chunks, answer.embedder, answer.chunking) == (
        "docs",
        1,
        "counting/2",
        "markdown/700/0",
    )
    (chunk,) = index.held_chunks["docs"].values()
    assert (chunk.id, chunk.text) == ("guide/limits-chunk-1", "# Limits\n\nTen devices.")
    content = chunk.metadata.pop("content")
    assert content.startswith("sha256:")
    assert chunk.metadata == {
        "title": "Limits",
        "roles": ["partner", "staff"],
        "document": "guide/limits",
        "number": 1,
        "chunks": 1,
        "start": 56,
        "end": 78,
    }
    assert text[56:78] == chunk.text


async def test_metadata_that_is_sent_wins_over_the_front_matter(index: Any, ingest: Ingest) -> None:
    await ingest({"D1": {"text": "---\nversion: 1\ntitle: A\n---\nText.", "metadata": {"version": "2"}}})
    (chunk,) = index.held_chunks["docs"].values()
    assert (chunk.metadata["version"], chunk.metadata["title"]) == ("2", "A")


async def test_the_same_documents_again_are_not_embedded_again(embedder: Any, ingest: Ingest) -> None:
    first = await ingest({"D1": SHORT, "D2": LONG})
    embedded = len(embedder.embedded)
    again = await ingest({"D2": LONG.replace("\n", "\r\n"), "D1": "\ufeff" + SHORT})
    assert again.documents == counts(unchanged=2)
    assert (again.corpus, again.chunks) == (first.corpus, first.chunks)
    assert len(embedder.embedded) == embedded


async def test_a_changed_document_is_replaced_and_its_surplus_chunks_go(index: Any, ingest: Ingest) -> None:
    before = await ingest({"D1": LONG, "D2": SHORT}, chunking=SMALL)
    assert len([name for name in texts(index) if name.startswith("D1-")]) > 10
    answer = await ingest({"D1": "One paragraph."}, chunking=SMALL)
    assert answer.documents == counts(changed=1)
    assert texts(index) == {"D1-chunk-1": "One paragraph.", "D2-chunk-1": SHORT}
    assert answer.corpus != before.corpus


async def test_changed_metadata_is_a_change(index: Any, ingest: Ingest) -> None:
    await ingest({"D1": {"text": SHORT, "metadata": {"roles": ["staff"]}}})
    answer = await ingest({"D1": {"text": SHORT, "metadata": {"roles": ["staff", "partner"]}}})
    assert answer.documents == counts(changed=1)
    assert index.held_chunks["docs"]["D1-chunk-1"].metadata["roles"] == ["staff", "partner"]


async def test_documents_that_are_not_sent_stay(index: Any, ingest: Ingest) -> None:
    await ingest({"D1": SHORT})
    assert (await ingest({"D2": SHORT})).documents == counts(added=1)
    assert set(texts(index)) == {"D1-chunk-1", "D2-chunk-1"}


async def test_prune_removes_what_is_neither_sent_nor_kept(index: Any, ingest: Ingest) -> None:
    await ingest({"D1": SHORT, "D2": SHORT, "D3": LONG})
    answer = await ingest({"D1": SHORT}, prune=True, keep=["D2"])
    assert answer.documents == counts(unchanged=1, removed=1)
    assert set(texts(index)) == {"D1-chunk-1", "D2-chunk-1"}


async def test_the_corpus_is_the_same_however_it_came_about(ingest: Ingest, index: Any) -> None:
    whole = (await ingest({"D1": SHORT, "D2": LONG})).corpus
    await ingest({}, prune=True)
    await ingest({"D3": SHORT, "D2": LONG})
    assert (await ingest({"D1": SHORT}, prune=True, keep=["D2"])).corpus == whole
    assert (await index.collection("docs")).corpus == whole


async def test_no_corpus_is_recorded_while_more_documents_follow(index: Any, ingest: Ingest) -> None:
    assert (await ingest({"D1": SHORT}, more=True)).corpus is None
    assert (await index.collection("docs")).corpus is None
    assert (await ingest({"D2": SHORT})).corpus is not None


async def test_more_to_follow_does_not_take_away_a_corpus_that_is_still_true(index: Any, ingest: Ingest) -> None:
    whole = (await ingest({"D1": SHORT})).corpus
    await ingest({"D1": SHORT}, more=True)
    assert (await index.collection("docs")).corpus == whole


@pytest.mark.parametrize("text", ["", " \n\t\n", "---\nid: D1\n---\n", "?!"])
async def test_a_document_without_text_is_skipped_and_said(index: Any, ingest: Ingest, text: str) -> None:
    answer = await ingest({"D1": text, "D2": SHORT})
    assert answer.documents == counts(added=1, skipped=[SkippedDocument(id="D1", reason="it has no text")])
    assert set(texts(index)) == {"D2-chunk-1"}


async def test_a_document_that_has_lost_its_text_goes(index: Any, ingest: Ingest) -> None:
    await ingest({"D1": LONG, "D2": SHORT})
    answer = await ingest({"D1": ""})
    assert answer.documents == counts(removed=1, skipped=[SkippedDocument(id="D1", reason="it has no text")])
    assert set(texts(index)) == {"D2-chunk-1"}


async def test_a_document_whose_front_matter_is_broken_is_said_and_stays_as_it_was(index: Any, ingest: Ingest) -> None:
    await ingest({"D1": SHORT})
    answer = await ingest({"D1": "---\nroles: [staff\n---\nText."})
    ((skipped,),) = [answer.documents.skipped]
    assert skipped.id == "D1"
    assert skipped.reason.startswith("the front matter is not YAML")
    assert texts(index) == {"D1-chunk-1": SHORT}


@pytest.mark.parametrize("name", ["$schema", "$id", "#id", "chroma:document"])
async def test_a_document_with_a_field_that_the_index_cannot_hold_is_said(
    index: Any, ingest: Ingest, name: str
) -> None:
    given = {"text": SHORT, "metadata": {name: 1}}
    answer = await ingest({"D1": f'---\n"{name}": x\n---\nText.', "D2": given, "D3": SHORT})
    assert answer.documents.added == 1
    reason = f"its field {name!r} cannot be stored: names with $, #, chroma: are the index's own"
    assert [each.reason for each in answer.documents.skipped] == [reason] * 2


async def test_a_collection_that_is_deleted_meanwhile_is_a_conflict(index: Any, ingest: Ingest) -> None:
    class DeletedBeforeWriting(type(index)):  # type: ignore[misc]
        async def write(self, name: str, *written: Any) -> None:
            await self.drop(name)
            await self.collection(name)

    index.__class__ = DeletedBeforeWriting
    with pytest.raises(ConflictError, match=r"deleted while .* Send them again") as raised:
        await ingest({"D1": SHORT})
    assert raised.value.code == "collection-deleted"


async def test_a_chunk_that_cannot_be_embedded_spoils_only_itself(index: Any, embedder: Any, ingest: Ingest) -> None:
    document = f"{'a' * 90}\n\n?!\n\n{'b' * 99}\n\n{'c' * 99}"
    answer = await ingest({"D1": document, "D2": SHORT}, chunking={"max_characters": 92})
    assert answer.documents == counts(added=2)
    assert "?!" not in texts(index).values()
    embedded = len(embedder.embedded)
    assert (await ingest({"D1": document, "D2": SHORT})).documents == counts(unchanged=2)
    assert len(embedder.embedded) == embedded


async def test_an_id_that_leaves_no_room_for_those_of_its_chunks_is_said(index: Any, ingest: Ingest) -> None:
    answer = await ingest({"x" * 505: SHORT, "y" * 504: SHORT, "z" * 505: SHORT})
    assert answer.documents.added == 1
    assert [skipped.reason for skipped in answer.documents.skipped] == [
        "its chunks would have ids of over 512 characters"
    ] * 2


async def test_a_document_that_stands_twice_is_refused(ingest: Ingest, index: Any, embedder: Any) -> None:
    request = msgspec.convert({"documents": [{"id": "D1", "text": "A."}, {"id": "D1", "text": "B."}]}, IngestRequest)
    ingestion = Ingestion(index, embedder, split=split_markdown, front_matter=read_front_matter)
    with pytest.raises(ContradictionError) as raised:
        await ingestion.ingest("docs", request)
    assert (raised.value.code, raised.value.places[0].pointer) == ("document-twice", "/documents/1/id")


async def test_no_documents_are_refused_so_that_a_mistake_does_not_make_an_empty_collection(ingest: Ingest) -> None:
    with pytest.raises(ContradictionError, match="no documents"):
        await ingest({})


async def test_an_overlap_as_large_as_a_chunk_is_refused(ingest: Ingest) -> None:
    with pytest.raises(ContradictionError, match="overlap"):
        await ingest({"D1": SHORT}, chunking={"max_characters": 10, "overlap": 10})


async def test_nothing_is_removed_while_more_documents_follow(ingest: Ingest, index: Any) -> None:
    await ingest({"D1": SHORT, "D2": SHORT})
    await ingest({"D1": SHORT}, replace=True, more=True)
    assert set(texts(index)) == {"D1-chunk-1", "D2-chunk-1"}


async def test_another_chunking_is_a_conflict(ingest: Ingest, index: Any) -> None:
    await ingest({"D1": LONG})
    before = texts(index)
    with pytest.raises(ConflictError, match=r"markdown/700/0.*markdown/100/0") as raised:
        await ingest({"D1": LONG}, chunking=SMALL)
    assert raised.value.code == "chunking-mismatch"
    assert texts(index) == before


async def test_without_a_chunking_the_collections_own_is_used(ingest: Ingest) -> None:
    await ingest({"D1": LONG}, chunking=SMALL)
    answer = await ingest({"D2": LONG})
    assert (answer.chunking, answer.documents) == ("markdown/100/0", counts(added=1))


async def test_replace_makes_a_collection_anew_with_another_chunking(ingest: Ingest, index: Any) -> None:
    await ingest({"D1": LONG, "D2": SHORT})
    answer = await ingest({"D1": LONG}, chunking=SMALL, replace=True)
    assert (answer.chunking, answer.documents) == ("markdown/100/0", counts(added=1))
    assert "D2-chunk-1" not in texts(index)


async def test_replace_does_not_embed_again_what_is_there_as_it_should_be(ingest: Ingest, embedder: Any) -> None:
    await ingest({"D1": LONG, "D2": SHORT})
    embedded = len(embedder.embedded)
    answer = await ingest({"D1": LONG}, replace=True)
    assert answer.documents == counts(unchanged=1, removed=1)
    assert len(embedder.embedded) == embedded


async def test_another_embedder_is_a_conflict_that_names_both(ingest: Ingest, index: Any, embedder: Any) -> None:
    await ingest({"D1": SHORT})
    embedder.name = "other/2"
    with pytest.raises(ConflictError, match=r"counting/2.*other/2") as raised:
        await ingest({"D2": SHORT})
    assert raised.value.code == "embedder-mismatch"


async def test_an_embedder_that_nobody_recorded_is_a_conflict(ingest: Ingest, index: Any) -> None:
    await index.create("docs", embedder=EmbedderIdentity("x", 2), chunking="x")
    index.described["docs"] = Collection("docs", 0, None, 2, None, None, uses_roles=False)
    with pytest.raises(ConflictError, match="nobody recorded"):
        await ingest({"D1": SHORT})


async def test_an_empty_collection_of_ours_takes_any_chunking(ingest: Ingest) -> None:
    await ingest({"D1": SHORT})
    await ingest({}, prune=True)
    assert (await ingest({"D1": LONG}, chunking=SMALL)).chunking == "markdown/100/0"


async def test_wherever_it_breaks_off_the_corpus_is_not_claimed_and_a_second_time_completes_it(
    index: Any, ingest: Ingest
) -> None:
    before = {"D1": LONG, "D2": SHORT, "D3": LONG, "D4": LONG}
    after = {"D1": LONG.replace("several", "some"), "D2": LONG, "D3": SHORT, "D5": LONG}
    await ingest(after, chunking=SMALL)
    wanted, corpus = texts(index), (await index.collection("docs")).corpus
    broken = 0
    for calls in range(200):
        await ingest(before, chunking=SMALL, prune=True)
        index.calls_left = calls
        try:
            await ingest(after, prune=True)
        except DependencyError:
            broken += 1
            if texts(index) != wanted:
                assert (await index.collection("docs")).corpus != corpus
        index.calls_left = None
        assert (await ingest(after, prune=True)).corpus == corpus
        assert texts(index) == wanted
    assert 60 < broken < 200


async def test_a_request_about_other_documents_does_not_claim_the_corpus_of_one_that_broke_off(
    index: Any, ingest: Ingest
) -> None:
    await ingest({"D1": LONG}, chunking=SMALL)
    index.calls_left = 3
    with pytest.raises(DependencyError):
        await ingest({"D1": LONG.replace("several", "some")})
    index.calls_left = None
    assert (await ingest({"D2": SHORT})).corpus is None
    assert (await ingest({"D1": LONG})).corpus is not None


async def test_documents_without_roles_are_counted_where_others_have_some(ingest: Ingest) -> None:
    assert (await ingest({"open": SHORT})).notes == []
    mixed = await ingest({"closed": f"---\nroles: [staff]\n---\n{SHORT}", "nobody": f"---\nroles: []\n---\n{SHORT}"})
    again = await ingest({"open": SHORT})
    assert mixed.notes == again.notes == ["1 of 3 documents names no role: denied to every role"]
    assert (await ingest({"faq": SHORT})).notes == ["2 of 4 documents name no role: denied to every role"]
