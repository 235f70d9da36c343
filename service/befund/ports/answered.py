"""What was answered to a request that came with a key, so that it is carried out once."""

from msgspec import Struct


class Answered(Struct, frozen=True):
    """A request that was answered and may come again.

    Attributes:
        caller: Who sent it.
        key: Its Idempotency-Key.
        request: Hash of its body.
        answer: The answer; None where it was too long to keep, so that a repetition is carried out again.
    """

    caller: str
    key: str
    request: str
    answer: bytes | None
