"""The usage counters: the counts of the services since the start, added to those of earlier processes.

The services count in plain numbers and never write. Every `WRITE_EVERY_S` seconds, and at the end, the totals are
written to a table, so a killed process loses the counts of that time at most. The totals in memory are authoritative:
neither a restored checkpoint nor a lost transaction reduces the usage.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from emulator.kernel.metering import Amount, added
from emulator.kernel.tasks import in_turns
from emulator.storage.database import Database
from emulator.storage.migration import Schema

SCHEMA = Schema("usage", Path(__file__).parent / "schema")

WRITE_EVERY_S: Final = 2.0

Key = tuple[str, str, str]
"""Item, resource, kind."""

Totals = Mapping[Key, float]


class Meter:
    """Totals since the counters were reset.

    *count* returns the amounts since the start of the process.
    """

    def __init__(self, database: Database, count: Callable[[], Iterable[Amount]]) -> None:
        self._database = database
        self._count = count
        self._before: dict[Key, float] = {}
        self._written: dict[Key, float] | None = {}
        self._marked: dict[Key, float] = {}
        self._handle: asyncio.TimerHandle | None = None
        database.on_rollback(self._forget)

    async def start(self) -> None:
        """Add the counts of earlier processes, read in several turns of the loop, and start writing."""
        rows = self._database.read("SELECT item, resource, kind, amount FROM usage_amounts")
        async for item, resource, kind, amount in in_turns(rows, 1_000):
            self._before[item, resource, kind] = amount
        self._written = dict(self._before)
        self._arm()

    def close(self) -> None:
        """Write the totals and stop."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
            if self._database.is_writable(_leave):
                self._write()

    def totals(self) -> dict[Key, float]:
        """Return how much of each item every resource has used since the counters were reset."""
        totals = dict(self._before)
        for key, amount in added(self._count()).items():
            totals[key] = totals.get(key, 0) + amount
        return {key: amount for key, amount in totals.items() if amount > 0}

    def mark(self) -> None:
        """Remember the totals, for `since_mark`."""
        self._marked = self.totals()

    def since_mark(self) -> dict[Key, float]:
        """Return the usage since the mark, or since the reset when that was later."""
        rest = ((key, amount - self._marked.get(key, 0)) for key, amount in self.totals().items())
        return {key: amount for key, amount in rest if amount > 0}

    def reset(self) -> None:
        """Set all counters to zero."""
        self._before = {key: -amount for key, amount in added(self._count()).items()}
        self._marked = {}
        self._write()

    def _arm(self) -> None:
        self._handle = asyncio.get_running_loop().call_later(WRITE_EVERY_S, self._tick)

    def _tick(self) -> None:
        if self._handle is None:
            return
        if self.totals() != self._written:
            if not self._database.is_writable(self._tick):
                return
            self._write()
        self._arm()

    def _write(self) -> None:
        totals = self.totals()
        if self._written is None or self._written.keys() - totals.keys():
            self._database.write("DELETE FROM usage_amounts")
            self._written = {}
        changed = [(*key, amount) for key, amount in totals.items() if self._written.get(key) != amount]
        self._database.write_many("INSERT OR REPLACE INTO usage_amounts VALUES (?, ?, ?, ?)", changed)
        self._written = totals

    def _forget(self) -> None:
        """Write the whole table next time: a rollback or a restore may have changed it."""
        self._written = None


def _leave() -> None:
    """Do nothing: at the end, the last counts are lost when another program holds the lock."""
