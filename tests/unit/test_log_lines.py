import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TextIO

import pytest

from befund.log_lines import LogLines

PIPE_BYTES = 65_536


@pytest.fixture
def pipe() -> Iterator[tuple[TextIO, TextIO]]:
    """The end to read and the end to write."""
    reading, writing = os.pipe()
    with open(reading) as reader, open(writing, "w") as writer:
        yield reader, writer


@pytest.fixture
def open_file() -> Iterator[Callable[[str], TextIO]]:
    with ExitStack() as stack:
        yield lambda path: stack.enter_context(open(path, "w"))


def test_lines_are_written_in_order(pipe: tuple[TextIO, TextIO]) -> None:
    reader, writer = pipe
    lines = LogLines(writer)
    for number in range(100):
        lines.write(f"line {number} ümlaut\n")
    lines.end()
    writer.close()
    assert reader.read().splitlines() == [f"line {number} ümlaut" for number in range(100)]
    assert lines.dropped == 0


def test_who_writes_does_not_wait_for_who_reads(pipe: tuple[TextIO, TextIO]) -> None:
    reader, writer = pipe
    lines = LogLines(writer, most_waiting=10 * PIPE_BYTES)
    for _ in range(100):
        lines.write("x" * (PIPE_BYTES - 1) + "\n")
    lines.end(seconds=0)
    kept = [reader.readline() for _ in range(100 - lines.dropped)]
    assert 80 <= lines.dropped <= 90
    assert {len(line) for line in kept} == {PIPE_BYTES}


def test_what_cannot_be_written_is_counted(open_file: Callable[[str], TextIO]) -> None:
    lines = LogLines(open_file("/dev/full"))
    for number in range(10):
        lines.write(f"line {number}\n")
    lines.end()
    assert lines.dropped == 10


def test_nobody_at_the_other_end_is_no_error(pipe: tuple[TextIO, TextIO]) -> None:
    reader, writer = pipe
    reader.close()
    lines = LogLines(writer)
    lines.write("line\n")
    lines.end()
    assert lines.dropped == 1


def test_a_line_that_no_encoding_knows_is_written_all_the_same(pipe: tuple[TextIO, TextIO]) -> None:
    reader, writer = pipe
    lines = LogLines(writer)
    lines.write("lone \ud800 half\n")
    lines.end()
    assert reader.readline() == "lone \\ud800 half\n"


def test_after_a_cut_line_the_next_stands_alone(pipe: tuple[TextIO, TextIO]) -> None:
    reader, writer = pipe
    os.set_blocking(writer.fileno(), False)
    cut = LogLines(writer)
    cut.write("x" * (2 * PIPE_BYTES) + "\n")
    while not cut.dropped:  # the thread has met the full pipe
        os.sched_yield()
    assert os.read(reader.fileno(), 2 * PIPE_BYTES) == b"x" * PIPE_BYTES
    cut.write("whole\n")
    cut.end()
    writer.close()
    assert reader.read() == "\nwhole\n"
    assert cut.dropped == 1
