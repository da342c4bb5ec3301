"""The names of what has changed, for open pages: each reloads only the parts that show one of them.

Names come from rows that are written and from lines of the log, and begin with a kind: ``queue/orders``,
``execution/approve/first``, ``function/shop/ask`` for the function itself and ``call/shop/ask`` for its calls,
``request/mns``, ``clock``, ``lab``. Nothing is watched while no page is open.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import ExitStack
from logging import LogRecord
from typing import Any
from urllib.parse import quote

from emulator.gateway.journal import Journal
from emulator.kernel.tracing import fields_of

EVERYTHING = "*"
"""Stands for all names, when it is not known what has changed."""

_KEPT = 2_000
"""How many names are remembered, each with the number of its latest change."""

_LINGER_S = 60.0
"""Seconds for which changes are counted without a listener, as a page begins to listen a moment after it is made."""

_EVERY_S = 0.2
"""The shortest time, in seconds, between two events sent to a page."""

Watch = Callable[[Callable[[str], None]], Callable[[], None]]
"""Registers a callback for the name of each row that is written, and returns the function that removes it."""


class Changes:
    """The latest change of each name, for pages that wait for the next one; used on the loop only.

    *rows* watches the rows, *journal* has the lines of the log. Changes are numbered from *first*, which differs from
    run to run, so that a page of an earlier run is sent `EVERYTHING`.
    """

    def __init__(self, rows: Watch, journal: Journal, first: int) -> None:
        self._rows = rows
        self._journal = journal
        self._number = self._known_from = first
        self._latest = OrderedDict[str, int]()
        self._changed = asyncio.Event()
        self._listening = 0
        self._watch: ExitStack | None = None
        self._pause: asyncio.TimerHandle | None = None

    def mark(self) -> int:
        """Return the number of the latest change, and watch for changes from now on, so that `since` can tell them."""
        loop = asyncio.get_running_loop()
        if self._pause is not None:
            self._pause.cancel()
        self._pause = loop.call_later(_LINGER_S, self._rest)
        if self._watch is None:
            self._number += 1
            self._known_from = self._number
            self._watch = ExitStack()
            self._watch.callback(self._rows(self.note))

            def logged(record: LogRecord) -> None:
                for name in names_of(fields_of(record)):
                    loop.call_soon_threadsafe(self.note, name)

            self._journal.watchers.append(logged)
            self._watch.callback(self._journal.watchers.remove, logged)
        return self._number

    def note(self, name: str) -> None:
        """Record a change of *name*."""
        self._number += 1
        self._latest[name] = self._number
        self._latest.move_to_end(name)
        if len(self._latest) > _KEPT:
            self._known_from = self._latest.popitem(last=False)[1]
        self._changed.set()

    def since(self, number: int) -> list[str]:
        """Return the names changed after the change *number*; `EVERYTHING` when they are not known."""
        if self._watch is None or not self._known_from <= number <= self._number:
            return [EVERYTHING]
        names = []
        for name, at in reversed(self._latest.items()):
            if at <= number:
                break
            names.append(name)
        return names

    async def listen(self, number: int, heartbeat_s: float) -> AsyncIterator[tuple[int, list[str]]]:
        """Yield (number, names) of changes after *number*; no names after *heartbeat_s* seconds without a change."""
        self._listening += 1
        try:
            while True:
                names = self.since(number)
                number = self.mark()
                if names:
                    yield number, names
                    await asyncio.sleep(_EVERY_S)
                    continue
                self._changed.clear()
                try:
                    async with asyncio.timeout(heartbeat_s):
                        await self._changed.wait()
                except TimeoutError:
                    yield number, []
        finally:
            self._listening -= 1

    def close(self) -> None:
        """Stop watching."""
        if self._pause is not None:
            self._pause.cancel()
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        self._latest.clear()

    def _rest(self) -> None:
        if not self._listening:
            self.close()


def written(name: str) -> str:
    """Return a name as pages and the stream write it: without blanks and line breaks."""
    return quote(name, safe="/*")


def names_of(fields: Mapping[str, Any]) -> Iterable[str]:
    """Return the names of the requests, calls of functions and pushes that a line of the log is about."""
    service = fields.get("service")
    if "operation" in fields:
        if service == "admin" or (service == "console" and str(fields["operation"]).startswith("POST")):
            yield "lab"
        elif service != "console":
            yield f"request/{service}"
    if fields.get("function"):
        yield f"call/{fields['function']}"
    if "subscription" in fields and fields.get("topic"):
        yield f"topic/{fields['topic']}"
