"""Flows and executions over SQLite, as the operations see them; `engine_sqlite` has what the driver sees."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.tracing import trace
from emulator.services.workflow.history_sqlite import read_history
from emulator.services.workflow.model import (
    DefinitionId,
    EndedExecution,
    ExecutionFilter,
    ExecutionId,
    ExecutionRecord,
    FlowId,
    FlowRecord,
    FlowSettings,
    HistoryEvent,
    NewExecution,
    Status,
)
from emulator.services.workflow.tenants import Tenants
from emulator.storage.database import Database
from emulator.storage.migrations import Schema

SCHEMA = Schema("workflow", Path(__file__).parent / "schema")

_FLOW = (
    "SELECT f.id, f.name, f.uuid, d.text, d.id, f.description, f.type, f.role_arn, f.storage_location,"
    " f.execution_mode, f.environment, f.resource_group, f.created_at, f.modified_at"
    " FROM workflow_flows f JOIN workflow_definitions d ON d.id = f.definition"
)
_EXECUTION_COLUMNS = (
    "e.id, f.name, e.name, d.text, e.role_arn, e.environment, e.input, e.output, e.status, e.started_at,"
    " e.stopped_at, e.error, e.cause"
)
_EXECUTIONS = (
    "workflow_executions e JOIN workflow_flows f ON f.id = e.flow JOIN workflow_definitions d ON d.id = e.definition"
)
_EXECUTION = f"SELECT {_EXECUTION_COLUMNS} FROM {_EXECUTIONS}"  # noqa: S608 - of the two texts above


class SqliteStore:
    """Implements `FlowStore`."""

    def __init__(self, database: Database, tenants: Tenants) -> None:
        self._database = database
        self._tenants = tenants

    # --- flows ---------------------------------------------------------------------------------------------------

    def add_flow(
        self, tenant: Tenant, name: str, uuid: str, definition: str, settings: FlowSettings, now: Millis
    ) -> None:
        """Keep a new flow."""
        world_id = self._tenants.id_of(tenant)
        flow = self._database.write(
            "INSERT INTO workflow_flows (world, name, uuid, description, definition, type, role_arn, storage_location,"
            " execution_mode, environment, resource_group, created_at, modified_at)"
            " VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
            (
                world_id, name, uuid, settings.description, settings.type, settings.role_arn,
                settings.storage_location, settings.execution_mode, settings.environment, settings.resource_group,
                now, now,
            ),
        ).fetchone()[0]  # fmt: skip
        definition_id = self._definition_id(world_id, flow, definition)
        self._database.write("UPDATE workflow_flows SET definition = ? WHERE id = ?", (definition_id, flow))

    def _definition_id(self, world_id: int, flow: int, text: str) -> int:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        row = self._database.read(
            "SELECT id FROM workflow_definitions WHERE flow = ? AND digest = ?", (flow, digest)
        ).fetchone()
        if row is None:
            row = self._database.write(
                "INSERT INTO workflow_definitions (world, flow, digest, text) VALUES (?, ?, ?, ?) RETURNING id",
                (world_id, flow, digest, text),
            ).fetchone()
        return int(row[0])

    def change_flow(self, flow: FlowRecord, definition: str, settings: FlowSettings, now: Millis) -> None:
        """Replace a flow's definition and settings; executions that run keep theirs."""
        world_id = self._database.read("SELECT world FROM workflow_flows WHERE id = ?", (flow.id,)).fetchone()[0]
        self._database.write(
            "UPDATE workflow_flows SET description = ?, definition = ?, type = ?, role_arn = ?, environment = ?,"
            " modified_at = ? WHERE id = ?",
            (
                settings.description, self._definition_id(world_id, flow.id, definition), settings.type,
                settings.role_arn, settings.environment, now, flow.id,
            ),
        )  # fmt: skip

    def delete_flow(self, flow: FlowRecord) -> list[ExecutionId]:
        """Take a flow and its executions out of sight and return the open ones, which now enter no further step."""
        self._database.write("UPDATE workflow_flows SET deleted = 1 WHERE id = ?", (flow.id,))
        live = []
        for status in (Status.STARTING, Status.RUNNING):
            rows = self._database.read(
                "SELECT id FROM workflow_executions WHERE flow = ? AND status = ?", (flow.id, status.value)
            )
            live += [ExecutionId(row[0]) for row in rows]
        self._database.write_many(
            "UPDATE workflow_executions SET halted = 1 WHERE id = ?", [(execution,) for execution in live]
        )
        return live

    def clear_deleted(self, rows: int) -> bool:
        """Remove about *rows* rows of deleted flows; tell whether more can go now."""
        for (flow,) in self._database.read("SELECT id FROM workflow_flows WHERE deleted = 1").fetchall():
            ended = self._database.read(
                "SELECT id, last_event FROM workflow_executions WHERE flow = ? AND stopped_at IS NOT NULL LIMIT ?",
                (flow, rows),
            ).fetchall()
            for execution, last_event in ended:
                self._clear(execution)
                rows -= last_event + 1
                if rows <= 0:
                    return True
            left = self._database.read("SELECT 1 FROM workflow_executions WHERE flow = ? LIMIT 1", (flow,)).fetchone()
            if left is None:
                self._database.write("DELETE FROM workflow_definitions WHERE flow = ?", (flow,))
                self._database.write("DELETE FROM workflow_flows WHERE id = ?", (flow,))
        return False

    def clear_ended(self, before: Millis, rows: int) -> bool:
        """Remove about *rows* rows of executions that ended before an instant; tell whether there are more.

        One whose end has still to be told to a task token stays.
        """
        ended = self._database.read(
            "SELECT id, last_event FROM workflow_executions WHERE stopped_at < ?"
            " AND id NOT IN (SELECT execution FROM workflow_callbacks) ORDER BY stopped_at LIMIT ?",
            (before, rows),
        ).fetchall()
        for execution, last_event in ended:
            self._clear(execution)
            rows -= last_event + 1
            if rows <= 0:
                return True
        return False

    def _clear(self, execution: int) -> None:
        self._database.write("DELETE FROM workflow_events WHERE execution = ?", (execution,))
        self._database.write("DELETE FROM workflow_callbacks WHERE execution = ?", (execution,))
        self._database.write("DELETE FROM workflow_executions WHERE id = ?", (execution,))

    def flow(self, tenant: Tenant, name: str) -> FlowRecord | None:
        """Return a flow."""
        row = self._database.read(
            f"{_FLOW} WHERE f.world = ? AND f.name = ? AND f.deleted = 0", (self._tenants.id_of(tenant), name)
        ).fetchone()
        return None if row is None else _flow(row)

    def flows(self, tenant: Tenant, start: str, limit: int, resource_group: str) -> list[FlowRecord]:
        """Return up to *limit* flows by name, from *start* on."""
        rows = self._database.read(
            f"{_FLOW} WHERE f.world = ? AND f.deleted = 0 AND f.name >= ? AND (? = '' OR f.resource_group = ?)"
            " ORDER BY f.name LIMIT ?",
            (self._tenants.id_of(tenant), start, resource_group, resource_group, limit),
        )
        return [_flow(row) for row in rows]

    def count_flows(self, tenant: Tenant) -> int:
        """Return how many flows there are."""
        return int(
            self._database.read(
                "SELECT count(*) FROM workflow_flows WHERE world = ? AND deleted = 0", (self._tenants.id_of(tenant),)
            ).fetchone()[0]
        )

    # --- executions ----------------------------------------------------------------------------------------------

    def add_execution(self, tenant: Tenant, new: NewExecution) -> ExecutionId:
        """Keep an accepted execution; it is ready to run."""
        row = self._database.write(
            "INSERT INTO workflow_executions (world, flow, name, definition, role_arn, environment, input,"
            " callback_token, started_at, version, qualifier, trace, status, ready)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'Starting', 1)",
            (
                self._tenants.id_of(tenant), new.flow.id, new.name, new.flow.definition_id, new.flow.settings.role_arn,
                new.flow.settings.environment, new.input, new.callback_token, new.started_at, new.flow.version,
                new.qualifier, trace(),
            ),
        ).lastrowid  # fmt: skip
        assert row is not None
        return ExecutionId(row)

    def execution(self, flow: FlowId, name: str) -> ExecutionRecord | None:
        """Return an execution."""
        row = self._database.read(f"{_EXECUTION} WHERE e.flow = ? AND e.name = ?", (flow, name)).fetchone()
        return None if row is None else _execution(row)

    def executions(
        self, flow: FlowId, criteria: ExecutionFilter, start: ExecutionRecord | None, limit: int
    ) -> list[ExecutionRecord]:
        """Return up to *limit* executions, newest first, from *start* on (inclusive)."""
        where = ["e.flow = ?"]
        values: list[Any] = [flow]
        if criteria.status is not None:
            where.append("e.status = ?")
            values.append(criteria.status.value)
        if criteria.started_from is not None:
            where.append("e.started_at >= ?")
            values.append(criteria.started_from)
        if criteria.started_before is not None:
            where.append("e.started_at < ?")
            values.append(criteria.started_before)
        if criteria.name_prefix:
            where.append("substr(e.name, 1, ?) = ?")
            values += [len(criteria.name_prefix), criteria.name_prefix]
        if criteria.qualifier:
            where.append("? IN (e.version, e.qualifier)")
            values.append(criteria.qualifier)
        if start is not None:
            where.append("(e.started_at, e.id) <= (?, ?)")
            values += [start.started_at, start.id]
        rows = self._database.read(
            f"{_EXECUTION} WHERE {' AND '.join(where)} ORDER BY e.started_at DESC, e.id DESC LIMIT ?",
            (*values, limit),
        )
        return [_execution(row) for row in rows]

    def history(self, execution: ExecutionId, start: int, limit: int) -> list[HistoryEvent]:
        """Return up to *limit* events from id *start* on."""
        return read_history(self._database, execution, start, limit)

    def open_executions(self) -> dict[Tenant, int]:
        """Return how many executions have not ended."""
        rows = self._database.read(
            "SELECT world, count(*) FROM workflow_executions WHERE stopped_at IS NULL GROUP BY world"
        ).fetchall()
        return {self._tenants.by_id(tenant): count for tenant, count in rows}

    def definition(self, definition: DefinitionId) -> str:
        """Return a definition's text."""
        row = self._database.read("SELECT text FROM workflow_definitions WHERE id = ?", (definition,)).fetchone()
        return str(row[0])

    def clear(self) -> None:
        """Forget all flows and executions."""
        for table in ("callbacks", "calls", "wakeups", "events", "executions", "definitions", "flows"):
            self._database.write(f"DELETE FROM workflow_{table}")  # noqa: S608 - names from the tuple above

    def pending_callbacks(self) -> list[ExecutionId]:
        """Return the ended executions whose task token has not been told."""
        return [ExecutionId(row[0]) for row in self._database.read("SELECT execution FROM workflow_callbacks")]

    def ended(self, execution: ExecutionId) -> EndedExecution | None:
        """Return what others are told of an ended execution."""
        row = self._database.read(
            f"SELECT e.world, e.callback_token, e.trace, f.deleted, {_EXECUTION_COLUMNS} FROM {_EXECUTIONS}"  # noqa: S608
            " WHERE e.id = ? AND e.stopped_at IS NOT NULL",
            (execution,),
        ).fetchone()
        if row is None:
            return None
        tenant, token, trace_id, deleted, *columns = row
        return EndedExecution(
            record=_execution(columns),
            tenant=self._tenants.by_id(tenant),
            callback_token=token,
            deleted=bool(deleted),
            trace=trace_id,
        )

    def secret(self, draw: bytes) -> bytes:
        """Return the secret of this installation; *draw* becomes it when there is none."""
        self._database.write("INSERT OR IGNORE INTO workflow_secret (id, secret) VALUES (1, ?)", (draw,))
        return bytes(self._database.read("SELECT secret FROM workflow_secret").fetchone()[0])


def _flow(row: tuple[Any, ...]) -> FlowRecord:
    (
        flow, name, uuid, definition, definition_id, description, kind, role_arn, location, mode, environment, group,
        created_at, modified_at,
    ) = row  # fmt: skip
    return FlowRecord(
        id=flow,
        name=name,
        uuid=uuid,
        definition=definition,
        definition_id=definition_id,
        settings=FlowSettings(
            description=description,
            type=kind,
            role_arn=role_arn,
            storage_location=location,
            execution_mode=mode,
            environment=environment,
            resource_group=group,
        ),
        created_at=created_at,
        modified_at=modified_at,
    )


def _execution(row: Sequence[Any]) -> ExecutionRecord:
    (
        execution, flow_name, name, definition, role_arn, environment, given, output, status, started_at, stopped_at,
        error, cause,
    ) = row  # fmt: skip
    return ExecutionRecord(
        id=execution,
        flow_name=flow_name,
        name=name,
        definition=definition,
        role_arn=role_arn,
        environment=environment,
        input=given,
        output=output,
        status=Status(status),
        started_at=started_at,
        stopped_at=stopped_at,
        error=error,
        cause=cause,
    )
