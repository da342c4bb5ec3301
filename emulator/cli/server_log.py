"""The server's log: one line per event on the error stream, as text or JSON.

Lines are written by a thread of their own, in batches, because a paused terminal or a pipe without a reader would
otherwise block the event loop. When such a stream stays blocked, lines beyond a bound are dropped and counted.
"""

import json
import logging
import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Final, Literal, Protocol

from emulator.kernel.clock import SECOND, Millis
from emulator.kernel.tracing import fields_of, trace_of
from emulator.wire.dates import iso_seconds

LOG_BYTES: Final = 16 * 1024 * 1024


class LogStream(Protocol):
    """A stream that the log is written to."""

    def write(self, text: str, /) -> object:
        """Append *text*."""
        ...

    def flush(self) -> object:
        """Flush what was written."""
        ...


class LogFile:
    """Appends text to *path*; used by one thread.

    Raises: OSError when the file cannot be opened.
    """

    def __init__(self, path: Path, limit_bytes: int = LOG_BYTES) -> None:
        self._path = path
        self._limit_bytes = limit_bytes
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)

    def write(self, text: str) -> None:
        """Append *text*; begin a new file first when this one would become too large."""
        content = text.encode("utf-8", "backslashreplace")
        size = self._file.seek(0, os.SEEK_END)  # Python's last error is appended here too
        if size and size + len(content) > self._limit_bytes:
            self._set_aside()
        self._file.write(content)

    def flush(self) -> None:
        """Do nothing: writes are unbuffered."""

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _set_aside(self) -> None:
        """Rename the file and begin a new one; also redirect standard streams that lead here (``start -d``)."""
        old = self._file
        self._path.replace(self._path.with_name(self._path.name + ".1"))
        self._file = self._path.open("ab", buffering=0)
        for stream in (1, 2):
            try:
                leads_here = os.path.sameopenfile(stream, old.fileno())
            except OSError:
                continue  # that stream is closed
            if leads_here:
                os.dup2(self._file.fileno(), stream, inheritable=True)
        old.close()


def stream_for(path: Path | None) -> LogStream:
    """Return the stream for the log: the file at *path*, or standard error. Raises: OSError.

    Raises: OSError.
    """
    return sys.stderr if path is None else LogFile(path)


LONGEST_BACKLOG = 10_000
GATHER_S = 0.02

_NOT_SHOWN = {"logThreads": False, "logProcesses": False, "logMultiprocessing": False, "_srcfile": None}
"""Switches of the logging module for values that no line shows; computing them takes half the time of an access line.

``_srcfile`` is the module's documented way of not looking for the caller of every log method.
"""


def text_line(record: logging.LogRecord) -> str:
    """Return ``2026-11-20T08:00:00.000Z INFO emulator.access message``, tracebacks below."""
    line = f"{_time(record)} {record.levelname} {record.name} {record.getMessage()}"
    trace = _trace(record)
    return f"{line}\n{trace}" if trace else line


def json_line(record: logging.LogRecord) -> str:
    """Return one JSON object with ``time``, ``level``, ``logger``, ``message`` and the record's named values.

    ``trace`` is the id of the request that caused the line, ``exception`` the traceback of a failure.
    """
    fields = fields_of(record)
    content = {
        **fields,
        "time": _time(record),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": record.getMessage(),
    }
    if trace_id := trace_of(fields):
        content["trace"] = trace_id
    if exception := _trace(record):
        content["exception"] = exception
    return json.dumps(content, ensure_ascii=False, default=str)


def _time(record: logging.LogRecord) -> str:
    second, millis = divmod(int(record.created * 1000), SECOND)
    return f"{_second(second)}.{millis:03d}Z"


@lru_cache(maxsize=2)
def _second(second: int) -> str:
    """Return the text of a second, cached because thousands of lines share it."""
    return iso_seconds(Millis(second * SECOND)).removesuffix("Z")


def _trace(record: logging.LogRecord) -> str:
    return logging.Formatter().formatException(record.exc_info) if record.exc_info else ""


class ServerLog(logging.Handler):
    """Takes over the root logger from `open` to `close`."""

    def __init__(self, stream: LogStream, line_format: Literal["text", "json"], level: str) -> None:
        super().__init__(level.upper())
        self._stream = stream
        self._render = json_line if line_format == "json" else text_line
        self._lines: SimpleQueue[str] = SimpleQueue()
        self._dropped = 0
        self._closing = Event()
        self._before = {name: getattr(logging, name) for name in _NOT_SHOWN}
        self._writer = Thread(target=self._write, name="log-writer", daemon=True)

    @classmethod
    def open(cls, line_format: Literal["text", "json"], level: str, stream: LogStream = sys.stderr) -> "ServerLog":
        """Send all log records to *stream* from now on."""
        log = cls(stream, line_format, level)
        root = logging.getLogger()
        root.setLevel(log.level)
        root.addHandler(log)
        _switch(_NOT_SHOWN)
        log._writer.start()
        return log

    def emit(self, record: logging.LogRecord) -> None:
        """Queue one record; never waits."""
        if self._lines.qsize() >= LONGEST_BACKLOG:
            self._dropped += 1
            return
        try:
            self._lines.put(self._render(record))
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Write the queued lines and restore the root logger; give up on a stream that stays blocked."""
        logging.getLogger().removeHandler(self)
        _switch(self._before)
        self._closing.set()
        self._lines.put("")
        self._writer.join(timeout=1.0)
        super().close()

    def _write(self) -> None:
        while not (self._closing.is_set() and self._lines.empty()):
            lines = [self._lines.get()]
            self._closing.wait(GATHER_S)  # combines many small writes into few under load
            try:
                while True:
                    lines.append(self._lines.get_nowait())
            except Empty:
                pass  # the queue is empty
            if self._dropped:
                lines.append(f"... {self._dropped} lines dropped while the stream was blocked")
                self._dropped = 0
            text = "\n".join(line for line in lines if line)
            if not text:
                continue
            try:
                self._stream.write(text + "\n")
                self._stream.flush()
            except (OSError, ValueError):
                return  # the stream cannot be written to any more, so nothing can be reported


def _switch(settings: Mapping[str, object]) -> None:
    for name, value in settings.items():
        setattr(logging, name, value)
