"""The table of map runs, and their executions by where they stand."""

import json
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import Tenant
from emulator.services.workflow.model import DefinitionId, ExecutionId, FlowId, Status
from emulator.services.workflow.ports import MapResource
from emulator.services.workflow.tenants import Tenants
from emulator.storage.database import Database

_COLUMNS = (
    "r.id, r.world, r.name, r.execution, r.token, r.definition, r.items, r.at_once, r.tolerated_count,"
    " r.tolerated_percentage, r.status, r.started_at, r.stopped_at, f.name"
)
_RUNS = (
    f"SELECT {_COLUMNS} FROM workflow_map_runs r JOIN workflow_executions e ON e.id = r.execution"  # noqa: S608 - of the text above
    " JOIN workflow_flows f ON f.id = e.flow"
)


@frozen(kw_only=False)
class MapRun:
    """A run as it is kept; ``execution`` is the one whose map it is."""

    id: int
    tenant: Tenant
    name: str
    execution: ExecutionId
    token: str
    definition: DefinitionId
    items: list[Any]
    at_once: int
    tolerated_count: int
    tolerated_percentage: float
    status: str
    started_at: Millis
    stopped_at: Millis | None
    flow: str

    @property
    def tolerated(self) -> int:
        """How many executions may fail."""
        return max(self.tolerated_count, int(len(self.items) * self.tolerated_percentage / 100))


class MapRunStore:
    """Map runs."""

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
        """Keep a new run; one of that name of the same execution stays as it is."""
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

    def of_child(self, execution: ExecutionId) -> MapRun | None:
        """Return the run that an execution belongs to."""
        return self._one("r.id = (SELECT map_run FROM workflow_executions WHERE id = ?)", (execution,))

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

    def counts(self, run: MapRun) -> dict[Status, int]:
        """Return how many executions of a run stand where."""
        rows = self._database.read(
            "SELECT status, count(*) FROM workflow_executions WHERE map_run = ? GROUP BY status", (run.id,)
        )
        return {Status(status): count for status, count in rows.fetchall()}

    def open_children(self, run: MapRun) -> list[tuple[str, str]]:
        """Return flow and name of the executions of a run that have not ended."""
        return self._database.read(
            "SELECT f.name, e.name FROM workflow_executions e JOIN workflow_flows f ON f.id = e.flow"
            " WHERE e.map_run = ? AND e.stopped_at IS NULL ORDER BY e.map_index",
            (run.id,),
        ).fetchall()

    def outputs(self, run: MapRun) -> list[Any]:
        """Return the outputs of the executions of a run that have succeeded, in the order of the elements."""
        rows = self._database.read(
            "SELECT output FROM workflow_executions WHERE map_run = ? AND status = 'Succeeded' ORDER BY map_index",
            (run.id,),
        )
        return [json.loads(output) for (output,) in rows.fetchall()]

    def end(self, run: MapRun, status: str, now: Millis) -> None:
        """Note how a run has ended."""
        self._database.write(
            "UPDATE workflow_map_runs SET status = ?, stopped_at = ? WHERE id = ?", (status, now, run.id)
        )

    def change(self, run: MapRun, at_once: int, count: int, percentage: float) -> None:
        """Give a run other bounds."""
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
