"""Whether a run speaks of the same kind of id as the gold does."""

from befund.core.retrieval.envelope import (
    LazyDataset,
    LazyRetrieveEvalRequest,
    read_mapping,
    read_questions,
    read_ranking,
    read_rankings,
)


def no_known_id(request: LazyRetrieveEvalRequest, dataset: LazyDataset) -> bool:
    """Whether something was retrieved, and none of it is anyone's gold or in the index; not where neither is known.

    Reads everything again, which is why it is asked only where no ranking met its own question's gold.
    """
    known = set(request.index_chunk_ids or ())
    known.update(chunk for chunks in read_mapping(dataset).values() for chunk in chunks)
    for question, grades in read_questions(dataset.questions):
        known.update(grades, question.non_relevant)
    if not known:
        return False
    retrieved = (read_ranking(raw).ids for raw in read_rankings(request).values())
    any_retrieved = False
    for ids in retrieved:
        if not known.isdisjoint(ids):
            return False
        any_retrieved = any_retrieved or bool(ids)
    return any_retrieved
