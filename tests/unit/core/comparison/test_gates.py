"""Gates: what passes, what fails, and what never passes because it is not known."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.comparison.sides import compare, gate, hits, judged, questions, ranked

from befund.core.errors import ContradictionError

FOUR = "ABCD"
ONE_EACH_WAY = (ranked(questions(*FOUR), hits("AB", of=FOUR)), ranked(questions(*FOUR), hits("AC", of=FOUR)))


def rates(before: str, after: str) -> tuple[Any, Any]:
    """Verdicts on questions A, B, C...: + true, - false, ? abstained, ! failed, 0 not evaluable, blank not judged."""
    said = {"+": True, "-": False, "?": "abstained", "!": "failed", "0": "not_evaluable"}
    asked = questions(*[chr(65 + i) for i in range(max(len(before), len(after)))])

    def side(text: str, name: str) -> Any:
        return judged({chr(65 + i): said[each] for i, each in enumerate(text) if each != " "}, asked=asked, name=name)

    return side(before, "before"), side(after, "after")


def test_one_better_and_one_worse_fails_on_regressions_and_names_the_question() -> None:
    found = gate(*ONE_EACH_WAY, metric="hit_rate@1", max_regressions=0)
    assert (found.status, found.observed, found.questions) == ("fail", 1.0, ["B"])


def test_one_better_and_one_worse_passes_on_the_mean_alone() -> None:
    answer = compare(*ONE_EACH_WAY, {"metric": "hit_rate@1", "max_drop": 0})
    assert answer.verdict == "pass"
    assert answer.gates[0].observed == 0.0


def test_a_drop_beyond_what_is_allowed_fails() -> None:
    found = gate(*rates("++++++++++", "+++++++++-"), metric="correct", max_drop=0.05)
    assert (found.status, found.threshold, found.questions) == ("fail", 0.05, ["J"])
    assert found.observed == pytest.approx(-0.1)


def test_a_drop_of_just_what_is_allowed_passes() -> None:
    assert gate(*rates("++++++++++", "+++++++++-"), metric="correct", max_drop=0.1).status == "pass"


@pytest.mark.parametrize("unscored", ["?", "!", " "])
def test_what_is_not_scored_could_be_wrong(unscored: str) -> None:
    found = gate(*rates("++++++++++", "+++++++++" + unscored), metric="correct", max_drop=0.05)
    assert found.status == "inconclusive"
    assert "J" in found.detail


def test_a_question_abstained_on_passes_where_its_worst_would_pass() -> None:
    assert gate(*rates("++++++++++", "+++++++++?"), metric="correct", max_drop=0.1).status == "pass"


def test_a_missing_question_never_passes() -> None:
    assert gate(*rates("++++++++++", "+++++++++ "), metric="correct", max_drop=1).status == "inconclusive"


def test_what_fails_at_its_best_fails() -> None:
    assert gate(*rates("++++++++++", "----+++++?"), metric="correct", max_drop=0.3).status == "fail"


def test_nine_of_ten_calls_failed_and_the_tenth_is_right() -> None:
    found = gate(*rates("++++++++++", "+!!!!!!!!!"), metric="correct", min=0.9)
    assert (found.status, found.observed, found.n) == ("inconclusive", 1.0, 1)


def test_what_only_one_side_could_score_is_not_known_on_the_other() -> None:
    assert gate(*rates("++++++++++", "+++++++++0"), metric="correct", max_drop=0.05).status == "inconclusive"


def test_what_neither_side_can_score_is_no_matter() -> None:
    assert gate(*rates("+++++++++0", "+++++++++0"), metric="correct", max_drop=0).status == "pass"


def test_two_sides_that_both_failed_on_a_question_do_not_agree_on_it() -> None:
    assert gate(*rates("+++++++++!", "+++++++++!"), metric="correct", max_drop=0.05).status == "inconclusive"


def test_an_unscored_question_may_have_regressed() -> None:
    found = gate(*rates("++++++++++", "+++++++++?"), metric="correct", max_regressions=0)
    assert (found.status, found.observed) == ("inconclusive", 0.0)


def test_what_was_wrong_before_cannot_have_regressed() -> None:
    assert gate(*rates("+++++++++-", "+++++++++?"), metric="correct", max_regressions=0).status == "pass"


class TestBound:
    def test_a_point_inside_and_a_limit_outside_is_inconclusive(self) -> None:
        found = gate(*rates("+" * 30, "+" * 30), metric="correct", max_drop=0.02, bound="lower")
        assert (found.status, found.observed) == ("inconclusive", 0.0)
        assert "lower limit" in found.detail

    def test_a_point_outside_fails(self) -> None:
        assert gate(*rates("+" * 30, "-" + "+" * 29), metric="correct", max_drop=0.02, bound="lower").status == "fail"

    def test_enough_questions_pass(self) -> None:
        asked = questions(*[f"Q{i}" for i in range(400)])
        side = judged({each["id"]: True for each in asked}, asked=asked)
        assert gate(side, side, metric="correct", max_drop=0.02, bound="lower").status == "pass"

    @pytest.mark.parametrize(("right", "status"), [(30, "inconclusive"), (26, "fail"), (27, "inconclusive")])
    def test_a_level_by_its_lower_limit(self, right: int, status: str) -> None:
        after = "+" * right + "-" * (30 - right)
        assert gate(*rates("+" * 30, after), metric="correct", min=0.9, bound="lower").status == status

    def test_too_few_questions_for_an_interval_are_inconclusive(self) -> None:
        assert gate(*rates("+++++", "+++++"), metric="correct", max_drop=0, bound="lower").status == "inconclusive"


FIVE = [
    *questions("A", "B", critical=True, tags=["webhooks"], split="smoke"),
    *questions("C", "D", tags=["billing"], split="smoke"),
    *questions("E", split="test"),
]


class TestQuestions:
    BEFORE = ranked(FIVE, hits("ABCDE", of="ABCDE"))
    AFTER = ranked(FIVE, hits("ACDE", of="ABCDE"))

    @pytest.mark.parametrize(
        ("wanted", "status"),
        [
            ({"critical": True}, "fail"),
            ({"critical": False}, "pass"),
            ({"tags": ["billing"]}, "pass"),
            ({"tags": ["billing", "webhooks"]}, "fail"),
            ({"tags": ["billing"], "critical": True}, "inconclusive"),
            ({"ids": ["B"]}, "fail"),
            ({"ids": ["C"]}, "pass"),
            ({"ids": ["C", "unknown"]}, "inconclusive"),
            ({"split": "test"}, "pass"),
            ({"split": "nobody"}, "inconclusive"),
            ({"tags": ["nobody"]}, "inconclusive"),
        ],
    )
    def test_a_gate_on_some(self, wanted: dict[str, Any], status: str) -> None:
        found = gate(self.BEFORE, self.AFTER, metric="hit_rate", max_regressions=0, questions=wanted)
        assert found.status == status

    def test_a_mean_of_one_question_does_not_pass(self) -> None:
        found = gate(self.BEFORE, self.AFTER, metric="hit_rate", max_drop=0, questions={"ids": ["C"]})
        assert found.status == "inconclusive"


@pytest.mark.parametrize(
    "given", [{"max_drop": 0}, {"min": 0.1}, {"max_regressions": 0}, {"max_drop": 0, "bound": "lower"}]
)
class TestNeverPass:
    def test_one_question_only(self, given: dict[str, Any]) -> None:
        side = ranked(questions("A"), hits("A", of="A"))
        assert gate(side, side, metric="hit_rate", **given).status == "inconclusive"

    def test_a_missing_ranking(self, given: dict[str, Any]) -> None:
        before = ranked(questions(*FOUR), hits(FOUR, of=FOUR))
        after = ranked(questions(*FOUR), hits("ABC", of="ABC"))
        assert gate(before, after, metric="hit_rate", **given).status == "inconclusive" or given == {"min": 0.1}

    def test_changed_gold(self, given: dict[str, Any]) -> None:
        asked = questions(*FOUR)
        changed = [*asked[:3], {**asked[3], "relevant": ["gold", "other"]}]
        before, after = ranked(asked, hits(FOUR, of=FOUR)), ranked(changed, hits(FOUR, of=FOUR))
        assert gate(before, after, metric="hit_rate", **given).status == "inconclusive"

    def test_a_question_the_candidate_does_not_have(self, given: dict[str, Any]) -> None:
        before = ranked(questions(*FOUR), hits(FOUR, of=FOUR))
        after = ranked(questions(*"ABC"), hits(FOUR, of="ABC"))
        assert gate(before, after, metric="hit_rate", **given).status == "inconclusive"

    def test_judge_failures(self, given: dict[str, Any]) -> None:
        found = gate(*rates("+++++", "!!!!!"), metric="correct", **given)
        assert (found.status, found.observed) in [("inconclusive", None), ("inconclusive", 0.0)]

    def test_a_tag_nobody_has(self, given: dict[str, Any]) -> None:
        side = ranked(questions(*FOUR), hits(FOUR, of=FOUR))
        found = gate(side, side, metric="hit_rate", questions={"tags": ["none"]}, **given)
        assert (found.status, found.observed, found.n) == ("inconclusive", None, 0)

    def test_a_metric_that_was_not_measured(self, given: dict[str, Any]) -> None:
        side = ranked(questions(*FOUR), hits(FOUR, of=FOUR))
        assert gate(side, side, metric="faithful", **given).status == "inconclusive"

    def test_another_judge(self, given: dict[str, Any]) -> None:
        before = judged(dict.fromkeys(FOUR, True))
        after = judged(dict.fromkeys(FOUR, True), judge="sha256:other")
        assert gate(before, after, metric="correct", **given).status == "inconclusive"


class TestNothingScored:
    """A threshold that anything would keep does not pass on nothing."""

    RIGHT, WRONG = judged(dict.fromkeys(FOUR, True)), judged(dict.fromkeys(FOUR, False))
    FAILED = judged(dict.fromkeys(FOUR, "failed"))
    GATES = ({"max_drop": 1}, {"min": 0}, {"max_regressions": 100})

    @pytest.mark.parametrize("given", GATES)
    def test_in_the_candidate(self, given: dict[str, Any]) -> None:
        assert gate(self.RIGHT, self.FAILED, metric="correct", **given).status == "inconclusive"

    @pytest.mark.parametrize("given", GATES)
    def test_on_either_side(self, given: dict[str, Any]) -> None:
        assert gate(self.FAILED, self.FAILED, metric="correct", **given).status == "inconclusive"

    @pytest.mark.parametrize("given", [{"max_drop": 0}, {"max_regressions": 0}])
    def test_where_nothing_could_have_fallen(self, given: dict[str, Any]) -> None:
        found = gate(self.WRONG, self.FAILED, metric="correct", **given)
        assert (found.status, found.observed, found.n) == ("inconclusive", None, 0)
        assert found.detail == "No data: no question is scored on both sides."


@pytest.mark.parametrize("given", [{"max_drop": 0}, {"min": 0.5}, {"max_regressions": 0}])
def test_one_question_that_can_be_scored_among_others_shows_nothing(given: dict[str, Any]) -> None:
    asked = [*questions("A"), *questions("B", "C", "D", expected_behavior="deny")]
    side = ranked(asked, hits(FOUR, of=FOUR))
    found = gate(side, side, metric="hit_rate", **given)
    assert (found.status, found.n) == ("inconclusive", 1)
    assert "one question shows nothing about others" in found.detail


def test_minus_nothing_is_nothing() -> None:
    side = ranked(questions(*FOUR), hits(FOUR, of=FOUR))
    found = gate(side, side, metric="hit_rate", max_drop=-0.0)
    assert (str(found.threshold), found.detail) == ("0.0", "+0.000 over 4 questions; a drop of 0 is allowed.")


def test_a_level_on_generated_questions_is_inconclusive_also_where_it_would_fail() -> None:
    side = ranked(questions(*FOUR), hits("A", of=FOUR), generated=True)
    assert gate(side, side, metric="hit_rate", min=0.1).status == "inconclusive"
    assert gate(side, side, metric="hit_rate", min=0.9).status == "inconclusive"
    assert gate(side, side, metric="hit_rate", max_drop=0).status == "pass"


def test_no_shared_question_is_refused() -> None:
    before, after = ranked(questions("A"), hits("A", of="A")), ranked(questions("B"), hits("B", of="B"))
    with pytest.raises(ContradictionError) as refused:
        compare(before, after)
    assert refused.value.code == "no-shared-question"


def test_new_questions_of_the_candidate_keep_a_comparison_from_passing_and_not_a_level() -> None:
    before = ranked(questions(*"ABC"), hits("ABC", of="ABC"))
    after = ranked(questions(*FOUR), hits(FOUR, of=FOUR))
    assert gate(before, after, metric="hit_rate", max_drop=0).status == "inconclusive"
    assert gate(before, after, metric="hit_rate", min=0.9).status == "pass"


class TestCut:
    def test_a_list_that_was_cut_before_the_cutoff_is_inconclusive(self) -> None:
        before = ranked(questions(*FOUR), hits(FOUR, of=FOUR, deep=3), k=3)
        after = ranked(questions(*FOUR), hits(FOUR, of=FOUR, deep=5), k=5)
        found = gate(before, after, metric="hit_rate@5", max_drop=0)
        assert found.status == "inconclusive"
        assert "cut at 3" in found.detail

    def test_without_a_cutoff_each_side_uses_its_own(self) -> None:
        before = ranked(questions(*FOUR), hits(FOUR, of=FOUR, deep=3), k=3)
        after = ranked(questions(*FOUR), hits(FOUR, of=FOUR, deep=5), k=5)
        assert gate(before, after, metric="hit_rate", max_drop=0).status == "pass"

    def test_a_deep_enough_list_uses_the_gates_cutoff_on_both_sides(self) -> None:
        rankings = {each: ["other", "other2", "other3", "gold", "c5"] for each in FOUR}
        before, after = (ranked(questions(*FOUR), rankings, k=k) for k in (3, 5))
        assert gate(before, after, metric="hit_rate@5", max_drop=0).observed == 0.0
        assert gate(before, after, metric="hit_rate", max_drop=0).observed == 1.0

    def test_short_lists_are_whole_where_the_configuration_says_so(self) -> None:
        config = {"retrieval": {"top_k": 5}}
        before = ranked(questions(*FOUR), hits(FOUR, of=FOUR, deep=3), k=5, config=config)
        after = ranked(questions(*FOUR), hits(FOUR, of=FOUR, deep=5), k=5, config=config)
        assert gate(before, after, metric="hit_rate@5", max_drop=0).status == "pass"

    def test_a_search_for_three_was_cut_at_three(self) -> None:
        side = ranked(questions(*FOUR), hits(FOUR, of=FOUR, deep=3), k=5, config={"retrieval": {"top_k": 3}})
        assert gate(side, side, metric="hit_rate@5", max_drop=0).status == "inconclusive"

    def test_a_default_cutoff_does_not_say_that_short_lists_were_cut(self) -> None:
        side = ranked(questions(*FOUR), hits(FOUR, of=FOUR, deep=3), k=None)
        assert gate(side, side, metric="recall@11", max_drop=0).status == "pass"

    def test_lists_that_end_before_those_of_the_other_side_were(self) -> None:
        before = ranked(questions(*FOUR), hits(FOUR, of=FOUR, deep=3), k=None)
        after = ranked(questions(*FOUR), hits(FOUR, of=FOUR, deep=5), k=None)
        found = gate(before, after, metric="recall@11", max_drop=0)
        assert found.status == "inconclusive"
        assert "say k (--baseline-k, --candidate-k)" in found.detail


def test_a_negative_drop_is_a_rise_that_is_asked_for() -> None:
    side = ranked(questions(*FOUR), hits("AB", of=FOUR))
    found = gate(side, side, metric="hit_rate", max_drop=-0.1)
    assert (found.status, found.detail) == ("fail", "+0.000 over 4 questions; it must rise by 0.1.")


class TestBudget:
    BEFORE = ranked(questions(*FOUR), hits(FOUR, of=FOUR, deep=5), k=3)
    AFTER = ranked(questions(*FOUR), hits(FOUR, of=FOUR, deep=5), k=5)

    @pytest.mark.parametrize(("most", "status"), [(66, "fail"), (67, "pass")])
    def test_how_far_it_may_rise(self, most: float, status: str) -> None:
        found = gate(self.BEFORE, self.AFTER, metric="chunks_per_question", max_increase_percent=most)
        assert found.status == status
        assert found.observed == pytest.approx(200 / 3)

    @pytest.mark.parametrize(("most", "status"), [(4, "fail"), (5, "pass")])
    def test_what_it_may_reach(self, most: float, status: str) -> None:
        assert gate(self.BEFORE, self.AFTER, metric="chunks_per_question", max=most).status == status

    def test_what_is_not_known_is_inconclusive(self) -> None:
        found = gate(self.BEFORE, self.AFTER, metric="tokens_per_question", max_increase_percent=20)
        assert (found.status, found.observed) == ("inconclusive", None)


class TestCounts:
    ASKED = questions(*FOUR, role="partner", non_relevant=["bad"])

    def leaking(self, *leaks: str) -> Any:
        def entry(question: str) -> dict[str, Any]:
            return {"id": "gold", "roles": ["staff"] if question in leaks else ["partner"]}

        return ranked(self.ASKED, {each: [entry(each)] for each in FOUR})

    def test_no_leak_passes(self) -> None:
        assert gate(self.leaking(), self.leaking(), metric="acl_leaks", max=0).status == "pass"

    def test_a_leak_of_the_candidate_fails_and_is_named(self) -> None:
        found = gate(self.leaking(), self.leaking("C"), metric="acl_leaks", max=0)
        assert (found.status, found.observed, found.questions) == ("fail", 1.0, ["C"])

    def test_a_leak_of_the_baseline_is_no_matter(self) -> None:
        assert gate(self.leaking("C"), self.leaking(), metric="acl_leaks", max=0).status == "pass"

    def test_where_nothing_names_roles_leaks_cannot_be_seen(self) -> None:
        side = ranked(self.ASKED, hits(FOUR, of=FOUR))
        assert gate(side, side, metric="acl_leaks", max=0).status == "inconclusive"

    def test_known_false_positives(self) -> None:
        side = ranked(self.ASKED, {each: ["bad" if each == "D" else "gold"] for each in FOUR})
        found = gate(side, side, metric="known_false_positives", max=0)
        assert (found.status, found.questions) == ("fail", ["D"])

    def test_without_a_role_nothing_can_leak_and_nothing_is_shown(self) -> None:
        asked = questions(*FOUR)
        side = ranked(asked, {each: [{"id": "gold", "roles": ["staff"]}] for each in FOUR})
        found = gate(side, side, metric="acl_leaks", max=0)
        assert (found.status, found.observed) == ("inconclusive", None)
        assert found.detail == "No data: no question says who asks (role)."

    def test_leaks_are_a_share_of_the_questions_with_a_role(self) -> None:
        asked = [*questions("A", "B", role="partner"), *questions("C", "D")]
        roles = {"A": ["staff"], "B": ["partner"], "C": ["staff"], "D": ["staff"]}
        side = ranked(asked, {each: [{"id": "gold", "roles": roles[each]}] for each in FOUR})
        found = gate(side, side, metric="acl_leaks", max_share=0.4)
        assert (found.status, found.observed, found.n) == ("fail", 0.5, 2)

    def test_a_question_without_a_ranking_may_leak(self) -> None:
        entry = {"id": "gold", "roles": ["partner"]}
        side = ranked(self.ASKED, {each: [entry] for each in "ABC"})
        found = gate(side, side, metric="acl_leaks", max=0)
        assert (found.status, found.observed, found.n) == ("inconclusive", 0.0, 3)
        assert "of 1 question it cannot be told (D)" in found.detail

    def test_a_leak_fails_whatever_else_is_not_known(self) -> None:
        side = ranked(self.ASKED, {each: [{"id": "gold", "roles": ["staff"]}] for each in "ABC"})
        assert gate(side, side, metric="acl_leaks", max=0).status == "fail"

    def test_where_no_chunk_is_known_to_be_wrong_nothing_is_watched(self) -> None:
        side = ranked(questions(*FOUR), hits(FOUR, of=FOUR))
        found = gate(side, side, metric="known_false_positives", max=0)
        assert (found.status, found.observed) == ("inconclusive", None)
        assert found.detail == "No data: no question has chunks known to be wrong (non_relevant)."

    def test_where_the_questions_of_a_gate_are_not_watched_others_do_not_help(self) -> None:
        asked = [*questions("A", "B", non_relevant=["bad"]), *questions("C", "D", tags=["new"])]
        side = ranked(asked, hits(FOUR, of=FOUR))
        of_new = gate(side, side, metric="known_false_positives", max=0, questions={"tags": ["new"]})
        assert (of_new.status, gate(side, side, metric="known_false_positives", max=0).status) == (
            "inconclusive",
            "pass",
        )

    @pytest.mark.parametrize("metric", ["known_false_positives", "acl_leaks"])
    def test_answers_alone_say_nothing_of_what_came_back(self, metric: str) -> None:
        asked = questions(*FOUR, role="partner", non_relevant=["bad"])
        side = judged(dict.fromkeys(FOUR, True), asked=asked)
        assert gate(side, side, metric=metric, max=0).status == "inconclusive"

    @pytest.mark.parametrize(
        ("after", "status"), [("+++++++++?", "pass"), ("++++++++?!", "fail"), ("+++++++ -0", "pass")]
    )
    def test_the_share_that_is_unscored(self, after: str, status: str) -> None:
        assert gate(*rates("++++++++++", after), metric="unscored", max_share=0.1).status == status


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"metric": "hit_rate"}, "gate-without-threshold"),
        ({"metric": "hit_rate", "max_drop": 0, "min": 0.5}, "several-thresholds"),
        ({"metric": "acl_leaks", "max_drop": 0}, "gate-contradiction"),
        ({"metric": "hit_rate", "max": 1}, "gate-contradiction"),
        ({"metric": "tokens_per_question", "min": 0.5}, "gate-contradiction"),
        ({"metric": "hit_rate", "max_regressions": 0, "bound": "lower"}, "gate-contradiction"),
        ({"metric": "hit_rate", "max_drop": 0, "repeats": 3}, "gate-contradiction"),
        ({"metric": "nonsense", "max_drop": 0}, "unknown-metric"),
        ({"metric": "hit_rate@0", "max_drop": 0}, "unknown-metric"),
    ],
)
def test_a_gate_that_cannot_be_is_refused(given: dict[str, Any], code: str) -> None:
    side = ranked(questions(*FOUR), hits(FOUR, of=FOUR))
    with pytest.raises(ContradictionError) as refused:
        compare(side, side, given)
    assert refused.value.code == code
    assert refused.value.places[0].pointer.startswith("/gates/0")


@pytest.mark.parametrize(
    ("said", "verdict"), [(["pass", "inconclusive", "fail"], "fail"), (["pass", "inconclusive"], "inconclusive")]
)
def test_fail_comes_before_inconclusive_and_that_before_pass(said: list[str], verdict: str) -> None:
    given = {
        "pass": {"metric": "hit_rate", "max_drop": 0},
        "inconclusive": {"metric": "faithful", "min": 0.5},
        "fail": {"metric": "hit_rate", "max_regressions": 0},
    }
    assert compare(*ONE_EACH_WAY, *(given[each] for each in said)).verdict == verdict


def test_without_gates_there_is_no_verdict() -> None:
    assert compare(*ONE_EACH_WAY).verdict is None


@given(st.lists(st.sampled_from(["++", "+-", "-+", "--", "+?", "?+", "??", "-!"]), min_size=2, max_size=14), st.data())
def test_a_gate_that_passes_would_pass_whatever_the_unscored_turn_out_to_be(pairs: list[str], data: Any) -> None:
    allowed = data.draw(st.sampled_from([0.0, 0.1, 0.25, 0.5]))
    before, after = ("".join(pair[i] for pair in pairs) for i in (0, 1))
    wanted = [{"metric": "correct", "max_drop": allowed}, {"metric": "correct", "max_regressions": 1}]
    said = [each.status for each in compare(*rates(before, after), *wanted).gates]
    drawn = ["".join(data.draw(st.sampled_from("+-")) if c in "?!" else c for c in text) for text in (before, after)]
    known = [each.status for each in compare(*rates(*drawn), *wanted).gates]
    assert all(told in ("inconclusive", truth) for told, truth in zip(said, known, strict=True))
