from datetime import UTC, datetime

import pytest

from befund_client._exchange import Answer, Call, Exchange, Failure, Retry, retry_after

BUSY = Answer(503, {}, b"")


def exchange(retry: Retry, *, chance: float = 1.0) -> Exchange[bytes]:
    call = Call(method="GET", path="/", read=bytes)
    return Exchange(call, retry, request_id="r", started=100.0, chance=lambda: chance)


def test_delays_double_up_to_the_longest() -> None:
    tried = exchange(Retry(attempts=9, first_delay=1.0, longest_delay=4.0))
    assert [tried.delay(BUSY, now=100.0) for _ in range(4)] == [1.0, 2.0, 4.0, 4.0]


def test_jitter_takes_up_to_half_of_a_delay() -> None:
    assert exchange(Retry(first_delay=1.0), chance=0.0).delay(BUSY, now=100.0) == 0.5


def test_the_service_may_ask_for_more_than_the_longest_delay_but_never_gets_less() -> None:
    asked = Answer(429, {"retry-after": "30"}, b"")
    assert exchange(Retry(first_delay=1.0), chance=0.0).delay(asked, now=100.0) == 30.0


def test_no_attempt_begins_after_the_budget() -> None:
    tried = exchange(Retry(budget_seconds=10.0, first_delay=1.0))
    assert tried.delay(BUSY, now=109.5) is None


def test_a_final_failure_is_not_repeated() -> None:
    assert exchange(Retry()).delay(Failure("slow", "wait", False, OSError()), now=100.0) is None


def test_one_attempt_means_one() -> None:
    assert exchange(Retry(attempts=1)).delay(BUSY, now=100.0) is None


NOON = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        (" 12 ", 12.0),
        ("Mon, 30 Nov 2026 12:00:05 GMT", 5.0),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("-1", None),
        ("1.5", None),
        ("²", None),
        ("", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}, now=lambda: NOON) == seconds


def test_no_retry_after_is_none() -> None:
    assert retry_after({}) is None
