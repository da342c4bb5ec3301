"""An execution in memory while it has something to do."""

from emulator.kernel.clock import SECOND, Millis
from emulator.kernel.identity import Tenant
from emulator.services.workflow.definition.nodes import Flow
from emulator.services.workflow.engine.events import Event, decode, parse_object
from emulator.services.workflow.engine.facts import Facts
from emulator.services.workflow.engine.snapshot import load
from emulator.services.workflow.engine.state import ExecutionState, apply
from emulator.services.workflow.limits import EXECUTION_S, EXPRESS_S, Bounds
from emulator.services.workflow.model import ExecutionId, LiveExecution, WorldId
from emulator.services.workflow.store import EngineStore
from emulator.services.workflow.tokens import Mint


class Run:
    """An execution's fixed facts and its state.

    ``deadline`` is the instant at which it times out. ``has_rows`` tells that wake-ups or calls may be stored for it,
    ``has_deadline`` that the one for the deadline is. ``snapshot_at`` is the id of the event its stored snapshot was
    made after (0: none), ``snapshot_chars`` how long that is, ``chars_since`` how long the details of all later events.
    """

    __slots__ = (
        "callback_token",
        "chars_since",
        "deadline",
        "facts",
        "has_deadline",
        "has_rows",
        "id",
        "snapshot_at",
        "snapshot_chars",
        "started_at",
        "state",
        "tenant",
        "trace",
        "world_id",
    )  # fmt: skip

    def __init__(self, live: LiveExecution, facts: Facts, state: ExecutionState, snapshot_at: int) -> None:
        self.id: ExecutionId = live.id
        self.tenant: Tenant = live.tenant
        self.world_id: WorldId = live.world_id
        self.started_at = live.started_at
        self.callback_token = live.callback_token
        self.trace = live.trace
        self.facts = facts
        self.state = state
        longest_s = EXPRESS_S if live.is_express else EXECUTION_S
        timeout_s = facts.flow.timeout_s if facts.flow.timeout_s is not None else longest_s
        self.deadline = Millis(live.started_at + min(timeout_s, longest_s) * SECOND)
        self.has_rows = live.last_event > 0
        self.has_deadline = False
        self.snapshot_at = snapshot_at
        self.snapshot_chars = len(live.snapshot or "") if snapshot_at else 0
        self.chars_since = 0

    def key(self, entry: int, attempt: int) -> str:
        """Return the idempotency key of an attempt's effect; the same after a restart."""
        return f"{self.tenant.account}-{self.id}-{self.started_at}-{entry}-{attempt}"


def load_run(store: EngineStore, live: LiveExecution, flow: Flow, mint: Mint, bounds: Bounds) -> Run:
    """Bring an execution back to memory: its snapshot, and the events after it.

    Raises: NotAnObject, LookupError or ValueError when what is stored makes no sense.
    """

    def token(entry: int, attempt: int) -> str:
        return mint.make(live.tenant, live.flow_name, live.name, live.started_at, entry, attempt)

    facts = Facts(
        flow=flow,
        flow_name=live.flow_name,
        execution_name=live.name,
        input=parse_object(live.input) if live.last_event == 0 else {},
        token=token,
        halted=live.halted,
        bounds=bounds,
    )
    state = load(flow, live.snapshot) if live.snapshot is not None else None
    snapshot_at = state.last if state is not None else 0
    state = state if state is not None else ExecutionState()
    run = Run(live, facts, state, snapshot_at)
    if live.last_event > snapshot_at:
        for row in store.events_after(live.id, snapshot_at):
            event = _event(row)
            apply(flow, state, event, Millis(row[7]))
            run.chars_since += len(event.detail)
    return run


def _event(row: tuple[object, ...]) -> Event:
    event_id, kind, strand, cause, step, detail, mark, _ = row
    return Event(event_id, kind, strand, cause, step, detail, mark, decode(kind, detail))  # type: ignore[arg-type]  # columns are typed by the schema
