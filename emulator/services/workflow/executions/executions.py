"""Executions: started, shown, listed and stopped; long polls for their end.

Express executions are short, run under a name that is made unique, and their starters wait for the end. They run on the
same engine as all others and are kept like them, so their history can be read, and one that a crash of the emulator
interrupts goes on at the next start.

Source: standard and express, Serverless Workflow guide; StartExecution and StartSyncExecution, API reference.
"""

import logging
from collections.abc import Callable
from itertools import count

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.paging import Page, cut
from emulator.kernel.timers import Timers
from emulator.services.workflow import limits
from emulator.services.workflow.engine.driver import Driver
from emulator.services.workflow.engine.json_text import NotAnObject, parse_object
from emulator.services.workflow.engine.language import StopAsked
from emulator.services.workflow.errors import (
    ExecutionAlreadyCompleted,
    ExecutionAlreadyExists,
    ExecutionNotExists,
    WorkflowError,
    invalid,
)
from emulator.services.workflow.executions.store import ExecutionStore
from emulator.services.workflow.flows.flows import Flows, Versions
from emulator.services.workflow.model import (
    ExecutionFilter,
    ExecutionId,
    ExecutionRecord,
    FlowRecord,
    FoundExecution,
    HistoryEvent,
    HistoryId,
    NewExecution,
    Origin,
    Status,
    check_name,
)

_log = logging.getLogger(__name__)

_ABOVE_ALL_IDS = 2**63 - 1


class EndWaiters:
    """The callbacks to call when executions end."""

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._numbers = count(1)
        self._waiting: dict[ExecutionId, dict[int, Callable[[], None]]] = {}

    def park(self, execution: ExecutionId, until: Millis, wake: Callable[[], None]) -> Callable[[], None]:
        """Call *wake* once, when *execution* has ended or at *until*; the returned function cancels that."""
        number = next(self._numbers)
        self._waiting.setdefault(execution, {})[number] = wake

        def leave() -> None:
            self._timers.cancel(("workflow", "poll", number))
            waiting = self._waiting.get(execution)
            if waiting is not None:
                waiting.pop(number, None)
                if not waiting:
                    del self._waiting[execution]

        def time_over() -> None:
            leave()
            wake()

        self._timers.call_at(until, ("workflow", "poll", number), time_over)
        return leave

    def wake(self, execution: ExecutionId) -> None:
        """Call the waiters for *execution*."""
        for number, wake in self._waiting.pop(execution, {}).items():
            self._timers.cancel(("workflow", "poll", number))
            wake()

    def wake_all(self) -> None:
        """Call every waiter."""
        for execution in list(self._waiting):
            self.wake(execution)

    def __len__(self) -> int:
        return sum(len(waiting) for waiting in self._waiting.values())


class Executions:
    """The executions of every account."""

    def __init__(
        self,
        store: ExecutionStore,
        flows: Flows,
        versions: Versions,
        engine: Driver,
        waiters: EndWaiters,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._store = store
        self._flows = flows
        self._versions = versions
        self._engine = engine
        self._waiters = waiters
        self._clock = clock
        self._ids = ids
        self._open: dict[Tenant, int] = {}
        self.started = 0
        """How many executions have been started since the emulator's start."""

    def start(
        self,
        tenant: Tenant,
        flow_name: str,
        name: str | None,
        text: str,
        *,
        callback_token: str = "",
        qualifier: str = "",
        check: bool = True,
    ) -> ExecutionRecord:
        """Accept an execution with the input *text*; it begins after this call has been answered.

        While an execution of that name runs, it is returned and nothing starts. *name* None: a UUID. *qualifier* is a
        version or an alias. Without *check* the name may be any text: a generated one may begin with a digit.

        Raises: FlowNotExists, FlowVersionNotExists, FlowAliasNotExists, InvalidArgument, ActionNotSupported,
            ExecutionAlreadyExists, ResourceThrottled.
        Source: StartExecution, Serverless Workflow API reference.
        """
        if check and name is not None:
            check_name("ExecutionName", name)
        text = checked_input(text)
        flow = self._flows.get(tenant, flow_name)
        if flow.settings.is_express:
            raise WorkflowError("ActionNotSupported", "Express execution is not supported")
        chosen = self._versions.choose(flow, qualifier) if qualifier else flow
        if name is None:
            name = self._ids.uuid()
        elif (existing := self._store.get(flow.id, name)) is not None:
            if existing.is_open:
                return existing
            raise ExecutionAlreadyExists(execution=name, flow=flow_name)
        return self._add(tenant, chosen, name, text, callback_token, qualifier)

    def start_express(
        self, tenant: Tenant, flow_name: str, name: str | None, text: str, qualifier: str = ""
    ) -> ExecutionRecord:
        """Accept an express execution under ``{name}:{UUID}``; *name* None: a UUID.

        Raises: FlowNotExists, FlowVersionNotExists, FlowAliasNotExists, InvalidArgument, ActionNotSupported for a
            standard flow, ResourceThrottled.
        """
        if name is not None:
            check_name("ExecutionName", name)
        text = checked_input(text)
        flow = self._flows.get(tenant, flow_name)
        if not flow.settings.is_express:
            raise WorkflowError("ActionNotSupported", "Standard execution is not supported")
        chosen = self._versions.choose(flow, qualifier)
        return self._add(tenant, chosen, f"{name or self._ids.uuid()}:{self._ids.uuid()}", text, "", qualifier)

    def fork(self, tenant: Tenant, flow: FlowRecord, name: str | None, text: str, origin: Origin) -> ExecutionRecord:
        """Accept an execution that begins with the events of *origin*; *name* None: a UUID.

        Raises: InvalidArgument, ExecutionAlreadyExists, ResourceThrottled.
        """
        if name is not None:
            check_name("ExecutionName", name)
            if self._store.get(flow.id, name) is not None:
                raise ExecutionAlreadyExists(execution=name, flow=flow.name)
        return self._add(tenant, flow, name or self._ids.uuid(), text, origin=origin)

    def start_element(
        self, tenant: Tenant, flow: FlowRecord, name: str, text: str, map_run: int, index: int
    ) -> ExecutionRecord:
        """Start the execution of element *index* of a map run; its end goes to the run.

        Raises: ResourceThrottled.
        """
        return self._add(tenant, flow, name, text, "map", map_run=map_run, index=index)

    def _add(
        self,
        tenant: Tenant,
        flow: FlowRecord,
        name: str,
        text: str,
        callback_token: str = "",
        qualifier: str = "",
        *,
        origin: Origin | None = None,
        map_run: int | None = None,
        index: int | None = None,
    ) -> ExecutionRecord:
        """Store an execution whose values have been checked, and start it in a later turn of the loop.

        Raises: ResourceThrottled.
        """
        self._make_room(tenant)
        now, settings = self._clock.now(), flow.settings
        live = self._store.add(tenant, flow, NewExecution(name, text, callback_token, now, qualifier, map_run, index))
        execution = live.id
        if origin is not None:
            self._store.share(execution, origin)
        self.started += 1
        _log.info("execution %(execution)s of flow %(flow)s starts", {"execution": name, "flow": flow.name})
        self._engine.start(execution, live if origin is None and map_run is None else None)
        record = (execution, flow.name, name, flow.definition, settings.role_arn, settings.environment, text)
        return ExecutionRecord(*record, "", Status.STARTING, now, None)

    def get(self, tenant: Tenant, flow_name: str, name: str) -> ExecutionRecord:
        """Return an execution.

        Raises: FlowNotExists, ExecutionNotExists.
        """
        record = self._store.get(self._flows.get(tenant, flow_name).id, name)
        if record is None:
            raise ExecutionNotExists(execution=name, flow=flow_name)
        return record

    def when_ended(self, execution: ExecutionId, wait_s: int, wake: Callable[[], None]) -> Callable[[], None]:
        """Call *wake* once, when *execution* has ended or after *wait_s* seconds; the function returned cancels it."""
        return self._waiters.park(execution, Millis(self._clock.now() + wait_s * SECOND), wake)

    def stop(self, tenant: Tenant, flow_name: str, name: str, error: str, cause: str) -> ExecutionRecord:
        """Stop an execution at once; its calls are cancelled, waits and callbacks dropped.

        Raises: FlowNotExists, ExecutionNotExists, ExecutionAlreadyCompleted.
        """
        record = self.get(tenant, flow_name, name)
        if not record.is_open or not self._engine.deliver(record.id, StopAsked(error, cause)):
            raise ExecutionAlreadyCompleted(execution=name, flow=flow_name)
        return self.get(tenant, flow_name, name)

    def page(
        self, tenant: Tenant, flow_name: str, criteria: ExecutionFilter, limit: int, marker: str
    ) -> Page[ExecutionRecord]:
        """Return executions, newest first; the marker is the name of the next one.

        Raises: FlowNotExists, InvalidArgument for a marker that names no execution.
        """
        flow = self._flows.get(tenant, flow_name)
        start = self._store.get(flow.id, marker) if marker else None
        if marker and start is None:
            raise invalid("NextToken is not one that this operation has returned.")
        rows = self._store.page(flow.id, criteria, start, limit + 1)
        return cut(rows, limit, lambda record: record.name)

    def beginning(self, tenant: Tenant, text: str, limit: int) -> list[FoundExecution]:
        """Return up to *limit* executions whose names begin with *text*, of all flows, by their names."""
        return self._store.beginning(tenant, text, limit)

    def with_errors(self, tenant: Tenant, limit: int, marker: str) -> Page[FoundExecution]:
        """Return executions of all flows that ended with an error, newest first; the marker is the id of the next."""
        before = int(marker) + 1 if marker else _ABOVE_ALL_IDS
        return cut(self._store.with_errors(tenant, before, limit + 1), limit, lambda each: str(each.id))

    def with_history(self, tenant: Tenant, flow_name: str, name: str) -> tuple[ExecutionRecord, HistoryId]:
        """Return an execution, and an id of its history that stays the same for as long as the history only grows.

        Raises: FlowNotExists, ExecutionNotExists.
        """
        record = self.get(tenant, flow_name, name)
        return record, HistoryId(f"{self._store.generation}.{record.id}.{record.started_at}")

    def history(
        self, tenant: Tenant, flow_name: str, name: str, limit: int, start: int, *, whole: bool = True
    ) -> Page[HistoryEvent]:
        """Return events in order, from id *start* on; the marker is the id of the next one.

        Without *whole* the events of iterations leave out the input that iterations share, which is most of the text.

        Raises: FlowNotExists, ExecutionNotExists.
        """
        record = self.get(tenant, flow_name, name)
        rows = self._store.history(record.id, start, limit + 1, whole=whole)
        return cut(rows, limit, lambda event: str(event.id))

    def forget(self) -> None:
        """Drop the counts in memory, because the store was emptied or replaced."""
        self._open.clear()

    def _make_room(self, tenant: Tenant) -> None:
        """Check the limit of open executions. The cached number may be too high; it is counted anew at the limit.

        Raises: ResourceThrottled.
        """
        count = self._open.get(tenant, limits.OPEN_EXECUTIONS)
        if count >= limits.OPEN_EXECUTIONS:
            count = self._store.open_by_tenant().get(tenant, 0)
            if count >= limits.OPEN_EXECUTIONS:
                raise WorkflowError(
                    "ResourceThrottled", reason=f"At most {limits.OPEN_EXECUTIONS} executions run at a time."
                )
        self._open[tenant] = count + 1


def checked_input(text: str) -> str:
    """Return the input of an execution in stored form; an empty text becomes ``{}``.

    Raises: InvalidArgument.
    """
    text = text if text.strip() else "{}"
    try:
        parse_object(text)
    except NotAnObject as error:
        raise invalid(f"Input must be a JSON object: {error}") from error
    return text
