"""Executions: started, shown, listed and stopped.

Express executions are short, run under a name that is made unique, and their starters wait for the end. They run on the
same engine as all others and are kept like them, so their history can be read, and one that a crash of the emulator
interrupts goes on at the next start.

Source: standard and express, Serverless Workflow guide; StartExecution and StartSyncExecution, API reference.
"""

import logging
from collections.abc import Callable

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.paging import Page, cut
from emulator.services.workflow import limits
from emulator.services.workflow.codec import check_name
from emulator.services.workflow.engine.driver import Driver
from emulator.services.workflow.engine.events import NotAnObject, parse_object
from emulator.services.workflow.engine.language import StopAsked
from emulator.services.workflow.errors import (
    ExecutionAlreadyCompleted,
    ExecutionAlreadyExists,
    ExecutionNotExists,
    WorkflowError,
)
from emulator.services.workflow.executions.store import ExecutionStore
from emulator.services.workflow.executions.waiters import EndWaiters
from emulator.services.workflow.flows.flows import Flows, Versions
from emulator.services.workflow.model import (
    ExecutionFilter,
    ExecutionId,
    ExecutionRecord,
    FlowRecord,
    HistoryEvent,
    NewExecution,
    Status,
)

_log = logging.getLogger(__name__)


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
        """How many executions have been started since the emulator was."""

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
        version or an alias. Without *check* the name may be any: one made here may begin with a digit.

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

    def _add(
        self, tenant: Tenant, flow: FlowRecord, name: str, text: str, callback_token: str, qualifier: str
    ) -> ExecutionRecord:
        """Keep an execution that has been checked and let it begin in a later tick.

        Raises: ResourceThrottled.
        """
        self._make_room(tenant)
        now = self._clock.now()
        new = NewExecution(
            flow=flow, name=name, input=text, callback_token=callback_token, started_at=now, qualifier=qualifier
        )
        execution = self._store.add(tenant, new)
        self.started += 1
        _log.info("execution %(execution)s of flow %(flow)s starts", {"execution": name, "flow": flow.name})
        self._engine.start(execution)
        return ExecutionRecord(
            id=execution,
            flow_name=flow.name,
            name=name,
            definition=flow.definition,
            role_arn=flow.settings.role_arn,
            environment=flow.settings.environment,
            input=text,
            output="",
            status=Status.STARTING,
            started_at=now,
            stopped_at=None,
        )

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
            raise WorkflowError("InvalidArgument", reason="NextToken is not one that this operation has returned.")
        rows = self._store.page(flow.id, criteria, start, limit + 1)
        return cut(rows, limit, lambda record: record.name)

    def history(
        self, tenant: Tenant, flow_name: str, name: str, limit: int, start: int, *, whole: bool = True
    ) -> Page[HistoryEvent]:
        """Return events in order, from id *start* on; the marker is the id of the next one.

        Without *whole* the events of iterations leave out what they share: of many iterations that is most of it.

        Raises: FlowNotExists, ExecutionNotExists.
        """
        record = self.get(tenant, flow_name, name)
        rows = self._store.history(record.id, start, limit + 1, whole=whole)
        return cut(rows, limit, lambda event: str(event.id))

    def forget(self) -> None:
        """Drop what is in memory; the store has been emptied."""
        self._open.clear()

    def _make_room(self, tenant: Tenant) -> None:
        """Refuse one execution too many. The kept number may be too high, never too low; it is counted when it matters.

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
    """Return the input of an execution as it is kept; no text is ``{}``.

    Raises: InvalidArgument.
    """
    text = text if text.strip() else "{}"
    try:
        parse_object(text)
    except NotAnObject as error:
        raise WorkflowError("InvalidArgument", reason=f"Input must be a JSON object: {error}") from error
    return text
