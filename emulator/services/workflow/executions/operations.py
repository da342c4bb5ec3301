"""Executions: started, shown, listed and stopped."""

import logging
from collections.abc import Callable

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.paging import Page, cut
from emulator.services.workflow import limits
from emulator.services.workflow.engine.driver import Driver
from emulator.services.workflow.engine.events import NotAnObject, parse_object
from emulator.services.workflow.engine.language import StopAsked
from emulator.services.workflow.errors import (
    ActionNotSupported,
    ExecutionAlreadyCompleted,
    ExecutionAlreadyExists,
    ExecutionNotExists,
    InvalidArgument,
    ResourceThrottled,
)
from emulator.services.workflow.executions.waiters import EndWaiters
from emulator.services.workflow.flows.operations import Flows
from emulator.services.workflow.flows.versions import Versions
from emulator.services.workflow.model import (
    ExecutionFilter,
    ExecutionId,
    ExecutionRecord,
    HistoryEvent,
    NewExecution,
    Status,
)
from emulator.services.workflow.names import check_name
from emulator.services.workflow.store import FlowStore

_log = logging.getLogger(__name__)


class Executions:
    """The executions of every account."""

    def __init__(
        self,
        store: FlowStore,
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
        """How many executions have been started since the emulator was."""

    def start(
        self,
        tenant: Tenant,
        flow_name: str,
        name: str | None,
        given: str,
        *,
        callback_token: str = "",
        qualifier: str = "",
    ) -> ExecutionRecord:
        """Accept an execution; it begins after this call has been answered.

        While an execution of that name runs, it is returned and nothing starts. *name* None: a UUID. *qualifier* is a
        version or an alias.

        Raises: FlowNotExists, FlowVersionNotExists, FlowAliasNotExists, InvalidArgument, ActionNotSupported,
            ExecutionAlreadyExists, ResourceThrottled.
        Source: StartExecution, Serverless Workflow API reference.
        """
        if name is not None:
            check_name("ExecutionName", name)
        return self.accept(tenant, flow_name, name, given, callback_token, qualifier)

    def accept(
        self,
        tenant: Tenant,
        flow_name: str,
        name: str | None,
        given: str,
        callback_token: str,
        qualifier: str = "",
    ) -> ExecutionRecord:
        """Start an execution as `start` does, under any name: one made here may begin with a digit."""
        text = sound_input(given)
        flow = self._flows.get(tenant, flow_name)
        if flow.settings.is_express:
            raise ActionNotSupported("Express execution is not supported")
        chosen = self._versions.choose(flow, qualifier)
        if name is not None and (existing := self._store.execution(flow.id, name)) is not None:
            if existing.is_open:
                return existing
            raise ExecutionAlreadyExists(execution=name, flow=flow_name)
        return self.add(
            tenant,
            NewExecution(
                flow=chosen,
                name=name if name is not None else self._ids.uuid(),
                input=text,
                callback_token=callback_token,
                started_at=self._clock.now(),
                qualifier=qualifier,
            ),
        )

    def add(self, tenant: Tenant, new: NewExecution) -> ExecutionRecord:
        """Keep an execution that has been checked and let it begin in a later tick.

        Raises: ResourceThrottled.
        """
        self._make_room(tenant)
        flow = new.flow
        execution = self._store.add_execution(tenant, new)
        self.started += 1
        _log.info("execution %(execution)s of flow %(flow)s starts", {"execution": new.name, "flow": flow.name})
        self._engine.start(execution)
        return ExecutionRecord(
            id=execution,
            flow_name=flow.name,
            name=new.name,
            definition=flow.definition,
            role_arn=flow.settings.role_arn,
            environment=flow.settings.environment,
            input=new.input,
            output="",
            status=Status.STARTING,
            started_at=new.started_at,
            stopped_at=None,
        )

    def get(self, tenant: Tenant, flow_name: str, name: str) -> ExecutionRecord:
        """Return an execution.

        Raises: FlowNotExists, ExecutionNotExists.
        """
        record = self._store.execution(self._flows.get(tenant, flow_name).id, name)
        if record is None:
            raise ExecutionNotExists(execution=name, flow=flow_name)
        return record

    def when_ended(self, execution: ExecutionId, wait_s: int, tell: Callable[[], None]) -> Callable[[], None]:
        """Call *tell* once, when *execution* has ended or after *wait_s* seconds; what is returned calls it off."""
        return self._waiters.park(execution, Millis(self._clock.now() + wait_s * SECOND), tell)

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
        start = self._store.execution(flow.id, marker) if marker else None
        if marker and start is None:
            raise InvalidArgument(reason="NextToken is not one that this operation has returned.")
        rows = self._store.executions(flow.id, criteria, start, limit + 1)
        return cut(rows, limit, lambda record: record.name)

    def history(self, tenant: Tenant, flow_name: str, name: str, limit: int, start: int) -> Page[HistoryEvent]:
        """Return events in order, from id *start* on; the marker is the id of the next one.

        Raises: FlowNotExists, ExecutionNotExists.
        """
        record = self.get(tenant, flow_name, name)
        rows = self._store.history(record.id, start, limit + 1)
        return cut(rows, limit, lambda event: str(event.id))

    def forget(self) -> None:
        """Drop what is known of the store in memory; it has been emptied."""
        self._open.clear()

    def _make_room(self, tenant: Tenant) -> None:
        """Refuse one execution too many. The kept number may be too high, never too low; it is counted when it matters.

        Raises: ResourceThrottled.
        """
        if self._open.get(tenant, limits.OPEN_EXECUTIONS) >= limits.OPEN_EXECUTIONS:
            self._open[tenant] = self._store.open_executions().get(tenant, 0)
            if self._open[tenant] >= limits.OPEN_EXECUTIONS:
                raise ResourceThrottled(reason=f"At most {limits.OPEN_EXECUTIONS} executions run at a time.")
        self._open[tenant] += 1


def sound_input(given: str) -> str:
    """Return the input of an execution as it is kept; no text is ``{}``.

    Raises: InvalidArgument.
    """
    text = given if given.strip() else "{}"
    try:
        parse_object(text)
    except NotAnObject as error:
        raise InvalidArgument(reason=f"Input must be a JSON object: {error}") from error
    return text


class Express:
    """Starts express executions."""

    def __init__(self, flows: Flows, versions: Versions, executions: Executions, clock: Clock, ids: Ids) -> None:
        self._flows = flows
        self._versions = versions
        self._executions = executions
        self._clock = clock
        self._ids = ids

    def start(
        self, tenant: Tenant, flow_name: str, name: str | None, given: str, qualifier: str = ""
    ) -> ExecutionRecord:
        """Accept an execution under ``{name}:{UUID}``; *name* None: a UUID. `Executions.when_ended` tells its end.

        Raises: FlowNotExists, FlowVersionNotExists, FlowAliasNotExists, InvalidArgument, ActionNotSupported for a
            standard flow, ResourceThrottled.
        """
        if name is not None:
            check_name("ExecutionName", name)
        text = sound_input(given)
        flow = self._flows.get(tenant, flow_name)
        if not flow.settings.is_express:
            raise ActionNotSupported("Standard execution is not supported")
        new = NewExecution(
            flow=self._versions.choose(flow, qualifier),
            name=f"{name or self._ids.uuid()}:{self._ids.uuid()}",
            input=text,
            callback_token="",
            started_at=self._clock.now(),
            qualifier=qualifier,
        )
        return self._executions.add(tenant, new)
