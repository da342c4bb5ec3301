"""The last lines of the log, kept so that all that one request caused can be shown together.

Lines are kept as the logging module made them and rendered only when asked for. What is older is in the log itself,
where each line of ``--log-format json`` names its request and its trace.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.tracing import cause, current_trace, fields_of, trace_of
from emulator.wire.dates import iso_millis

LINES: Final = 5_000
"""A line is some 600 bytes: together three megabytes, once so many have come."""

OUTPUT_BYTES: Final = 4_000
"""So much is kept of what a function writes at a time."""


class _Line:
    """A line of the log, or a piece of what a function wrote."""

    __slots__ = ("at", "fields", "source", "trace")

    def __init__(self, at: int, source: logging.LogRecord | bytes, fields: Mapping[str, Any], trace: str) -> None:
        self.at = at
        self.source = source
        self.fields = fields
        self.trace = trace

    @property
    def request(self) -> str:
        return str(self.fields.get("request", ""))

    def came_of(self, request: str) -> bool:
        """Whether the line is the request's own, or of what it set off, or of who received what it had sent."""
        said = self.fields
        return request in {self.trace, self.request, said.get("cause")} or request in said.get("causes", ())

    def rendered(self) -> dict[str, Any]:
        if isinstance(self.source, bytes):
            logger, message = "function", self.source.decode("utf-8", "replace").rstrip("\n")
        else:
            logger, message = self.source.name, _message_of(self.source)
        line = {**self.fields, "time": iso_millis(Millis(self.at)), "logger": logger, "message": message}
        return line | {"trace": self.trace} if self.trace else line


def _message_of(record: logging.LogRecord) -> str:
    """Return the message, or its template when the values do not fit it, as other handlers do not fail either."""
    try:
        return record.getMessage()
    except (TypeError, ValueError, LookupError):
        return str(record.msg)


_Kept = tuple[logging.LogRecord, str, str, Millis, int]
"""A record with the trace, the cause and the emulator's time when it was logged, and its number."""

Standpoint = tuple[int, tuple[tuple[int, int], ...]]
"""How many records had been kept, and the ranges (first, end) of their numbers that were undone."""


def _line(kept: _Line | _Kept) -> _Line:
    """Return the line of what was kept."""
    if isinstance(kept, _Line):
        return kept
    record, present, _, at, _ = kept
    fields = fields_of(record)
    return _Line(at, record, fields, trace_of(fields, present))


class Journal(logging.Handler):
    """Keeps what is logged from `open` to `close`, at the level the program logs at."""

    def __init__(self, clock: Clock, lines: int = LINES) -> None:
        super().__init__(logging.INFO)
        self._clock = clock
        self._lines: deque[_Line | _Kept] = deque(maxlen=lines)
        self.count = 0
        """How many records have been kept since the start."""
        self._undone: tuple[tuple[int, int], ...] = ()
        self._marked: _Line | _Kept | None = None
        self.watchers: list[Callable[[logging.LogRecord], None]] = []
        """Called with each record, in the thread that logs it."""

    def open(self) -> None:
        """Start recording log lines."""
        logging.getLogger().addHandler(self)

    def close(self) -> None:
        """Stop recording."""
        logging.getLogger().removeHandler(self)
        super().close()

    def handle(self, record: logging.LogRecord) -> bool:
        """Keep one record, without the lock and filters of other handlers: this is on the way of every request."""
        self._lines.append((record, current_trace(), cause(), self._clock.now(), self.count))
        self.count += 1
        if self.watchers:
            for watch in self.watchers:
                watch(record)
        return True

    def effects(self, latest: int) -> list[tuple[int, str, str, Mapping[str, Any]]]:
        """Return time, trace, cause and fields of the *latest* records that have a trace, in their order.

        Records that were undone by restoring a state are left out.
        """
        records = [each for each in list(self._lines) if not isinstance(each, _Line)]  # threads append meanwhile
        effects = []
        for record, present, key, at, number in records[-latest:] if latest > 0 else []:
            fields = fields_of(record)
            if fields and not any(first <= number < end for first, end in self._undone):
                effects.append((int(at), trace_of(fields, present), key, fields))
        return effects

    def kept(self) -> Standpoint:
        """Return the present standpoint, for `put_back` when the present state is restored later."""
        return self.count, self._undone

    def put_back(self, kept: Standpoint | None) -> None:
        """Mark the records after *kept* as undone; for None all of them, as the new state is empty or another's."""
        first, undone = kept or (0, ())
        self._undone = (*undone, (first, self.count))

    def mark(self) -> None:
        """Remember the present end of the log, for `since_mark`."""
        self._marked = self._lines[-1] if self._lines else None

    def since_mark(self) -> list[dict[str, Any]]:
        """Return the lines after the mark that are still kept, as JSON objects."""
        later: list[_Line] = []
        for each in reversed(list(self._lines)):
            if each is self._marked:
                break
            later.append(_line(each))
        return [line.rendered() for line in reversed(later)]

    def output(self, function: str, request: str, text: bytes) -> None:
        """Keep a piece of what a function wrote while it served *request*."""
        if request:
            fields = {"request": request, "function": function}
            self._lines.append(_Line(self._clock.now(), text[:OUTPUT_BYTES], fields, ""))

    def latest(self, logger: str, fits: Callable[[Mapping[str, Any]], bool]) -> Iterator[dict[str, Any]]:
        """Yield the kept lines of a logger whose fields *fits* takes, newest first, in JSON's terms."""
        for each in reversed(list(self._lines)):
            if not isinstance(each, _Line) and each[0].name == logger and fits(fields_of(each[0])):
                yield _line(each).rendered()

    def find(self, request: str) -> list[dict[str, Any]]:
        """Return the lines that *request* caused, in their order, as JSON objects.

        What functions wrote is found by the ids of their calls.
        """
        if not request:
            return []
        lines = [_line(each) for each in list(self._lines)]
        calls = {line.request for line in lines if request in {line.trace, line.request}} - {""}
        return [
            line.rendered()
            for line in lines
            if line.came_of(request) or (isinstance(line.source, bytes) and line.request in calls)
        ]
