"""The effect log: lines of the log that belong to a trace, kept in the state file for traces over restarts.

What is logged is in the journal at once. A moment later it is written to a table, the latest `KEPT` of it: under load
only so much a second, because a trace is for looking at single requests.
"""

import asyncio
import json
from typing import Any

from emulator.gateway.journal import Journal
from emulator.lab.causes import Effect, belongs, ids_of, trace_to_show, tree
from emulator.lab.errors import LabError
from emulator.storage.database import Database

KEPT = 20_000
WRITE_EVERY_S = 0.25
WRITTEN_AT_ONCE = 250

_OWN_SERVICES = frozenset({"admin", "console", "sink", "deployments", "-"})


class EffectLog:
    """Writes the effects of the *journal* from `start` to `close`, and answers traces."""

    def __init__(self, database: Database, journal: Journal) -> None:
        self._database = database
        self._journal = journal
        self._seen = 0
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start writing."""
        self._seen = self._journal.count
        self._arm()

    def close(self) -> None:
        """Write what is left and stop."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
            self._write()

    def trace(self, id: str) -> dict[str, Any]:
        """Return the tree that a request, message or call id, or ``flow/execution``, belongs to.

        Raises: LabError (NotFound).
        """
        self._write(most=None)
        trace = self._trace_of(id)
        if trace is None:
            raise LabError("NotFound", what="request, message, call or execution", name=id)
        rows = self._database.read(
            "SELECT at, trace, cause, fields FROM lab_effects WHERE trace = ? OR ids LIKE ? ESCAPE '!' ORDER BY seq",
            (trace, f"% {_escaped(trace)} %"),
        )
        effects = [effect for effect in map(_effect, rows) if belongs(effect, trace)]
        return {"id": id, "trace": trace, "tree": tree(effects, trace)}

    def _trace_of(self, id: str) -> str | None:
        rows = self._database.read(
            "SELECT at, trace, cause, fields FROM lab_effects WHERE ids LIKE ? ESCAPE '!' ORDER BY seq",
            (f"% {_escaped(id)} %",),
        )
        first = next(iter(rows), None)
        return None if first is None else trace_to_show(_effect(first), id)

    def _arm(self) -> None:
        self._handle = asyncio.get_running_loop().call_later(WRITE_EVERY_S, self._tick)

    def _tick(self) -> None:
        if self._journal.count != self._seen:
            self._write()
        self._arm()

    def _write(self, most: int | None = WRITTEN_AT_ONCE) -> None:
        """Write what the journal has got since the last time, the latest *most* of it."""
        new = self._journal.effects(self._journal.count - self._seen)
        self._seen = self._journal.count
        rows = []
        for at, trace, cause, fields in new if most is None else new[-most:]:
            if not trace or fields.get("service") in _OWN_SERVICES:
                continue
            effect = Effect(at, trace, cause, fields)
            ids = ids_of(effect)
            received = [fields["cause"]] if fields.get("cause") else list(fields.get("causes") or ())
            if ids:
                text = json.dumps({key: value for key, value in fields.items() if key != "trace"}, default=str)
                rows.append((at, trace, cause, f" {' '.join([*ids, *received])} ", text))
        if rows:
            self._database.write_many(
                "INSERT INTO lab_effects (at, trace, cause, ids, fields) VALUES (?, ?, ?, ?, ?)", rows
            )
            self._database.write("DELETE FROM lab_effects WHERE seq <= (SELECT max(seq) FROM lab_effects) - ?", (KEPT,))


def _effect(row: tuple[int, str, str, str]) -> Effect:
    return Effect(row[0], row[1], row[2], json.loads(row[3]))


def _escaped(text: str) -> str:
    """Return *text* without the meaning that LIKE gives to some characters."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
