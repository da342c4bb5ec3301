"""The effect log: effects of requests, kept over restarts.

An effect is in the journal at once and written to a table a moment later; the table keeps the latest `KEPT`. Under load
only a part is written, because a trace is for looking at single requests.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from emulator.gateway.journal import Journal
from emulator.kernel.tracing import step_key
from emulator.lab.errors import LabError
from emulator.lab.traces import Effect, belongs, ids_of, trace_to_show, tree
from emulator.storage.database import Database

KEPT = 20_000
WRITE_EVERY_S = 0.25
WRITTEN_AT_ONCE = 250

_OWN_SERVICES = frozenset({"admin", "console", "sink", "deployments", "-"})


class EffectLog:
    """Writes the effects of the *journal*, those from before `start` too, until `close`, and answers traces.

    While the emulator's time *stands_still*, all durations are recorded as 0.
    """

    def __init__(self, database: Database, journal: Journal, stands_still: Callable[[], bool] = lambda: False) -> None:
        self._database = database
        self._stands_still = stands_still
        self._journal = journal
        self._seen = 0
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start writing."""
        self._arm()

    def close(self) -> None:
        """Write what is left and stop."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
            if self._database.is_writable(_leave):
                self._write()

    def trace(self, id: str) -> dict[str, Any]:
        """Return the tree that a request, message or call id, or ``flow/execution``, belongs to.

        Raises: LabError (NotFound).
        """
        first = next(iter(self.about(id, 1)), None)
        if first is None:
            raise LabError("NotFound", what="request, message, call or execution", name=id)
        trace = trace_to_show(first, id)
        return {"id": id, "trace": trace, "tree": tree(self.of(trace), trace)}

    def about(self, id: str, most: int = -1) -> list[Effect]:
        """Return the first *most* lines about an id (`ids_of`), or received because of it; -1: all."""
        self._write(most=None)
        rows = self._database.read(
            "SELECT at, trace, cause, fields FROM lab_effects WHERE ids LIKE ? ESCAPE '!' ORDER BY seq LIMIT ?",
            (f"% {_escaped(id)} %", most),
        )
        return list(map(_effect, rows))

    def of(self, trace: str) -> list[Effect]:
        """Return the lines of a trace, oldest first."""
        rows = self._database.read(
            "SELECT at, trace, cause, fields FROM lab_effects WHERE trace = ? OR ids LIKE ? ESCAPE '!' ORDER BY seq",
            (trace, f"% {_escaped(trace)} %"),
        )
        return [effect for effect in map(_effect, rows) if belongs(effect, trace)]

    def latest(self, most: int) -> list[Effect]:
        """Return the latest *most* lines, oldest first."""
        self._write(most=None)
        rows = self._database.read(
            "SELECT at, trace, cause, fields FROM lab_effects ORDER BY seq DESC LIMIT ?", (most,)
        ).fetchall()
        return [_effect(row) for row in reversed(rows)]

    def calls_of(self, flow: str, execution: str, step: str) -> list[Effect]:
        """Return the lines about function calls that a step caused directly, oldest first."""
        self._write(most=None)
        key = step_key(flow, execution, step, 1)[:-1]
        rows = self._database.read(
            "SELECT at, trace, cause, fields FROM lab_effects WHERE cause >= ? AND cause < ? ORDER BY seq",
            (key, f"{key[:-1]}!"),  # every attempt: the key goes on with a blank, which sorts before "!"
        )
        return [effect for effect in map(_effect, rows) if {"function", "result"} <= effect.fields.keys()]

    def _arm(self) -> None:
        self._handle = asyncio.get_running_loop().call_later(WRITE_EVERY_S, self._tick)

    def _tick(self) -> None:
        if self._handle is None or (self._journal.count != self._seen and not self._database.is_writable(self._tick)):
            return
        if self._journal.count != self._seen:
            self._write()
        self._arm()

    def _write(self, most: int | None = WRITTEN_AT_ONCE) -> None:
        """Write the effects that the journal has got since the last write, but only the latest *most*."""
        count = self._journal.count
        new = self._journal.effects(count - self._seen)
        rows = []
        for at, trace, cause, fields in new if most is None else new[-most:]:
            if not trace or fields.get("service") in _OWN_SERVICES:
                continue
            effect = Effect(at, trace, cause, fields)
            ids = ids_of(effect)
            received = [fields["cause"]] if fields.get("cause") else list(fields.get("causes") or ())
            if ids:
                said = {key: value for key, value in fields.items() if key != "trace"}
                if self._stands_still():
                    said["ms"] = 0  # durations use the emulator's clock, which stands still
                text = json.dumps(said, default=str)
                rows.append((at, trace, cause, f" {' '.join([*ids, *received])} ", text))
        if rows:
            with self._database.eras.for_others():  # whoever reads the log need not have caused what was logged
                self._database.write_many(
                    "INSERT INTO lab_effects (at, trace, cause, ids, fields) VALUES (?, ?, ?, ?, ?)", rows
                )
                self._database.write(
                    "DELETE FROM lab_effects WHERE seq <= (SELECT max(seq) FROM lab_effects) - ?", (KEPT,)
                )
        self._seen = count  # not earlier: if the state is locked, the write is tried again


def _leave() -> None:
    """Do nothing: at the end, effects of the last second are lost when another program holds the lock."""


def _effect(row: tuple[int, str, str, str]) -> Effect:
    return Effect(row[0], row[1], row[2], json.loads(row[3]))


def _escaped(text: str) -> str:
    """Return *text* without the meaning that LIKE gives to some characters."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
