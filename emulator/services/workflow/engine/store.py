"""The driver's view of the tables of executions: writes the changes of a slice, reads what is due."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from emulator.kernel.clock import Millis
from emulator.kernel.identity import Tenant
from emulator.services.workflow.engine.history import Recorded, packed, unpacked
from emulator.services.workflow.engine.language import TimerKind
from emulator.services.workflow.model import ExecutionId, LiveExecution, Standing, TenantId
from emulator.services.workflow.tenants import Tenants
from emulator.storage.database import Database

_ADD_TURN = "INSERT INTO workflow_turns (execution, first, world, at, events) VALUES (?, ?, ?, ?, ?)"
_END = (
    "UPDATE workflow_executions SET status = ?, stopped_at = ?, last_event = ?, output = ?, error = ?, cause = ?,"
    " ready = 0, snapshot = NULL WHERE id = ?"
)
_GO_ON = (
    "UPDATE workflow_executions SET status = 'Running', ready = ?, last_event = ?, snapshot = coalesce(?, snapshot)"
    " WHERE id = ?"
)


class Wakeup(NamedTuple):
    """A timer of an execution."""

    execution: ExecutionId
    entry: int
    kind: TimerKind
    fire_at: Millis


class Ending(NamedTuple):
    """The final columns of an execution that has ended."""

    status: str
    stopped_at: Millis
    last_event: int
    output: str
    error: str
    cause: str
    execution: ExecutionId


class Progress(NamedTuple):
    """The progress of an open execution, to be stored. ``snapshot`` None leaves the stored one."""

    standing: Standing
    last_event: int
    snapshot: str | None
    execution: ExecutionId


class Changes:
    """All changes of one slice of the driver's work; written in one transaction.

    ``turns`` has the events that each execution has recorded, by its id, tenant and the time: the id of the first event
    and a line for each (`history.packed`); a turn is one row. In ``wakeups`` and ``calls`` None stands for a row to be
    removed; ``cleared`` are ended executions whose wake-ups and calls are removed; ``callbacks`` are ended executions
    whose end has to be reported to a token, ``reported`` those for which that is done. ``watches`` are the stored
    `Watch` texts of executions that are being debugged.
    """

    __slots__ = ("callbacks", "calls", "cleared", "endings", "progress", "reported", "turns", "wakeups", "watches")

    def __init__(self) -> None:
        self.turns: dict[tuple[ExecutionId, TenantId, Millis], tuple[int, list[str]]] = {}
        self.endings: list[Ending] = []
        self.progress: list[Progress] = []
        self.wakeups: dict[tuple[ExecutionId, int, str], tuple[TenantId, Millis] | None] = {}
        self.calls: dict[tuple[ExecutionId, int], tuple[TenantId, int] | None] = {}
        self.cleared: list[ExecutionId] = []
        self.callbacks: list[tuple[ExecutionId, TenantId]] = []
        self.reported: list[ExecutionId] = []
        self.watches: list[tuple[str | None, ExecutionId]] = []

    def turn(self, execution: ExecutionId, tenant: TenantId, at: Millis, first: int) -> list[str]:
        """Return the lines of an execution's turn, to be extended; *first* is the id of its next event."""
        return self.turns.setdefault((execution, tenant, at), (first, []))[1]


def recorded(database: Database, execution: ExecutionId, start: int = 1) -> Iterator[Recorded]:
    """Yield the events of an execution from id *start* on, read as they are consumed."""
    rows = database.read(
        "SELECT first, at, events FROM workflow_turns WHERE execution = ?1 AND first >= ifnull("
        "(SELECT max(first) FROM workflow_turns WHERE execution = ?1 AND first <= ?2), 0) ORDER BY first",
        (execution, start),
    )
    for first, at, text in rows:
        yield from unpacked(first, at, text, start)


class Orphan(NamedTuple):
    """An abandoned attempt, whose child execution or queued call has to stop."""

    execution: ExecutionId
    entry: int
    attempt: int
    tenant: Tenant
    flow: str
    name: str
    started_at: Millis


def orphaned(attempt: int) -> int:
    """Return the negative number that marks an abandoned attempt in the row of its call."""
    return -1 - attempt


class EngineStore:
    """Open executions with their histories, snapshots, wake-ups and calls."""

    def __init__(self, database: Database, tenants: Tenants) -> None:
        self._database = database
        self._tenants = tenants

    def live(self, execution: ExecutionId) -> LiveExecution | None:
        """Return an execution that has not ended."""
        row = self._database.read(
            "SELECT e.id, e.world, f.name, e.name, e.definition, e.input, e.callback_token, e.started_at, e.halted,"
            " e.last_event, e.snapshot, e.ready, f.execution_mode = 'Express', e.trace, e.role_arn, e.watch,"
            " r.step, r.is_express FROM workflow_executions e JOIN workflow_flows f ON f.id = e.flow"
            " LEFT JOIN workflow_map_runs r ON r.id = e.map_run WHERE e.id = ? AND e.stopped_at IS NULL",
            (execution,),
        ).fetchone()
        if row is None:
            return None
        execution_id, tenant, *rest = row
        return LiveExecution(execution_id, self._tenants.by_id(tenant), TenantId(tenant), *rest)

    def events_after(self, execution: ExecutionId, event: int) -> Iterator[Recorded]:
        """Return the events after *event*."""
        return recorded(self._database, execution, event + 1)

    def write(self, changes: Changes) -> None:
        """Write a slice's changes."""
        many = self._database.write_many
        if changes.turns:
            turns = changes.turns.items()
            many(_ADD_TURN, [(run, first, world, at, packed(lines)) for (run, world, at), (first, lines) in turns])
        if changes.progress:
            many(_GO_ON, changes.progress)
        if changes.endings:
            many(_END, changes.endings)
        for table, rows, columns in (
            ("wakeups", changes.wakeups, ("execution", "entry", "kind", "world", "fire_at")),
            ("calls", changes.calls, ("execution", "entry", "world", "attempt")),
        ):
            self._put(table, rows, columns)
        if changes.cleared:
            ended = [(execution,) for execution in changes.cleared]
            many("DELETE FROM workflow_wakeups WHERE execution = ?", ended)
            many("DELETE FROM workflow_calls WHERE execution = ? AND attempt >= 0", ended)
        if changes.callbacks:
            many("INSERT INTO workflow_callbacks (execution, world) VALUES (?, ?)", changes.callbacks)
        if changes.watches:
            many("UPDATE workflow_executions SET watch = ? WHERE id = ?", changes.watches)
        if changes.reported:
            many("DELETE FROM workflow_callbacks WHERE execution = ?", [(execution,) for execution in changes.reported])

    def _put(self, table: str, rows: Mapping[Any, tuple[Any, ...] | None], columns: tuple[str, ...]) -> None:
        """Write the rows of a table by their keys, the first of *columns*; None removes one."""
        gone = [key for key, value in rows.items() if value is None]
        come = [(*key, *value) for key, value in rows.items() if value is not None]
        if gone:
            where = " AND ".join(f"{column} = ?" for column in columns[:-2])
            self._database.write_many(f"DELETE FROM workflow_{table} WHERE {where}", gone)  # noqa: S608 - names from above
        if come:
            places = ", ".join("?" * len(columns))
            self._database.write_many(
                f"INSERT OR REPLACE INTO workflow_{table} ({', '.join(columns)}) VALUES ({places})",  # noqa: S608 - as above
                come,
            )

    def due(self, now: Millis, limit: int) -> Sequence[Wakeup]:
        """Return up to *limit* wake-ups that are due, earliest first."""
        rows = self._database.read(
            "SELECT execution, entry, kind, fire_at FROM workflow_wakeups WHERE fire_at <= ? ORDER BY fire_at LIMIT ?",
            (now, limit),
        )
        return [Wakeup(*row) for row in rows]

    def next_wakeup(self) -> Millis | None:
        """Return the time of the earliest wake-up."""
        row = self._database.read("SELECT min(fire_at) FROM workflow_wakeups").fetchone()
        return None if row[0] is None else Millis(row[0])

    def upcoming(self, now: Millis, limit: int) -> list[tuple[str, str, TimerKind, Millis]]:
        """Return the next *limit* timers due after *now*: flow, execution, kind, time."""
        return self._database.read(
            "SELECT f.name, e.name, w.kind, w.fire_at FROM workflow_wakeups w"
            " JOIN workflow_executions e ON e.id = w.execution JOIN workflow_flows f ON f.id = e.flow"
            " WHERE w.fire_at > ? ORDER BY w.fire_at LIMIT ?",
            (now, limit),
        ).fetchall()

    def submitted(self, limit: int) -> list[tuple[ExecutionId, str, str]]:
        """Return up to *limit* executions in which a task may wait for a report: id, flow and name.

        They are sorted by account and region, then the oldest first.
        """
        return self._database.read(
            "SELECT e.id, f.name, e.name FROM workflow_worlds w CROSS JOIN workflow_executions e"
            " JOIN workflow_flows f ON f.id = e.flow WHERE e.world = w.id AND e.stopped_at IS NULL AND e.ready = ?"
            " ORDER BY w.id, e.id LIMIT ?",
            (Standing.SUBMITTED, limit),
        ).fetchall()

    def ready(self) -> list[ExecutionId]:
        """Return the open executions that can go on at once, and those of deleted flows, which have to end.

        Earlier versions of the emulator left the latter parked.
        """
        rows = self._database.read(
            "SELECT id FROM workflow_executions WHERE stopped_at IS NULL AND ready = 1 UNION "
            "SELECT id FROM workflow_executions WHERE stopped_at IS NULL "
            "AND flow IN (SELECT id FROM workflow_flows WHERE deleted = 1) ORDER BY id"
        )
        return [ExecutionId(row[0]) for row in rows]

    def pending_calls(self) -> list[tuple[ExecutionId, int]]:
        """Return (execution, entry) of the calls without a recorded result."""
        rows = self._database.read("SELECT execution, entry FROM workflow_calls WHERE attempt >= 0")
        return [(ExecutionId(execution), entry) for execution, entry in rows]

    def orphans(self) -> list["Orphan"]:
        """Return the abandoned attempts whose child execution or queued call may still have to be stopped."""
        rows = self._database.read(
            "SELECT c.execution, c.entry, -1 - c.attempt, c.world, f.name, e.name, e.started_at FROM workflow_calls c"
            " JOIN workflow_executions e ON e.id = c.execution JOIN workflow_flows f ON f.id = e.flow"
            " WHERE c.attempt < 0"
        )
        return [
            Orphan(ExecutionId(execution), entry, attempt, self._tenants.by_id(tenant), *rest)
            for execution, entry, attempt, tenant, *rest in rows.fetchall()
        ]

    def children(self) -> dict[str, tuple[str, str]]:
        """Return flow and name of the open executions that report to a token, by the token."""
        rows = self._database.read(
            "SELECT e.callback_token, f.name, e.name FROM workflow_executions e JOIN workflow_flows f ON f.id = e.flow"
            " WHERE e.stopped_at IS NULL AND e.callback_token != ''"
        )
        return {token: (flow, name) for token, flow, name in rows}

    def orphan_stopped(self, execution: ExecutionId, entry: int) -> None:
        """Record that the child execution or queued call of an abandoned attempt was stopped."""
        self._database.write(
            "DELETE FROM workflow_calls WHERE execution = ? AND entry = ? AND attempt < 0", (execution, entry)
        )
