"""The operations' view of the tables of executions; `engine.store` has the driver's view."""

import json
from collections.abc import Sequence
from itertools import groupby, islice, takewhile
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.tracing import current_trace
from emulator.services.workflow.engine.events import IterationEntered, StepEntered
from emulator.services.workflow.engine.history import line_of, packed, whole_iteration
from emulator.services.workflow.engine.json_text import member_texts
from emulator.services.workflow.engine.store import recorded
from emulator.services.workflow.model import (
    EndedExecution,
    ExecutionFilter,
    ExecutionId,
    ExecutionRecord,
    FlowId,
    FlowRecord,
    FoundExecution,
    HistoryEvent,
    LiveExecution,
    NewExecution,
    Origin,
    Status,
)
from emulator.services.workflow.tenants import Tenants
from emulator.storage.database import Database

_EXECUTION_COLUMNS = (
    "e.id, f.name, e.name, d.text, e.role_arn, e.environment, e.input, e.output, e.status, e.started_at,"
    " e.stopped_at, e.error, e.cause"
)
_EXECUTIONS = (
    "workflow_executions e JOIN workflow_flows f ON f.id = e.flow JOIN workflow_definitions d ON d.id = e.definition"
)
_EXECUTION = f"SELECT {_EXECUTION_COLUMNS} FROM {_EXECUTIONS}"  # noqa: S608 - of the two texts above
_FOUND = (
    "SELECT e.id, f.name, e.name, e.error, e.cause FROM workflow_flows f CROSS JOIN workflow_executions e"
    " ON e.flow = f.id AND e.name >= ? AND e.name < ? WHERE f.world = ? AND f.deleted = 0 AND e.map_run IS NULL"
    " ORDER BY f.name, e.name LIMIT ?"
)
_WITH_ERRORS = (
    "SELECT e.id, f.name, e.name, e.error, e.cause FROM workflow_executions e JOIN workflow_flows f ON f.id = e.flow"
    " WHERE e.world = ? AND e.error <> '' AND e.id < ? AND f.deleted = 0 AND e.map_run IS NULL"
    " ORDER BY e.id DESC LIMIT ?"
)

_REPORTED = " AND id NOT IN (SELECT execution FROM workflow_callbacks)"
"""An execution whose end is still to be reported to a task token stays."""

_NEXT_ID = (
    "max(ifnull((SELECT max(id) FROM workflow_executions), 0), ifnull((SELECT execution FROM workflow_numbers), 0)) + 1"
)

_RESTARTS_KEPT = 1_000
_ABOVE_ALL_NAMES = "~"  # names have letters, digits, - and _


class ExecutionStore:
    """Executions, and their histories as the API shows them."""

    def __init__(self, database: Database, tenants: Tenants) -> None:
        self._database = database
        self._tenants = tenants
        self.generation = 0
        """A number that grows when executions are removed or replaced, after which their ids may be given out again."""
        database.on_rollback(self.forget)

    def forget(self) -> None:
        """Invalidate every `HistoryId`, because the tables were replaced."""
        self.generation += 1

    def keep_numbers(self) -> None:
        """Keep ids from being reused after executions are removed, because keys of calls, which name them, stay."""
        self._database.write(
            "INSERT INTO workflow_numbers (id, execution)"
            " SELECT 1, ifnull(max(id), 0) FROM workflow_executions WHERE true"
            " ON CONFLICT (id) DO UPDATE SET execution = max(execution, excluded.execution)"
        )

    def add(self, tenant: Tenant, flow: FlowRecord, new: NewExecution) -> LiveExecution:
        """Store an accepted execution, which is ready to run, and return it.

        An element of a map is returned without the fields of its run, which `EngineStore.live` reads.
        """
        world, request, settings = self._tenants.id_of(tenant), current_trace(), flow.settings
        row = self._database.write(
            "INSERT INTO workflow_executions (id, world, flow, definition, role_arn, environment,"  # noqa: S608 - _NEXT_ID
            " version, trace, name, input, callback_token, started_at, qualifier, map_run, map_index, status, ready)"
            f" VALUES ({_NEXT_ID}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'Starting', 1)",
            (
                world, flow.id, flow.definition_id, settings.role_arn, settings.environment, flow.version,
                request, *new,
            ),
        ).lastrowid  # fmt: skip
        assert row is not None
        return LiveExecution(
            ExecutionId(row), tenant, world, flow.name, new.name, flow.definition_id, new.input, new.callback_token,
            new.started_at, halted=False, last_event=0, snapshot=None, is_express=settings.is_express, trace=request,
            role_arn=settings.role_arn,
        )  # fmt: skip

    def share(self, execution: ExecutionId, origin: Origin) -> None:
        """Copy the events of *origin* to a new execution, as its beginning."""
        self._database.write(
            "UPDATE workflow_executions SET status = 'Running', last_event = ?, watch = ? WHERE id = ?",
            (origin.last_event, origin.watch, execution),
        )
        shared = takewhile(lambda event: event.id <= origin.last_event, recorded(self._database, origin.execution))
        for at, events in groupby(list(shared), key=lambda event: event.at):
            turn = list(events)
            self._database.write(
                "INSERT INTO workflow_turns (execution, first, world, at, events)"
                " SELECT id, ?, world, ?, ? FROM workflow_executions WHERE id = ?",
                (turn[0].id, at + origin.moved_ms, packed(line_of(each, each.detail) for each in turn), execution),
            )

    def entered(self, execution: ExecutionId, step: str) -> int | None:
        """Return the id of the last event by which *step* was entered; None when it has not been."""
        return max(
            (
                event.id
                for event in recorded(self._database, execution)
                if event.type == StepEntered.type and event.step == step
            ),
            default=None,
        )

    def get(self, flow: FlowId, name: str) -> ExecutionRecord | None:
        """Return an execution."""
        row = self._database.read(f"{_EXECUTION} WHERE e.flow = ? AND e.name = ?", (flow, name)).fetchone()
        return None if row is None else _execution(row)

    def beginning(self, tenant: Tenant, text: str, limit: int) -> list[FoundExecution]:
        """Return up to *limit* executions whose names begin with *text*, of all flows, by their names."""
        bounds = (text, text + _ABOVE_ALL_NAMES, self._tenants.id_of(tenant), limit)
        return [FoundExecution(*row) for row in self._database.read(_FOUND, bounds)]

    def with_errors(self, tenant: Tenant, before: int, limit: int) -> list[FoundExecution]:
        """Return up to *limit* executions that have ended with an error, newest first, with ids below *before*."""
        rows = self._database.read(_WITH_ERRORS, (self._tenants.id_of(tenant), before, limit))
        return [FoundExecution(*row) for row in rows]

    def page(
        self, flow: FlowId, criteria: ExecutionFilter, start: ExecutionRecord | None, limit: int
    ) -> list[ExecutionRecord]:
        """Return up to *limit* executions, newest first, from *start* on (inclusive)."""
        prefix = criteria.name_prefix
        conditions: list[tuple[bool, str, tuple[Any, ...]]] = [
            (True, "e.flow = ?", (flow,)),
            (True, "e.map_run IS ?", (criteria.map_run,)),
            (criteria.status is not None, "e.status = ?", (criteria.status,)),
            (criteria.started_from is not None, "e.started_at >= ?", (criteria.started_from,)),
            (criteria.started_before is not None, "e.started_at < ?", (criteria.started_before,)),
            (bool(prefix), "substr(e.name, 1, ?) = ?", (len(prefix), prefix)),
            (bool(criteria.qualifier), "? IN (e.version, e.qualifier)", (criteria.qualifier,)),
        ]
        if start is not None:
            conditions.append((True, "(e.started_at, e.id) <= (?, ?)", (start.started_at, start.id)))
        where = [condition for applies, condition, _ in conditions if applies]
        values = [value for applies, _, each in conditions if applies for value in each]
        rows = self._database.read(
            f"{_EXECUTION} WHERE {' AND '.join(where)} ORDER BY e.started_at DESC, e.id DESC LIMIT ?",
            (*values, limit),
        )
        return [_execution(row) for row in rows]

    def history(self, execution: ExecutionId, start: int, limit: int, *, whole: bool = True) -> list[HistoryEvent]:
        """Return up to *limit* events from id *start* on, as the API shows them.

        What the events of iterations share is kept once, and shown with each unless *whole* is false.
        """
        shared: dict[int, dict[str, str]] = {}
        events = []
        for event in islice(recorded(self._database, execution, start), limit):
            shown, mark = event.detail, event.mark
            if whole and mark is not None and event.type == IterationEntered.type:
                if mark not in shared:
                    shared[mark] = self._input_members(execution, mark)
                shown = whole_iteration(shown, shared[mark])
            events.append(HistoryEvent(event.id, event.scheduled, event.step, event.type, event.at, shown))
        return events

    def _input_members(self, execution: ExecutionId, entered: int) -> dict[str, str]:
        """Return the members of the input in the StepEntered event *entered*."""
        event = next(recorded(self._database, execution, entered))
        return member_texts(json.loads(event.detail)["input"])

    def open_by_tenant(self) -> dict[Tenant, int]:
        """Return how many executions have not ended."""
        rows = self._database.read(
            "SELECT world, count(*) FROM workflow_executions WHERE stopped_at IS NULL GROUP BY world"
        ).fetchall()
        return {self._tenants.by_id(tenant): count for tenant, count in rows}

    def add_restart(self, at: Millis) -> None:
        """Keep the time of a start when executions are open, and forget the oldest of too many."""
        self._database.write(
            "INSERT OR IGNORE INTO workflow_restarts (at)"
            " SELECT ? WHERE EXISTS (SELECT 1 FROM workflow_executions WHERE stopped_at IS NULL)",
            (at,),
        )
        self._database.write(
            "DELETE FROM workflow_restarts WHERE at NOT IN (SELECT at FROM workflow_restarts ORDER BY at DESC LIMIT ?)",
            (_RESTARTS_KEPT,),
        )

    def restarts(self, begin: Millis, end: Millis) -> list[Millis]:
        """Return the times of the starts from *begin* to *end*, oldest first."""
        sql = "SELECT at FROM workflow_restarts WHERE at BETWEEN ? AND ? ORDER BY at"
        return [Millis(row[0]) for row in self._database.read(sql, (begin, end))]

    def pending_callbacks(self) -> list[ExecutionId]:
        """Return the ended executions whose end has not been reported to their task token."""
        return [ExecutionId(row[0]) for row in self._database.read("SELECT execution FROM workflow_callbacks")]

    def ended(self, execution: ExecutionId) -> EndedExecution | None:
        """Return an ended execution, with the token or map run to which its end is reported."""
        row = self._database.read(
            "SELECT e.world, e.callback_token, e.map_run,"  # noqa: S608 - of the two texts above
            f" {_EXECUTION_COLUMNS} FROM {_EXECUTIONS}"
            " WHERE e.id = ? AND e.stopped_at IS NOT NULL",
            (execution,),
        ).fetchone()
        if row is None:
            return None
        tenant, token, map_run, *columns = row
        return EndedExecution(
            record=_execution(columns),
            tenant=self._tenants.by_id(tenant),
            callback_token=token,
            map_run=map_run,
        )

    def secret(self, draw: bytes) -> bytes:
        """Return the secret of this installation; without one, *draw* becomes the secret."""
        self._database.write("INSERT OR IGNORE INTO workflow_secret (id, secret) VALUES (1, ?)", (draw,))
        return bytes(self._database.read("SELECT secret FROM workflow_secret").fetchone()[0])

    def halt(self, flow: FlowId) -> list[ExecutionId]:
        """Mark the open executions of a deleted flow, which enter no further step; return their ids."""
        open_ones = []
        for status in (Status.STARTING, Status.RUNNING):
            rows = self._database.read(
                "SELECT id FROM workflow_executions WHERE flow = ? AND status = ?", (flow, status.value)
            )
            open_ones += [ExecutionId(row[0]) for row in rows]
        self._database.write_many(
            "UPDATE workflow_executions SET halted = 1, ready = 1 WHERE id = ?",
            [(execution,) for execution in open_ones],
        )
        return open_ones

    def clear_deleted(self, rows: int) -> bool:
        """Remove about *rows* rows of deleted flows; return whether more can be removed now."""
        ended_ones = "SELECT id, last_event FROM workflow_executions WHERE flow = ? AND stopped_at IS NOT NULL"
        for (flow,) in self._database.read("SELECT id FROM workflow_flows WHERE deleted = 1").fetchall():
            ended = self._database.read(f"{ended_ones}{_REPORTED} LIMIT ?", (flow, rows)).fetchall()
            rows = self._clear_some(ended, rows)
            if rows <= 0:
                return True
            left = self._database.read("SELECT 1 FROM workflow_executions WHERE flow = ? LIMIT 1", (flow,)).fetchone()
            if left is None:
                self._database.write("DELETE FROM workflow_definitions WHERE flow = ?", (flow,))
                self._database.write("DELETE FROM workflow_flows WHERE id = ?", (flow,))
        return False

    def clear_ended(self, before: Millis, rows: int) -> bool:
        """Remove about *rows* rows of executions that ended before a time; return whether there are more."""
        ended = self._database.read(
            "SELECT id, last_event FROM workflow_executions WHERE stopped_at < ?"  # noqa: S608 - of the text above
            f"{_REPORTED} ORDER BY stopped_at LIMIT ?",
            (before, rows),
        ).fetchall()
        return self._clear_some(ended, rows) <= 0

    def first_end(self) -> Millis | None:
        """Return when the first of the ended executions ended; None when there are none."""
        row = self._database.read(
            "SELECT min(stopped_at) FROM workflow_executions WHERE stopped_at IS NOT NULL"
        ).fetchone()
        return None if row[0] is None else Millis(row[0])

    def newest_open(self, flow: FlowId) -> str:
        """Return the name of the newest execution of a flow that has not ended; empty when all have."""
        row = self._database.read(
            "SELECT name FROM workflow_executions WHERE flow = ? AND stopped_at IS NULL ORDER BY id DESC LIMIT 1",
            (flow,),
        ).fetchone()
        return str(row[0]) if row is not None else ""

    def clear_ended_of(self, flow: FlowId, limit: int) -> int:
        """Remove up to *limit* ended executions of a flow; return how many."""
        sql = "SELECT id FROM workflow_executions WHERE flow = ? AND stopped_at IS NOT NULL LIMIT ?"
        rows = self._database.read(sql, (flow, limit)).fetchall()
        if rows:
            self.keep_numbers()
        for (execution,) in rows:
            self._clear(execution)
        return len(rows)

    def _clear_some(self, ended: Sequence[tuple[int, int]], rows: int) -> int:
        """Remove executions, given as (id, id of last event), until *rows* rows are gone; return the rest of *rows*."""
        if ended:
            self.keep_numbers()
        for execution, last_event in ended:
            if rows <= 0:
                break
            self._clear(execution)
            rows -= last_event + 1
        return rows

    def _clear(self, execution: int) -> None:
        self.generation += 1
        for table in ("turns", "callbacks", "map_runs"):
            self._database.write(f"DELETE FROM workflow_{table} WHERE execution = ?", (execution,))  # noqa: S608 - names from the tuple above
        self._database.write("DELETE FROM workflow_executions WHERE id = ?", (execution,))


def _execution(row: Sequence[Any]) -> ExecutionRecord:
    """Return the record of a row with `_EXECUTION_COLUMNS`, which are in the order of its fields."""
    *before, status, started_at, stopped_at, error, cause = row
    return ExecutionRecord(*[*before, Status(status), started_at, stopped_at, error, cause])
