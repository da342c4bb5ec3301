"""Flows: made, changed, listed and deleted."""

import logging
from collections.abc import Callable

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.paging import Page, cut
from emulator.services.workflow import limits
from emulator.services.workflow.codec import check_name
from emulator.services.workflow.engine.language import DefinitionError, Program
from emulator.services.workflow.engine.model import waiting_tasks
from emulator.services.workflow.errors import WorkflowError
from emulator.services.workflow.flows.store import FlowStore
from emulator.services.workflow.languages.programs import Programs
from emulator.services.workflow.model import FlowRecord, FlowSettings

_log = logging.getLogger(__name__)


class Flows:
    """The flows of every account. *deleted* is called with each flow that has been deleted."""

    def __init__(
        self, store: FlowStore, programs: Programs, clock: Clock, ids: Ids, deleted: Callable[[FlowRecord], None]
    ) -> None:
        self._store = store
        self._programs = programs
        self._clock = clock
        self._ids = ids
        self._deleted = deleted

    async def create(self, tenant: Tenant, name: str, definition: str, settings: FlowSettings) -> FlowRecord:
        """Keep a new flow.

        Raises: InvalidArgument, FlowAlreadyExists, ResourceThrottled.
        """
        check_name("Name", name)
        program = await self._read(definition)
        _check_mode(program, settings)
        if self._store.get(tenant, name) is not None:
            raise WorkflowError("FlowAlreadyExists", flow=name)
        if self._store.count(tenant) >= limits.FLOWS:
            raise WorkflowError("ResourceThrottled", reason=f"An account has at most {limits.FLOWS} flows.")
        self._store.add(tenant, name, self._ids.uuid(), definition, settings, self._clock.now())
        record = self.get(tenant, name)
        self._programs.keep(record.definition_id, program)
        return record

    def get(self, tenant: Tenant, name: str) -> FlowRecord:
        """Return a flow.

        Raises: FlowNotExists.
        """
        record = self._store.get(tenant, name)
        if record is None:
            raise WorkflowError("FlowNotExists", flow=name)
        return record

    async def update(
        self, tenant: Tenant, name: str, definition: str | None, changed: Callable[[FlowSettings], FlowSettings]
    ) -> FlowRecord:
        """Replace what is given; executions that run keep what they started with.

        *changed* turns the present settings into the new ones.

        Raises: FlowNotExists, InvalidArgument.
        """
        program = await self._read(definition) if definition is not None else None
        record = self.get(tenant, name)  # not before: it may go, or change, while a long definition is parsed
        if program is not None:
            _check_mode(program, record.settings)
        text = definition if definition is not None else record.definition
        now = Millis(max(self._clock.now(), record.modified_at))
        self._store.change(record, text, changed(record.settings), now)
        record = self.get(tenant, name)
        if program is not None:
            self._programs.keep(record.definition_id, program)
        return record

    def delete(self, tenant: Tenant, name: str) -> None:
        """Delete a flow with everything it has; executions that run stop, invisibly, after their current step.

        Raises: FlowNotExists.
        Source: DeleteFlow, Serverless Workflow API reference.
        """
        flow = self.get(tenant, name)
        self._store.delete(flow)
        self._deleted(flow)

    def page(self, tenant: Tenant, limit: int, marker: str, resource_group: str = "") -> Page[FlowRecord]:
        """Return flows by name; the marker is the name of the next one."""
        rows = self._store.page(tenant, marker, limit + 1, resource_group)
        return cut(rows, limit, lambda record: record.name)

    async def _read(self, definition: str) -> Program:
        try:
            program = await self._programs.read(definition)
        except DefinitionError as error:
            raise WorkflowError("InvalidArgument", reason=f"Definition: {error}") from error
        for warning in program.warnings:
            _log.warning("flow definition: %s", warning)
        return program


def _check_mode(program: Program, settings: FlowSettings) -> None:
    """Refuse an express flow with tasks that wait for callbacks or jobs.

    Raises: InvalidArgument.
    """
    if settings.is_express and (task := next(waiting_tasks(program.steps), None)) is not None:
        raise WorkflowError(
            "InvalidArgument",
            reason=f"Definition: the pattern {task.pattern} of step {task.name!r} is not for express flows.",
        )
