"""Reads every stored row, to validate a database that this emulator has not written itself, such as a checkpoint."""

from emulator.kernel.cron import parse_schedule
from emulator.services.workflow.engine.language import DefinitionError
from emulator.services.workflow.engine.run import load_run
from emulator.services.workflow.engine.store import EngineStore, recorded
from emulator.services.workflow.engine.tokens import Mint
from emulator.services.workflow.executions.map_run_store import MapRunStore
from emulator.services.workflow.executions.store import ExecutionStore
from emulator.services.workflow.flows.store import FlowStore
from emulator.services.workflow.languages.programs import Programs
from emulator.services.workflow.limits import DOCUMENTED
from emulator.services.workflow.model import DefinitionId, ExecutionId, Status
from emulator.services.workflow.tenants import Tenants
from emulator.storage.database import Database


def read_through(database: Database) -> None:
    """Parse every row, and fold the histories of executions that have not ended.

    A definition that can no longer be read is not an error: its executions fail by themselves.

    Raises: any exception, for a row that cannot be parsed.
    """
    tenants = Tenants(database)
    flows = FlowStore(database, tenants)
    mint, programs = Mint(), Programs(flows.definition)
    if (row := database.read("SELECT secret FROM workflow_secret").fetchone()) is not None:
        mint.secret = bytes(row[0])
    engine = EngineStore(database, tenants)
    for execution, tenant, status, stopped_at in database.read(
        "SELECT id, world, status, stopped_at FROM workflow_executions"
    ).fetchall():
        tenants.by_id(tenant)
        Status(status)
        if stopped_at is None:
            _fold(engine, programs, mint, ExecutionId(execution))
        else:
            for _ in recorded(database, execution):
                pass
    ExecutionStore(database, tenants).open_by_tenant()
    MapRunStore(database, tenants).open_runs()
    for (expression,) in database.read("SELECT DISTINCT expression FROM workflow_schedules").fetchall():
        parse_schedule(expression)


def _fold(engine: EngineStore, programs: Programs, mint: Mint, execution: ExecutionId) -> None:
    live = engine.live(execution)
    if live is None:
        raise LookupError(f"execution {execution} has no flow")
    try:
        program = programs.find_now(DefinitionId(live.definition_id))
    except DefinitionError:
        return
    load_run(engine, live, program, mint, DOCUMENTED)
