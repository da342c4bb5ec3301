"""What the service and its engine ask of the storage, in words of the domain."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from emulator.kernel.clock import Millis
from emulator.kernel.identity import Tenant
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
    LiveExecution,
    NewExecution,
    WorldId,
)
from emulator.services.workflow.schedule_model import (
    DueSchedule,
    ScheduleId,
    ScheduleRecord,
    ScheduleSettings,
    Turn,
)
from emulator.services.workflow.version_model import AliasRecord, VersionRecord

EventRow = tuple[Any, ...]
"""Execution, tenant, instant, then the fields of `engine.events.Event` up to ``mark``; made in bulk, hence a tuple."""


class Wakeup(NamedTuple):
    """A timer of an execution."""

    execution: ExecutionId
    entry: int
    kind: str
    fire_at: Millis


class Ending(NamedTuple):
    """How an execution has ended."""

    status: str
    stopped_at: Millis
    last_event: int
    output: str
    error: str
    cause: str
    execution: ExecutionId


class Progress(NamedTuple):
    """How far an open execution has come. ``snapshot`` None leaves the stored one."""

    ready: bool
    last_event: int
    snapshot: str | None
    execution: ExecutionId


class Changes(Protocol):
    """Everything one slice of the driver's work has changed; written in one transaction."""

    events: list[EventRow]
    endings: list[Ending]
    progress: list[Progress]
    wakeups: dict[tuple[ExecutionId, int, str], tuple[WorldId, Millis] | None]
    """None: to be removed."""
    calls: dict[tuple[ExecutionId, int], tuple[WorldId, int] | None]
    """None: to be removed."""
    cleared: list[ExecutionId]
    """Ended executions whose wake-ups and calls go."""
    callbacks: list[tuple[ExecutionId, WorldId]]
    told: list[ExecutionId]


class FlowStore(Protocol):
    """Flows and executions as the operations see them."""

    def add_flow(
        self, tenant: Tenant, name: str, uuid: str, definition: str, settings: FlowSettings, now: Millis
    ) -> None:
        """Keep a new flow."""
        ...

    def change_flow(self, flow: FlowRecord, definition: str, settings: FlowSettings, now: Millis) -> None:
        """Replace a flow's definition and settings; executions that run keep theirs."""
        ...

    def delete_flow(self, flow: FlowRecord) -> list[ExecutionId]:
        """Take a flow and its executions out of sight and return the open ones, which now enter no further step."""
        ...

    def clear_deleted(self, rows: int) -> bool:
        """Remove about *rows* rows of deleted flows; tell whether more can go now."""
        ...

    def flow(self, tenant: Tenant, name: str) -> FlowRecord | None:
        """Return a flow."""
        ...

    def flows(self, tenant: Tenant, start: str, limit: int, resource_group: str) -> list[FlowRecord]:
        """Return up to *limit* flows by name, from *start* on."""
        ...

    def count_flows(self, tenant: Tenant) -> int:
        """Return how many flows there are."""
        ...

    def add_execution(self, tenant: Tenant, new: NewExecution) -> ExecutionId:
        """Keep an accepted execution; it is ready to run."""
        ...

    def execution(self, flow: FlowId, name: str) -> ExecutionRecord | None:
        """Return an execution."""
        ...

    def executions(
        self, flow: FlowId, criteria: ExecutionFilter, start: ExecutionRecord | None, limit: int
    ) -> list[ExecutionRecord]:
        """Return up to *limit* executions, newest first, from *start* on (inclusive)."""
        ...

    def history(self, execution: ExecutionId, start: int, limit: int) -> list[HistoryEvent]:
        """Return up to *limit* events from id *start* on."""
        ...

    def clear_ended(self, before: Millis, rows: int) -> bool:
        """Remove about *rows* rows of executions that ended before an instant; tell whether there are more."""
        ...

    def open_executions(self) -> dict[Tenant, int]:
        """Return how many executions have not ended."""
        ...

    def definition(self, definition: DefinitionId) -> str:
        """Return a definition's text."""
        ...

    def pending_callbacks(self) -> list[ExecutionId]:
        """Return the ended executions whose task token has not been told."""
        ...

    def ended(self, execution: ExecutionId) -> EndedExecution | None:
        """Return what others are told of an ended execution."""
        ...

    def secret(self, draw: bytes) -> bytes:
        """Return the secret of this installation; *draw* becomes it when there is none."""
        ...

    def clear(self) -> None:
        """Forget all flows and executions."""
        ...


class EngineStore(Protocol):
    """Executions as the driver sees them."""

    def live(self, execution: ExecutionId) -> LiveExecution | None:
        """Return an execution that has not ended."""
        ...

    def events_after(self, execution: ExecutionId, event: int) -> Iterable[tuple[Any, ...]]:
        """Return (id, type, strand, cause, step, detail, mark, at) of the events after *event*."""
        ...

    def write(self, changes: Changes) -> None:
        """Write a slice's changes."""
        ...

    def due(self, now: Millis, limit: int) -> Sequence[Wakeup]:
        """Return up to *limit* wake-ups whose instant has come, earliest first."""
        ...

    def next_wakeup(self) -> Millis | None:
        """Return the instant of the earliest wake-up."""
        ...

    def ready(self) -> list[ExecutionId]:
        """Return the open executions that have something to do at once."""
        ...

    def pending_calls(self) -> list[tuple[ExecutionId, int]]:
        """Return (execution, entry) of the calls without a recorded result."""
        ...


class ScheduleStore(Protocol):
    """Schedules, as the operations and their timer see them."""

    def add(
        self, tenant: Tenant, flow: FlowId, name: str, uuid: str, settings: ScheduleSettings, now: Millis, turn: Turn
    ) -> None:
        """Keep a new schedule."""
        ...

    def change(self, schedule: ScheduleId, settings: ScheduleSettings, now: Millis, turn: Turn) -> None:
        """Replace a schedule's settings and its next run."""
        ...

    def remove(self, schedule: ScheduleId) -> None:
        """Remove a schedule."""
        ...

    def remove_of(self, flow: FlowId) -> None:
        """Remove every schedule of a flow."""
        ...

    def get(self, flow: FlowId, name: str) -> ScheduleRecord | None:
        """Return a schedule."""
        ...

    def page(self, flow: FlowId, start: str, limit: int) -> list[ScheduleRecord]:
        """Return up to *limit* schedules of a flow by name, from *start* on."""
        ...

    def due(self, now: Millis, limit: int) -> Sequence[DueSchedule]:
        """Return up to *limit* schedules whose run has come, earliest first."""
        ...

    def ahead(self, instant: Millis, limit: int) -> Sequence[DueSchedule]:
        """Return up to *limit* schedules whose next run was counted from later than *instant*."""
        ...

    def turn(self, turns: Iterable[tuple[ScheduleId, Turn]]) -> None:
        """Set the next runs of schedules."""
        ...

    def next_run(self) -> Millis | None:
        """Return the instant of the earliest run."""
        ...

    def counts_wall_clock(self) -> bool:
        """Tell whether an enabled schedule has another expression than ``@every``."""
        ...


class VersionStore(Protocol):
    """Flow versions and aliases."""

    def publish(self, flow: FlowRecord, description: str, now: Millis) -> VersionRecord:
        """Keep *flow* as it is under the next number; numbers are never given twice."""
        ...

    def flow_at(self, flow: FlowRecord, number: int) -> FlowRecord | None:
        """Return *flow* as it was when version *number* was published."""
        ...

    def versions(self, flow: FlowId, start: int, limit: int) -> list[VersionRecord]:
        """Return up to *limit* versions, newest first, from number *start* down."""
        ...

    def remove_version(self, flow: FlowId, number: int) -> None:
        """Remove a version; executions that run it go on."""
        ...

    def put_alias(self, flow: FlowRecord, alias: AliasRecord) -> None:
        """Keep an alias, new or changed."""
        ...

    def alias(self, flow: FlowId, name: str) -> AliasRecord | None:
        """Return an alias."""
        ...

    def aliases(self, flow: FlowId, start: str, limit: int) -> list[AliasRecord]:
        """Return up to *limit* aliases by name, from *start* on."""
        ...

    def alias_of(self, flow: FlowId, number: int) -> str | None:
        """Return the name of an alias that leads to version *number*."""
        ...

    def remove_alias(self, flow: FlowId, name: str) -> None:
        """Remove an alias."""
        ...

    def remove_of(self, flow: FlowId) -> None:
        """Remove every version and alias of a flow."""
        ...
