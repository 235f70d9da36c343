"""Log lines on their way out: nobody who logs waits for whoever reads the log, or fails with it.

Lines wait in memory, a bounded amount of text, until one thread has written them. What finds no room, or cannot be
written, is dropped and counted.
"""

import io
import threading
from collections import deque
from typing import TextIO

MOST_WAITING = 8 * 1024 * 1024
"""Characters that may wait to be written."""
FLUSH_SECONDS = 2.0
"""How long the end of the service waits for the lines still there."""
_GATHER_SECONDS = 0.01
"""Lines of so long a time are written together, so that the thread rarely takes its turn from the event loop."""


class LogLines(io.TextIOBase):
    """A text stream that takes whole lines at once and writes them to another stream's file in its own time.

    Args:
        stream: Where the lines end up. Only its file descriptor is used: a buffer of the stream would keep lines that
            could not be written, and a thread blocked inside it would hold up the end of the process.
        most_waiting: How many characters may wait.
    """

    def __init__(self, stream: TextIO, *, most_waiting: int = MOST_WAITING) -> None:
        self._file = io.FileIO(stream.fileno(), "w", closefd=False)
        self._most_waiting = most_waiting
        self._lines: deque[str] = deque()
        self._waiting = 0
        self._dropped = 0
        self._cut = False
        self._ending = False
        self._lock = threading.Lock()
        self._filled = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write_all, name="log", daemon=True)
        self._thread.start()

    @property
    def dropped(self) -> int:
        """How many lines nobody will read."""
        return self._dropped

    def write(self, text: str) -> int:
        """Take one line, which ends with a line break, or drop it."""
        with self._lock:
            if self._waiting + len(text) > self._most_waiting:
                self._dropped += 1
            else:
                self._lines.append(text)
                self._waiting += len(text)
        self._filled.set()
        return len(text)

    def end(self, *, seconds: float = FLUSH_SECONDS) -> None:
        """Write what is waiting, or give up after a while; what comes later goes nowhere."""
        self._ending = True
        self._ended.set()
        self._filled.set()
        self._thread.join(seconds)

    def _write_all(self) -> None:
        while not self._ending or self._lines:
            self._filled.wait()
            self._ended.wait(_GATHER_SECONDS)
            self._filled.clear()
            with self._lock:
                text = "".join(self._lines)
                self._lines.clear()
            lost = self._write_out(text.encode("utf-8", "backslashreplace"))
            with self._lock:
                self._waiting -= len(text)
                self._dropped += lost

    def _write_out(self, lines: bytes) -> int:
        """Write whole lines and give how many were lost. After a cut line, the next begins on a line of its own."""
        data = b"\n" + lines if self._cut else lines
        done = 0
        try:
            while done < len(data):
                written = self._file.write(memoryview(data)[done:])
                if not written:  # a file that does not block is full
                    break
                done += written
        except OSError:
            pass  # a full disk, or nobody at the other end of the pipe
        if done:
            self._cut = data[done - 1] != ord("\n")
        return data[done:].lstrip(b"\n").count(b"\n")
