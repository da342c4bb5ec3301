"""Flows: made, changed, listed and deleted."""

import asyncio
import logging
from collections.abc import Callable

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.paging import Page, cut
from emulator.services.workflow import limits
from emulator.services.workflow.errors import FlowAlreadyExists, FlowNotExists, InvalidArgument, ResourceThrottled
from emulator.services.workflow.languages.document import DefinitionError
from emulator.services.workflow.languages.fdl.nodes import Flow
from emulator.services.workflow.languages.fdl.reader import waiting_tasks
from emulator.services.workflow.languages.programs import Definitions
from emulator.services.workflow.model import ExecutionId, FlowRecord, FlowSettings
from emulator.services.workflow.names import check_name
from emulator.services.workflow.store import FlowStore

_log = logging.getLogger(__name__)

_CLEARED_AT_ONCE = 500
"""Rows of deleted flows removed in one tick; keeps a tick under a few milliseconds."""


class Flows:
    """The flows of every account.

    *deleted* is told the flow that has been deleted and its executions that were under way: they go no further.
    """

    def __init__(
        self,
        store: FlowStore,
        definitions: Definitions,
        clock: Clock,
        ids: Ids,
        deleted: Callable[[FlowRecord, list[ExecutionId]], None],
    ) -> None:
        self._store = store
        self._definitions = definitions
        self._clock = clock
        self._ids = ids
        self._deleted = deleted
        self._sweeping = False

    async def create(self, tenant: Tenant, name: str, definition: str, settings: FlowSettings) -> FlowRecord:
        """Keep a new flow.

        Raises: InvalidArgument, FlowAlreadyExists, ResourceThrottled.
        """
        check_name("Name", name)
        flow = await self._parsed(definition)
        _check_mode(flow, settings)
        if self._store.flow(tenant, name) is not None:
            raise FlowAlreadyExists(flow=name)
        if self._store.count_flows(tenant) >= limits.FLOWS:
            raise ResourceThrottled(reason=f"An account has at most {limits.FLOWS} flows.")
        self._store.add_flow(tenant, name, self._ids.uuid(), definition, settings, self._clock.now())
        record = self.get(tenant, name)
        self._definitions.keep(record.definition_id, flow)
        return record

    def get(self, tenant: Tenant, name: str) -> FlowRecord:
        """Return a flow.

        Raises: FlowNotExists.
        """
        record = self._store.flow(tenant, name)
        if record is None:
            raise FlowNotExists(flow=name)
        return record

    async def update(
        self, tenant: Tenant, name: str, definition: str | None, changed: Callable[[FlowSettings], FlowSettings]
    ) -> FlowRecord:
        """Replace what is given; executions that run keep what they started with.

        *changed* is given the present settings and returns the new ones.

        Raises: FlowNotExists, InvalidArgument.
        """
        flow = await self._parsed(definition) if definition is not None else None
        record = self.get(tenant, name)  # not before: it may go, or change, while a long definition is parsed
        if flow is not None:
            _check_mode(flow, record.settings)
        text = definition if definition is not None else record.definition
        now = Millis(max(self._clock.now(), record.modified_at))
        self._store.change_flow(record, text, changed(record.settings), now)
        record = self.get(tenant, name)
        if flow is not None:
            self._definitions.keep(record.definition_id, flow)
        return record

    def delete(self, tenant: Tenant, name: str) -> None:
        """Delete a flow with everything it has; executions that run stop, unseen, after their current step.

        Raises: FlowNotExists.
        Source: DeleteFlow, Serverless Workflow API reference.
        """
        flow = self.get(tenant, name)
        self._deleted(flow, self._store.delete_flow(flow))
        self.sweep()

    def page(self, tenant: Tenant, limit: int, marker: str, resource_group: str = "") -> Page[FlowRecord]:
        """Return flows by name; the marker is the name of the next one."""
        rows = self._store.flows(tenant, marker, limit + 1, resource_group)
        return cut(rows, limit, lambda record: record.name)

    async def _parsed(self, definition: str) -> Flow:
        try:
            flow = await self._definitions.parse(definition)
        except DefinitionError as error:
            raise InvalidArgument(reason=f"Definition: {error}") from error
        for warning in flow.warnings:
            _log.warning("flow definition: %s", warning)
        return flow

    # --- deleted flows -------------------------------------------------------------------------------------------

    @property
    def is_idle(self) -> bool:
        """Whether nothing of deleted flows is left that can go now."""
        return not self._sweeping

    def sweep(self) -> None:
        """Remove the rows of deleted flows, some in each of the next ticks."""
        if not self._sweeping:
            self._sweeping = True
            asyncio.get_running_loop().call_soon(self._sweep_some)

    def _sweep_some(self) -> None:
        self._sweeping = False
        if self._store.clear_deleted(_CLEARED_AT_ONCE):
            self.sweep()


def _check_mode(flow: Flow, settings: FlowSettings) -> None:
    """Refuse an express flow with tasks that wait for callbacks or jobs.

    Raises: InvalidArgument.
    """
    if settings.is_express and (task := next(waiting_tasks(flow.steps), None)) is not None:
        raise InvalidArgument(
            reason=f"Definition: the pattern {task.pattern} of step {task.name!r} is not for express flows."
        )
