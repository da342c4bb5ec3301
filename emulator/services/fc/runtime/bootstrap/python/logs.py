"""Log lines of user code, and where they go.

With one call at a time everything goes to the log pipe, like ``print``; the server knows whose call it is. With several
calls at once, text written through Python is sent in frames that carry the request id.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

LONGEST_LINE = 128 * 1024
"""One write is cut at this many bytes. Source: the published Python runtime."""

_write = os.write


class RequestIds:
    """Knows which request the running code belongs to."""

    def __init__(self) -> None:
        self._latest = ""
        self._local = threading.local()

    def enter(self, request_id: str) -> None:
        """Take note that this thread serves *request_id* from now on."""
        self._latest = request_id
        self._local.request_id = request_id

    def current(self) -> str:
        """Return the request of this thread; for threads that user code started, the one that came last."""
        request_id: str = getattr(self._local, "request_id", self._latest)
        return request_id


Sink = Callable[[str, str], None]
"""Takes a request's id and text that the request writes to its log."""


def pipe_sink(descriptor: int) -> Sink:
    """Return a sink that writes to the log pipe through a descriptor that user code does not close by accident."""

    def write(request_id: str, text: str) -> None:
        flush_streams()  # what was printed before goes before
        view = memoryview(_cut(text))
        while view:
            view = view[_write(descriptor, view) :]

    return write


def frame_sink(send: Callable[[dict[str, Any], bytes], None]) -> Sink:
    """Return a sink that sends text in frames that carry the request id."""
    return lambda request_id, text: send({"log": request_id}, _cut(text))


class LogHandler(logging.Handler):
    """Formats records as the platform does: ``{UTC}.{mmm}Z {request id} [{LEVEL}] {message}``."""

    def __init__(self, sink: Sink, request_ids: RequestIds, request_id: str | None = None) -> None:
        super().__init__()
        self._sink = sink
        self._request_ids = request_ids
        self._request_id = request_id
        formatter = logging.Formatter(
            "%(asctime)s.%(msecs)03dZ %(fc_request_id)s [%(levelname)s] %(message)s", "%Y-%m-%dT%H:%M:%S"
        )
        formatter.converter = time.gmtime
        self.setFormatter(formatter)

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line; a record that cannot be formatted is reported on stderr, as `logging` does."""
        request_id = self._request_id or self._request_ids.current()
        record.fc_request_id = request_id
        try:
            self._sink(request_id, self.format(record) + "\n")
        except Exception:
            self.handleError(record)


class RequestStream(io.TextIOBase):
    """Stands in for ``sys.stdout`` and ``sys.stderr`` while several calls run at once."""

    def __init__(self, sink: Sink, request_ids: RequestIds, descriptor: int) -> None:
        super().__init__()
        self._sink = sink
        self._request_ids = request_ids
        self._descriptor = descriptor
        self._partial: dict[str, str] = {}

    @property
    def encoding(self) -> str:  # type: ignore[override]  # read-only in the base class as well
        """Return the encoding of the log."""
        return "utf-8"

    def fileno(self) -> int:
        """Return the descriptor that subprocesses inherit."""
        return self._descriptor

    def writable(self) -> bool:
        """Return True: text can be written."""
        return True

    def write(self, text: str) -> int:
        """Send whole lines and keep the rest until its line ends."""
        request_id = self._request_ids.current()
        lines, newline, rest = (self._partial.pop(request_id, "") + text).rpartition("\n")
        if rest:
            self._partial[request_id] = rest
        if newline:
            self._sink(request_id, lines + newline)
        return len(text)

    def flush(self) -> None:
        """Send what this request has written of an unfinished line."""
        request_id = self._request_ids.current()
        rest = self._partial.pop(request_id, "")
        if rest:
            self._sink(request_id, rest)


def configure_root(sink: Sink, request_ids: RequestIds, level: str) -> None:
    """Make the root logger write to *sink*; an unknown *level* means INFO."""
    root = logging.getLogger()
    root.handlers[:] = [LogHandler(sink, request_ids)]
    try:
        root.setLevel(level)
    except ValueError:
        root.setLevel(logging.INFO)


def request_logger(sink: Sink, request_ids: RequestIds, request_id: str) -> logging.Logger:
    """Return a logger of its own for one of several calls at once."""
    logger = logging.Logger(request_id, logging.getLogger().level)  # noqa: LOG001 - not kept, one per call
    logger.addHandler(LogHandler(sink, request_ids, request_id))
    return logger


def flush_streams() -> None:
    """Push out what `print` has buffered; user code may have put anything in place of the streams."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # noqa: S112 - closed or replaced by user code: nothing of ours is lost
            continue


def _cut(text: str) -> bytes:
    data = text.encode("utf-8", "backslashreplace")
    return data if len(data) <= LONGEST_LINE else data[: LONGEST_LINE - 1] + b"\n"
