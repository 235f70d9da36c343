"""What a comparison says question by question, and what it says of itself."""

from typing import Any

import pytest
from tests.unit.core.comparison.sides import compare, finding, hits, judged, metric, questions, ranked

from befund.core.comparison.side import Side
from befund.core.errors import ConflictError

FOUR = "ABCD"


def evidenced(*ids: str) -> list[dict[str, Any]]:
    """Questions whose gold is evidence, `E-A` for A."""
    return [{"id": each, "question": f"What is {each}?", "evidence": [{"id": f"E-{each}"}]} for each in ids]


def test_every_shared_question_is_better_worse_or_the_same() -> None:
    before = ranked(questions(*FOUR), hits("AB", of=FOUR))
    after = ranked(questions(*FOUR), hits("AC", of=FOUR))
    found = metric(compare(before, after), "hit_rate@1")
    assert (found.improved, found.regressed, found.unchanged, found.n) == (["C"], ["B"], 2, 4)
    assert (found.baseline.value, found.candidate.value, found.delta) == (0.5, 0.5, 0.0)


def test_sides_of_one_cutoff_name_it_and_of_two_do_not() -> None:
    sides = [ranked(questions(*FOUR), hits("A", of=FOUR, deep=5), k=k) for k in (3, 3, 5)]
    assert metric(compare(sides[0], sides[1]), "recall@3").candidate.k == 3
    found = metric(compare(sides[0], sides[2]), "recall")
    assert (found.baseline.k, found.candidate.k) == (3, 5)


def test_without_any_cutoff_all_that_both_were_measured_at_are_compared() -> None:
    side = ranked(questions(*FOUR), hits("A", of=FOUR), k=None)
    assert {each.metric for each in compare(side, side, metrics=None).metrics} >= {"hit_rate@1", "ndcg@10", "mrr@5"}


def test_only_the_metrics_asked_for_and_those_of_gates() -> None:
    side = ranked(questions(*FOUR), hits("A", of=FOUR))
    answer = compare(side, side, {"metric": "recall@1", "max_drop": 0}, metrics=["mrr"])
    assert [each.metric for each in answer.metrics] == ["mrr", "recall@1"]


class TestLongerCut:
    BEFORE = ranked(questions(*FOUR), hits(FOUR, of=FOUR, deep=5), k=3)
    AFTER = ranked(questions(*FOUR), hits(FOUR, of=FOUR, deep=5), k=5)

    def test_what_it_lowers_has_decreased_not_regressed(self) -> None:
        answer = compare(self.BEFORE, self.AFTER)
        found = metric(answer, "precision")
        assert (found.decreased, found.regressed, found.unchanged) == (list(FOUR), [], 0)
        effect = finding(answer, "CUTOFF_EFFECT")
        assert effect is not None
        assert effect.questions == list(FOUR)

    def test_what_is_worse_at_the_same_cutoff_has_regressed(self) -> None:
        after = ranked(questions(*FOUR), hits("ABC", of=FOUR, deep=5), k=5)
        found = metric(compare(self.BEFORE, after), "precision")
        assert (found.decreased, found.regressed) == (["A", "B", "C"], ["D"])

    def test_a_shorter_cut_regresses(self) -> None:
        rankings = {each: ["x", "y", "z", "gold", "c"] for each in FOUR}
        before, after = (ranked(questions(*FOUR), rankings, k=k) for k in (5, 3))
        assert metric(compare(before, after), "hit_rate").regressed == list(FOUR)


class TestNested:
    def test_a_list_that_only_grew_cannot_fall(self) -> None:
        answer = compare(TestLongerCut.BEFORE, TestLongerCut.AFTER)
        possible = {each.metric: each.regression_possible for each in answer.metrics}
        assert {name for name, is_possible in possible.items() if not is_possible} == {
            "hit_rate",
            "recall",
            "mrr",
            "map",
        }
        assert finding(answer, "NESTED_RANKINGS") is not None

    def test_one_list_in_another_order_can(self) -> None:
        other = hits(FOUR, of=FOUR, deep=5) | {"D": ["c0", "gold", "c1", "c2", "c3"]}
        answer = compare(TestLongerCut.BEFORE, ranked(questions(*FOUR), other, k=5))
        assert metric(answer, "recall").regression_possible
        assert finding(answer, "NESTED_RANKINGS") is None

    def test_a_list_that_is_missing_can(self) -> None:
        answer = compare(TestLongerCut.BEFORE, ranked(questions(*FOUR), hits("ABC", of="ABC", deep=5), k=5))
        assert metric(answer, "recall").regression_possible


def test_a_side_compared_with_itself_is_said_rather_than_nested_lists() -> None:
    answer = compare(TestLongerCut.BEFORE, TestLongerCut.BEFORE)
    assert finding(answer, "IDENTICAL_SIDES") is not None
    assert finding(answer, "NESTED_RANKINGS") is None


def test_sides_of_which_one_answer_differs_are_not_identical() -> None:
    before, after = judged({"A": True, "B": True}), judged({"A": True, "B": False})
    assert finding(compare(before, after), "IDENTICAL_SIDES") is None
    assert finding(compare(before, before), "IDENTICAL_SIDES") is not None


def test_a_ranking_of_a_question_the_data_set_does_not_have_is_said() -> None:
    before = ranked(questions(*FOUR), hits("AB", of=FOUR), name="main")
    after = ranked(questions(*FOUR), hits("AB", of=FOUR) | {"Q77": ["gold"]}, name="pr")
    found = finding(compare(before, after), "UNKNOWN_QUESTIONS")
    assert found is not None
    assert (found.questions, "(1 of pr)" in found.message) == (["Q77"], True)


class TestDepths:
    @staticmethod
    def asked_for(top_k: int, *, k: int | None = None) -> Side:
        config = {"retrieval": {"top_k": top_k}}
        return ranked(questions(*FOUR), hits("AB", of=FOUR, deep=top_k), k=k, name=f"k{top_k}", config=config)

    def test_two_depths_without_a_cutoff_point_at_it(self) -> None:
        found = finding(compare(self.asked_for(3), self.asked_for(5)), "CUTOFFS_DIFFER")
        assert found is not None
        assert "--baseline-k 3 --candidate-k 5" in found.message

    def test_with_a_cutoff_or_below_every_cutoff_nothing_is_said(self) -> None:
        given = compare(self.asked_for(3, k=3), self.asked_for(5, k=5))
        deep = compare(self.asked_for(50), self.asked_for(100))
        assert finding(given, "CUTOFFS_DIFFER") is None
        assert finding(deep, "CUTOFFS_DIFFER") is None

    def test_a_metric_beyond_one_depth_is_cut_short(self) -> None:
        answer = compare(self.asked_for(3), self.asked_for(5), metrics=["recall@3", "recall@5"])
        assert [metric(answer, name).cut_short for name in ("recall@3", "recall@5")] == [False, True]


class TestQuestionsAccountedFor:
    def test_lists(self) -> None:
        asked = questions(*"ABCDE")
        changed = [{**asked[0], "question": "Another one?"}, *asked[1:4], *questions("F")]
        before = ranked(asked, hits("ABCDE", of="ABCDE"))
        after = ranked(changed, hits("ABCF", of="ABCF"))
        said = compare(before, after).questions
        assert (said.shared, said.changed_gold) == (3, ["A"])
        assert (said.only_baseline, said.only_candidate) == (["E"], ["F"])
        assert (said.unscored_baseline, said.unscored_candidate) == ([], ["D"])

    def test_what_neither_side_can_score_is_excluded(self) -> None:
        asked = [*questions("A", "B"), *questions("C", expected_behavior="no_answer")]
        side = ranked(asked, hits("AB", of="ABC"))
        said = compare(side, side).questions
        assert (said.shared, said.excluded) == (2, {"behavior": ["C"]})

    @pytest.mark.parametrize(
        "fields", [{"tags": ["new"]}, {"critical": True}, {"split": "test"}, {"metadata": {"a": 1}}, {"role": "staff"}]
    )
    def test_what_says_nothing_about_the_answer_may_change(self, fields: dict[str, Any]) -> None:
        before = ranked(questions(*FOUR), hits("A", of=FOUR))
        after = ranked(questions(*FOUR, **fields), hits("A", of=FOUR))
        assert compare(before, after).questions.changed_gold == []

    @pytest.mark.parametrize(
        "fields",
        [{"question": "Other?"}, {"expected_facts": ["72 hours"]}, {"relevant": {"gold": 2}}, {"relevant": ["x"]}],
    )
    def test_text_facts_and_gold_may_not(self, fields: dict[str, Any]) -> None:
        asked = questions(*FOUR)
        before = ranked(asked, hits("A", of=FOUR))
        after = ranked([{**asked[0], **fields}, *asked[1:]], hits("A", of=FOUR))
        assert compare(before, after).questions.changed_gold == ["A"]


OLD = {f"E-{each}": [f"old-{each}"] for each in FOUR}
NEW = {f"E-{each}": [f"new-{each}", f"new-{each}-2"] for each in FOUR}


class TestRechunked:
    def sides(self, level: str) -> tuple[Any, Any]:
        asked = evidenced(*FOUR)
        before = {each: [f"old-{each}"] for each in FOUR}
        after = {each: [f"new-{each}"] for each in FOUR}
        return (
            ranked(asked, before, evidence_mapping=OLD, level=level),
            ranked(asked, after, evidence_mapping=NEW, level=level),
        )

    def test_another_mapping_of_the_same_evidence_does_not_block(self) -> None:
        answer = compare(*self.sides("chunk"), strict=True)
        assert answer.comparable.ok
        assert [each.field for each in answer.comparable.differences] == ["dataset.evidence_mapping"]
        assert answer.questions.changed_gold == []
        assert finding(answer, "MAPPING_CHANGED") is not None

    def test_level_evidence_compares_on_equal_terms(self) -> None:
        assert metric(compare(*self.sides("chunk")), "recall@1").regressed == list(FOUR)
        found = compare(*self.sides("evidence"))
        assert metric(found, "recall@1").unchanged == 4
        assert finding(found, "MAPPING_CHANGED") is None

    def test_evidence_that_the_new_chunks_lost_is_unscored(self) -> None:
        asked = evidenced(*FOUR)
        before, _ = self.sides("chunk")
        lost = {key: chunks for key, chunks in NEW.items() if key != "E-D"}
        after = ranked(asked, {each: [f"new-{each}"] for each in FOUR}, evidence_mapping=lost)
        answer = compare(before, after, {"metric": "hit_rate", "max_drop": 0})
        assert answer.questions.unscored_candidate == ["D"]
        assert answer.verdict == "inconclusive"


class TestComparable:
    def test_what_was_changed_is_listed(self) -> None:
        before = ranked(questions(*FOUR), hits("A", of=FOUR), config={"chunking": "md/700"})
        after = ranked(questions(*FOUR), hits("A", of=FOUR), config={"chunking": "md/300"})
        said = compare(before, after).comparable
        assert [(each.field, each.baseline, each.candidate, each.blocking) for each in said.differences] == [
            ("config.chunking", "md/700", "md/300", False)
        ]
        assert said.ok

    def test_the_cutoffs_stand_where_the_configuration_says_them(self) -> None:
        said = compare(TestLongerCut.BEFORE, TestLongerCut.AFTER).comparable
        assert [(each.field, each.baseline, each.candidate) for each in said.differences] == [
            ("config.retrieval.top_k", 3, 5)
        ]

    def test_several_changes_are_a_finding_and_one_is_not(self) -> None:
        side = ranked(questions(*FOUR), hits("A", of=FOUR), config={"chunking": "a", "prompt": "a"})
        one = ranked(questions(*FOUR), hits("A", of=FOUR), config={"chunking": "b", "prompt": "a"})
        two = ranked(questions(*FOUR), hits("A", of=FOUR), config={"chunking": "b", "prompt": "b"})
        assert finding(compare(side, one), "SEVERAL_CHANGES") is None
        assert finding(compare(side, two), "SEVERAL_CHANGES") is not None

    def test_another_judge_blocks_judged_metrics_alone(self) -> None:
        before = judged(dict.fromkeys(FOUR, True))
        after = judged(dict.fromkeys(FOUR, True), judge="sha256:other")
        answer = compare(before, after)
        assert not answer.comparable.ok
        found = metric(answer, "correct")
        assert (found.comparable, found.p_value, found.significant) == (False, None, False)
        assert finding(answer, "NOT_COMPARABLE") is not None

    def test_under_strict_it_is_refused(self) -> None:
        with pytest.raises(ConflictError, match="judge"):
            compare(judged({"A": True}), judged({"A": True}, judge="sha256:other"), strict=True)


class TestHolm:
    def test_over_the_metrics_that_gates_name(self) -> None:
        asked = questions(*[chr(65 + i) for i in range(12)])
        before = ranked(asked, hits("", of="ABCDEFGHIJKL"))
        after = ranked(asked, hits("ABCDEF", of="ABCDEFGHIJKL"))
        gates = [{"metric": name, "max_drop": 0} for name in ("hit_rate", "recall")]
        answer = compare(before, after, *gates, {"metric": "hit_rate", "max_regressions": 0}, metrics=["mrr"])
        assert metric(answer, "hit_rate").p_value == 0.03125
        assert metric(answer, "hit_rate").p_adjusted == 0.0625
        assert not metric(answer, "hit_rate").significant
        assert metric(answer, "mrr").p_adjusted is None
        assert metric(answer, "mrr").significant


SAME = {each: "72 hours." for each in FOUR}


class TestNoise:
    def test_the_same_answer_with_another_verdict(self) -> None:
        before = judged({"A": True, "B": True, "C": True}, answers=SAME)
        after = judged({"A": True, "B": False, "C": True}, answers=SAME | {"C": "other"})
        found = finding(compare(before, after), "JUDGE_NOISE")
        assert found is not None
        assert found.questions == ["B"]
        assert "1 of 2" in found.message

    def test_a_verdict_from_the_cache_does_not_agree(self) -> None:
        before = judged({"A": True, "B": True}, answers=SAME)
        after = judged({"A": True, "B": False}, answers=SAME, cached=True)
        assert finding(compare(before, after), "JUDGE_NOISE") is None

    def test_a_judge_that_failed_does_not_disagree(self) -> None:
        before = judged({"A": True, "B": True}, answers=SAME)
        after = judged({"A": True, "B": "failed"}, answers=SAME)
        assert finding(compare(before, after), "JUDGE_NOISE") is None


def test_answers_that_nobody_judged_are_said() -> None:
    before = ranked(questions(*FOUR), hits("A", of=FOUR))
    after = ranked(questions(*FOUR), hits("AB", of=FOUR))
    assert finding(compare(before, after), "ANSWERS_NOT_MEASURED") is not None
    assert finding(compare(before, before), "ANSWERS_NOT_MEASURED") is None


def test_too_few_questions_to_see_what_a_gate_asks_are_said() -> None:
    asked = questions(*[f"Q{i}" for i in range(30)])
    side = judged({each["id"]: True for each in asked}, asked=asked)
    answer = compare(side, side, {"metric": "correct", "max_drop": 0.02})
    found = finding(answer, "UNDERPOWERED")
    assert found is not None
    assert "correct 0.20" in found.message


def test_too_few_questions_to_see_any_difference_are_said() -> None:
    side = judged(dict.fromkeys("ABCDE", True))
    found = finding(compare(side, side), "UNDERPOWERED")
    assert found is not None
    assert found.message == "So few questions can show no difference of correct, however large."


def test_slices_by_tag() -> None:
    asked = [*questions("A", "B", tags=["webhooks"]), *questions("C", "D", tags=["billing"])]
    found = compare(ranked(asked, hits("ABC", of=FOUR)), ranked(asked, hits("AC", of=FOUR))).slices
    part = found["webhooks"].metrics["hit_rate@1"]
    assert (found["webhooks"].n, part.baseline, part.candidate, part.delta, part.regressed) == (2, 1.0, 0.5, -0.5, 1)
    assert found["billing"].metrics["hit_rate@1"].delta == 0.0


def test_the_questions_that_changed_with_both_values() -> None:
    before, after = ranked(questions(*FOUR), hits("AB", of=FOUR)), ranked(questions(*FOUR), hits("A", of=FOUR))
    shown = compare(before, after, metrics=["mrr"]).per_question
    assert [(each.id, each.baseline, each.candidate) for each in shown] == [("B", {"mrr": 1.0}, {"mrr": 0.0})]


def test_chunks_before_the_generator() -> None:
    found = compare(TestLongerCut.BEFORE, TestLongerCut.AFTER).budget["chunks_per_question"]
    assert (found.baseline, found.candidate, found.n) == (3.0, 5.0, 4)
    assert found.increase_percent == pytest.approx(66.667, abs=0.001)


def test_the_same_request_gives_the_same_answer() -> None:
    sides = [
        ranked(questions(*[f"Q{i}" for i in range(40)]), {f"Q{i}": ["x"] * (i % 3) + ["gold"] for i in range(40)}, k=k)
        for k in (2, 3)
    ]
    assert compare(*sides, seed=3) == compare(*sides, seed=3)
