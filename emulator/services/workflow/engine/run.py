"""A stored execution, in memory while it can go on."""

from typing import TYPE_CHECKING

from emulator.kernel.clock import SECOND, Millis
from emulator.kernel.identity import Tenant
from emulator.services.workflow.engine.execution import Execution
from emulator.services.workflow.engine.json_text import parse_object
from emulator.services.workflow.engine.language import Facts, Program
from emulator.services.workflow.engine.snapshot import load
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.engine.store import EngineStore
from emulator.services.workflow.engine.tokens import Mint
from emulator.services.workflow.limits import EXECUTION_S, EXPRESS_S, Bounds
from emulator.services.workflow.model import ExecutionId, LiveExecution, Standing, TenantId

if TYPE_CHECKING:
    from emulator.services.workflow.engine.breakpoints import Watch


class Run(Execution):
    """A stored execution in memory.

    ``deadline`` is when it times out. ``has_rows`` is whether wake-ups or calls may be stored for it, ``has_deadline``
    whether the wake-up for the deadline is. ``may_be_reported`` is whether a task may wait for a report.
    ``snapshot_at`` is the id of the latest event in the stored snapshot (0: none), ``snapshot_chars`` the length of the
    snapshot, ``chars_since`` the length of the details of all later events.
    """

    __slots__ = (
        "callback_token",
        "chars_since",
        "deadline",
        "has_deadline",
        "has_rows",
        "id",
        "may_be_reported",
        "snapshot_at",
        "snapshot_chars",
        "started_at",
        "tenant",
        "tenant_id",
        "trace",
    )  # fmt: skip

    def __init__(self, live: LiveExecution, facts: Facts, state: ExecutionState, snapshot_at: int) -> None:
        super().__init__(facts, state, None if live.watch is None else _watch(live.watch))
        self.id: ExecutionId = live.id
        self.tenant: Tenant = live.tenant
        self.tenant_id: TenantId = live.tenant_id
        self.started_at = live.started_at
        self.callback_token = live.callback_token
        self.trace = live.trace
        longest_s = EXPRESS_S if facts.is_express else EXECUTION_S
        timeout_s = facts.program.timeout_s if facts.program.timeout_s is not None else longest_s
        self.deadline = Millis(live.started_at + min(timeout_s, longest_s) * SECOND)
        self.has_rows = live.last_event > 0
        self.has_deadline = False
        self.may_be_reported = live.last_event > 0 and live.standing != Standing.PARKED
        self.snapshot_at = snapshot_at
        self.snapshot_chars = len(live.snapshot or "") if snapshot_at else 0
        self.chars_since = 0

    def key(self, entry: int, attempt: int) -> str:
        """Return the idempotency key of an attempt's effect; the same after a restart."""
        return key_of(self.tenant, self.id, self.started_at, entry, attempt)


def key_of(tenant: Tenant, execution: ExecutionId, started_at: Millis, entry: int, attempt: int) -> str:
    """Return the idempotency key of an attempt's effect."""
    return f"{tenant.account}-{execution}-{started_at}-{entry}-{attempt}"


def _watch(text: str) -> "Watch | None":
    from emulator.services.workflow.engine.breakpoints import Watch  # here, because few executions are debugged

    return Watch.load(text)


def load_run(store: EngineStore, live: LiveExecution, program: Program, mint: Mint, bounds: Bounds) -> Run:
    """Load an execution into memory: its snapshot, and the events after it.

    Raises: NotAnObject, LookupError or ValueError for inconsistent stored data.
    """
    if live.map_step is not None:
        program = program.processor(live.map_step)

    identity = (live.tenant, live.flow_name, live.name, live.started_at)
    facts = Facts(
        program=program,
        flow_name=live.flow_name,
        execution_name=live.name,
        input=parse_object(live.input) if live.last_event == 0 else {},
        token=lambda entry, attempt: mint.make(*identity, entry, attempt),
        halted=live.halted,
        bounds=bounds,
        chance=lambda number: mint.chance(*identity, number),
        role_arn=live.role_arn,
        is_express=live.is_express or bool(live.is_express_child),
    )
    state = (load(program, live.snapshot) if live.snapshot is not None else None) or ExecutionState()
    snapshot_at = state.last
    run = Run(live, facts, state, snapshot_at)
    if live.last_event > snapshot_at:
        for row in store.events_after(live.id, snapshot_at):
            run.follow(row)
            run.chars_since += len(row.detail)
    return run
