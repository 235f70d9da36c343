import msgspec

from befund.contract import Cause
from befund.core.diagnosis.tally import DiagnosedTally

BELOW = Cause(code="RANKED_BELOW_K", detail="", confidence="measured")
MISREAD = Cause(code="MISREAD", detail="", confidence="inferred")


def test_classes_stand_worst_first_and_causes_by_how_often_they_come() -> None:
    tally = DiagnosedTally()
    tally.add("SUCCESS", None, question_id="Q1", item=0)
    tally.add("RETRIEVAL_FAILURE", BELOW, question_id=None, item=1)
    tally.add("GENERATION_FAILURE", MISREAD, question_id="Q3", item=2)
    tally.add("GENERATION_FAILURE", MISREAD, question_id="Q4", item=3)
    assert tally.diagnoses() == {
        "RETRIEVAL_FAILURE": {"n": 1, "questions": [], "items": [1]},
        "GENERATION_FAILURE": {"n": 2, "questions": ["Q3", "Q4"], "items": [2, 3]},
        "SUCCESS": {"n": 1, "questions": ["Q1"], "items": [0]},
    }
    assert list(tally.causes()) == ["MISREAD", "RANKED_BELOW_K"]
    assert tally.causes()["RANKED_BELOW_K"]["next_step"] == "Raise top_k past the rank, or rerank."


def test_stored_diagnoses_are_added_up_without_places() -> None:
    tally = DiagnosedTally()
    record = {"diagnosis": {"diagnosis": "RETRIEVAL_FAILURE", "cause": msgspec.to_builtins(BELOW)}}
    tally.add_stored(msgspec.json.encode(record), "Q1")
    assert tally.diagnoses() == {"RETRIEVAL_FAILURE": {"n": 1, "questions": ["Q1"]}}


def test_a_long_list_is_cut_and_still_counted() -> None:
    tally = DiagnosedTally()
    for number in range(1_001):
        tally.add("SUCCESS", None, question_id=f"Q{number}")
    group = tally.diagnoses()["SUCCESS"]
    assert (group["n"], len(group["questions"])) == (1_001, 1_000)
