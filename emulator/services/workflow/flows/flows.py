"""Flows: made, changed, listed and deleted; their versions, and the aliases that lead to versions.

Source: CreateFlow and its siblings, Serverless Workflow API reference; versions and aliases as the newer official SDK
has them. Assumed: numbers count from 1 and are never given twice, a version keeps the flow as a whole, ``LATEST`` names
the flow itself, and a version that an alias leads to stays.
"""

import logging
from collections.abc import Callable

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.paging import Page, cut
from emulator.kernel.phrases import Phrase
from emulator.services.workflow import limits
from emulator.services.workflow.engine.language import DefinitionError, Program
from emulator.services.workflow.errors import WorkflowError, invalid
from emulator.services.workflow.flows.store import FlowStore
from emulator.services.workflow.languages.programs import Programs
from emulator.services.workflow.model import AliasRecord, FlowRecord, FlowSettings, Route, VersionRecord, check_name

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

    def tenants(self) -> dict[Tenant, int]:
        """Return how many flows each account has in each region where it has some."""
        return self._store.tenants()

    async def create(self, tenant: Tenant, name: str, definition: str, settings: FlowSettings) -> FlowRecord:
        """Store a new flow.

        Raises: InvalidArgument, FlowAlreadyExists, ResourceThrottled.
        """
        check_name("Name", name)
        program = await self._read(definition)
        _check_own_name(program, name)
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
        """Change a flow; executions that run keep what they started with.

        *changed* turns the present settings into the new ones.

        Raises: FlowNotExists, InvalidArgument.
        """
        program = await self._read(definition) if definition is not None else None
        record = self.get(tenant, name)  # not before: it may go, or change, while a long definition is parsed
        if program is not None:
            _check_own_name(program, name)
            _check_mode(program, record.settings)
        text = definition if definition is not None else record.definition
        now = Millis(max(self._clock.now(), record.modified_at))
        self._store.change(record, text, changed(record.settings), now)
        record = self.get(tenant, name)
        if program is not None:
            self._programs.keep(record.definition_id, program)
        return record

    def delete(self, tenant: Tenant, name: str) -> None:
        """Delete a flow with everything it has; executions that run are stopped at once.

        Raises: FlowNotExists.
        Source: DeleteFlow and StopExecution, Serverless Workflow API reference: Stopped is reached by either.
        """
        flow = self.get(tenant, name)
        self._store.delete(flow)
        self._deleted(flow)

    def page(self, tenant: Tenant, limit: int, marker: str, resource_group: str = "") -> Page[FlowRecord]:
        """Return flows by name; the marker is the name of the next one."""
        rows = self._store.page(tenant, marker, limit + 1, resource_group)
        return cut(rows, limit, lambda record: record.name)

    def names_with(self, tenant: Tenant, containing: str, limit: int) -> list[str]:
        """Return up to *limit* names that contain *containing*, given in lower case, sorted."""
        return self._store.names_with(tenant, containing, limit)

    def count(self, tenant: Tenant) -> int:
        """Return how many flows there are."""
        return self._store.count(tenant)

    async def needs_description(self, definition: str) -> bool:
        """Whether a flow of the language of *definition* must have a description.

        Raises: InvalidArgument.
        """
        return (await self._read(definition)).needs_description

    async def _read(self, definition: str) -> Program:
        program = await read_definition(self._programs, definition)
        for warning in program.warnings:
            _log.warning("flow definition: %s", warning)
        return program


async def read_definition(programs: Programs, text: str) -> Program:
    """Return the program of a definition in a request.

    Raises: InvalidArgument.
    """
    try:
        return await programs.read(text)
    except DefinitionError as error:
        raise invalid(Phrase("Definition: {problem}", problem=str(error))) from error


def _check_mode(program: Program, settings: FlowSettings) -> None:
    """Check that an express flow has no tasks that wait for callbacks or jobs.

    Raises: InvalidArgument.
    """
    unfit = program.unfit_for_express() if settings.is_express else None
    if unfit is not None:
        raise invalid(Phrase("Definition: {problem}.", problem=unfit))


def _check_own_name(program: Program, name: str) -> None:
    """Check that a definition with a name of its own has the flow's *name*.

    Raises: InvalidArgument.
    """
    if program.name is not None and program.name != name:
        text = "Definition: Name: {given!r} is not the name of the flow, {name!r}."
        raise invalid(Phrase(text, given=program.name, name=name))


LATEST = "LATEST"
_HIGHEST = 2**62
_DIGITS = 18


class Versions:
    """The versions and aliases of every flow."""

    def __init__(self, store: FlowStore, flows: Flows, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._flows = flows
        self._clock = clock
        self._ids = ids

    def publish(self, tenant: Tenant, flow_name: str, description: str) -> VersionRecord:
        """Store the present state of the flow as its next version.

        Raises: FlowNotExists.
        """
        return self._store.publish(self._flows.get(tenant, flow_name), description, self._clock.now())

    def flow_at(self, tenant: Tenant, flow_name: str, version: str) -> FlowRecord:
        """Return a flow as it was when *version* was published; ``""`` is the flow itself.

        Raises: FlowNotExists, FlowVersionNotExists.
        """
        flow = self._flows.get(tenant, flow_name)
        return flow if version in {"", LATEST} else self._at(flow, version)

    def choose(self, flow: FlowRecord, qualifier: str) -> FlowRecord:
        """Return the version of *flow* that *qualifier* names; an alias with two versions chooses one at random.

        Raises: FlowVersionNotExists, FlowAliasNotExists.
        """
        if qualifier in {"", LATEST}:
            return flow
        if qualifier.isdecimal():
            return self._at(flow, qualifier)
        return self._at(flow, str(self._alias(flow, qualifier).draw(self._ids.fraction())))

    def delete(self, tenant: Tenant, flow_name: str, version: str) -> None:
        """Delete a version; executions that run it go on.

        Raises: FlowNotExists, FlowVersionNotExists, InvalidArgument while an alias leads to it.
        """
        flow = self._flows.get(tenant, flow_name)
        number = int(self._at(flow, version).version)
        alias = self._store.alias_of(flow.id, number)
        if alias is not None:
            raise invalid(f"The alias {alias} leads to version {number}.")
        self._store.remove_version(flow.id, number)

    def page(self, tenant: Tenant, flow_name: str, limit: int, marker: str) -> Page[VersionRecord]:
        """Return versions, newest first; the marker is the number of the next one.

        Raises: FlowNotExists, InvalidArgument.
        """
        flow = self._flows.get(tenant, flow_name)
        start = _number(marker) if marker else _HIGHEST
        if start is None:
            raise invalid("NextToken is not one that this operation has returned.")
        rows = self._store.versions(flow.id, start, limit + 1)
        return cut(rows, limit, lambda record: str(record.number))

    def _at(self, flow: FlowRecord, version: str) -> FlowRecord:
        number = _number(version)
        record = self._store.flow_at(flow, number) if number is not None else None
        if record is None:
            raise WorkflowError("FlowVersionNotExists", flow=flow.name, version=version)
        return record

    def create_alias(
        self, tenant: Tenant, flow_name: str, name: str, routes: tuple[Route, ...], description: str
    ) -> AliasRecord:
        """Store a new alias.

        Raises: InvalidArgument, FlowNotExists, FlowVersionNotExists, FlowAliasAlreadyExists.
        """
        check_name("Name", name)
        if name == LATEST:
            raise invalid(f"{LATEST} is the flow itself.")
        flow = self._flows.get(tenant, flow_name)
        if self._store.alias(flow.id, name) is not None:
            raise WorkflowError("FlowAliasAlreadyExists", flow=flow_name, alias=name)
        self._check_routes(flow, routes)
        alias = AliasRecord(name=name, description=description, routes=routes, created_at=self._clock.now())
        self._store.put_alias(flow, alias)
        return alias

    def update_alias(
        self, tenant: Tenant, flow_name: str, name: str, changed: Callable[[AliasRecord], AliasRecord]
    ) -> AliasRecord:
        """Change an alias: *changed* turns the present alias into the new one.

        Raises: FlowNotExists, FlowAliasNotExists, FlowVersionNotExists.
        """
        flow = self._flows.get(tenant, flow_name)
        alias = changed(self._alias(flow, name))
        self._check_routes(flow, alias.routes)
        self._store.put_alias(flow, alias)
        return alias

    def alias(self, tenant: Tenant, flow_name: str, name: str) -> AliasRecord:
        """Return an alias.

        Raises: FlowNotExists, FlowAliasNotExists.
        """
        return self._alias(self._flows.get(tenant, flow_name), name)

    def delete_alias(self, tenant: Tenant, flow_name: str, name: str) -> None:
        """Delete an alias; executions it has started go on.

        Raises: FlowNotExists, FlowAliasNotExists.
        """
        flow = self._flows.get(tenant, flow_name)
        self._store.remove_alias(flow.id, self._alias(flow, name).name)

    def aliases(self, tenant: Tenant, flow_name: str, limit: int, marker: str) -> Page[AliasRecord]:
        """Return aliases by name; the marker is the name of the next one.

        Raises: FlowNotExists.
        """
        rows = self._store.aliases(self._flows.get(tenant, flow_name).id, marker, limit + 1)
        return cut(rows, limit, lambda record: record.name)

    def _alias(self, flow: FlowRecord, name: str) -> AliasRecord:
        alias = self._store.alias(flow.id, name)
        if alias is None:
            raise WorkflowError("FlowAliasNotExists", flow=flow.name, alias=name)
        return alias

    def _check_routes(self, flow: FlowRecord, routes: tuple[Route, ...]) -> None:
        for route in routes:
            self._at(flow, str(route.version))


def _number(text: str) -> int | None:
    """Return the number of a version as the API writes it, None for any other text."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= _DIGITS and text[0] != "0"
    return int(text) if is_number else None
