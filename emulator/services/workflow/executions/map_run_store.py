"""The table of map runs, and what it says of their executions."""

import json
from collections import Counter
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.identity import Tenant
from emulator.services.workflow.model import DefinitionId, ExecutionId, FlowId, MapRun, Status
from emulator.services.workflow.ports import MapResource
from emulator.services.workflow.tenants import Tenants
from emulator.storage.database import Database

_RUN_COLUMNS = (
    "r.id, r.world, r.name, r.execution, r.token, r.definition, r.items, r.at_once, r.tolerated_count,"
    " r.tolerated_percentage, r.status, r.started_at, r.stopped_at, f.name"
)
_RUNS = (
    f"SELECT {_RUN_COLUMNS} FROM workflow_map_runs r JOIN workflow_executions e ON e.id = r.execution"  # noqa: S608 - of the text above
    " JOIN workflow_flows f ON f.id = e.flow"
)


class MapRunStore:
    """The table ``workflow_map_runs``."""

    def __init__(self, database: Database, tenants: Tenants) -> None:
        self._database = database
        self._tenants = tenants

    def add(
        self,
        tenant: Tenant,
        name: str,
        execution: ExecutionId,
        token: str,
        definition: DefinitionId,
        step: int,
        target: MapResource,
        items: list[Any],
        now: Millis,
    ) -> None:
        """Store a new run; an existing one of the same name and execution stays as it is."""
        self._database.write(
            "INSERT OR IGNORE INTO workflow_map_runs (world, name, execution, token, definition, step, is_express,"
            " items, at_once, tolerated_count, tolerated_percentage, status, started_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'Running', ?)",
            (
                self._tenants.id_of(tenant), name, execution, token, definition, step, target.is_express,
                json.dumps(items), target.at_once, target.tolerated_count, target.tolerated_percentage, now,
            ),
        )  # fmt: skip

    def get(self, execution: ExecutionId, name: str) -> MapRun | None:
        """Return the run of that name of an execution."""
        return self._one("r.execution = ? AND r.name = ?", (execution, name))

    def by_id(self, run: int) -> MapRun | None:
        """Return the run of a number."""
        return self._one("r.id = ?", (run,))

    def find(self, flow: FlowId, name: str) -> int | None:
        """Return the number of the run of that name of any execution of a flow."""
        row = self._database.read(
            "SELECT r.id FROM workflow_map_runs r JOIN workflow_executions e ON e.id = r.execution"
            " WHERE e.flow = ? AND r.name = ?",
            (flow, name),
        ).fetchone()
        return None if row is None else int(row[0])

    def open_runs(self) -> list[MapRun]:
        """Return the runs that have not ended."""
        rows = self._database.read(f"{_RUNS} WHERE r.stopped_at IS NULL")
        return [self._run(row) for row in rows.fetchall()]

    def open_run(self, execution: ExecutionId, position: int) -> int | None:
        """Return the number of the open run of a running execution that began as number *position*, from 0 on."""
        row = self._database.read(
            "SELECT r.id FROM workflow_map_runs r JOIN workflow_executions e ON e.id = r.execution"
            " WHERE r.execution = ? AND r.stopped_at IS NULL AND e.stopped_at IS NULL ORDER BY r.id LIMIT 1 OFFSET ?",
            (execution, position),
        ).fetchone()
        return None if row is None else int(row[0])

    def counts(self, run: MapRun) -> Counter[Status]:
        """Return the number of a run's executions by status."""
        rows = self._database.read(
            "SELECT status, count(*) FROM workflow_executions WHERE map_run = ? GROUP BY status", (run.id,)
        )
        return Counter({Status(status): count for status, count in rows.fetchall()})

    def open_children(self, run: MapRun) -> list[tuple[ExecutionId, str, str]]:
        """Return id, flow and name of the executions of a run that have not ended."""
        return self._database.read(
            "SELECT e.id, f.name, e.name FROM workflow_executions e JOIN workflow_flows f ON f.id = e.flow"
            " WHERE e.map_run = ? AND e.stopped_at IS NULL ORDER BY e.map_index",
            (run.id,),
        ).fetchall()

    def first_failure(self, run: MapRun) -> tuple[str, str]:
        """Return error and cause of the failed execution whose element comes first."""
        row = self._database.read(
            "SELECT error, cause FROM workflow_executions"
            " WHERE map_run = ? AND status NOT IN ('Starting', 'Running', 'Succeeded') ORDER BY map_index LIMIT 1",
            (run.id,),
        ).fetchone()
        return row if row is not None else ("", "")

    def outputs(self, run: MapRun) -> list[Any]:
        """Return the outputs of the executions of a run that have succeeded, in the order of the elements."""
        rows = self._database.read(
            "SELECT output FROM workflow_executions WHERE map_run = ? AND status = 'Succeeded' ORDER BY map_index",
            (run.id,),
        )
        return [json.loads(output) for (output,) in rows.fetchall()]

    def end(self, run: MapRun, status: str, now: Millis) -> None:
        """Store the final status of a run."""
        self._database.write(
            "UPDATE workflow_map_runs SET status = ?, stopped_at = ? WHERE id = ?", (status, now, run.id)
        )

    def change(self, run: MapRun, at_once: int, count: int, percentage: float) -> None:
        """Store other limits of a run; see `MapRuns.change`."""
        self._database.write(
            "UPDATE workflow_map_runs SET at_once = ?, tolerated_count = ?, tolerated_percentage = ? WHERE id = ?",
            (at_once, count, percentage, run.id),
        )

    def _one(self, where: str, values: tuple[Any, ...]) -> MapRun | None:
        row = self._database.read(f"{_RUNS} WHERE {where}", values).fetchone()
        return None if row is None else self._run(row)

    def _run(self, row: tuple[Any, ...]) -> MapRun:
        run, world, name, execution, token, definition, items, *rest = row
        return MapRun(run, self._tenants.by_id(world), name, execution, token, definition, json.loads(items), *rest)
