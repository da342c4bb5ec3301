"""Versions of flows, and aliases that lead to them.

Source: the operations as the newer official SDK has them. Assumed: numbers count from 1 and are never given twice, a
version keeps the flow as a whole, ``LATEST`` names the flow itself, and a version that an alias leads to stays.
"""

from collections.abc import Callable

from emulator.kernel.clock import Clock
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.paging import Page, cut
from emulator.services.workflow.codec import check_name
from emulator.services.workflow.errors import WorkflowError
from emulator.services.workflow.flows.flows import Flows
from emulator.services.workflow.flows.store import FlowStore
from emulator.services.workflow.model import AliasRecord, FlowRecord, Route, VersionRecord

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

    # --- versions ------------------------------------------------------------------------------------------------

    def publish(self, tenant: Tenant, flow_name: str, description: str) -> VersionRecord:
        """Keep the flow as it is now as its next version.

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
        """Return *flow* as the version or alias *qualifier* has it; an alias with two versions is drawn from.

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
            raise WorkflowError("InvalidArgument", reason=f"The alias {alias} leads to version {number}.")
        self._store.remove_version(flow.id, number)

    def page(self, tenant: Tenant, flow_name: str, limit: int, marker: str) -> Page[VersionRecord]:
        """Return versions, newest first; the marker is the number of the next one.

        Raises: FlowNotExists, InvalidArgument.
        """
        flow = self._flows.get(tenant, flow_name)
        start = _number(marker) if marker else _HIGHEST
        if start is None:
            raise WorkflowError("InvalidArgument", reason="NextToken is not one that this operation has returned.")
        rows = self._store.versions(flow.id, start, limit + 1)
        return cut(rows, limit, lambda record: str(record.number))

    def _at(self, flow: FlowRecord, version: str) -> FlowRecord:
        number = _number(version)
        record = self._store.flow_at(flow, number) if number is not None else None
        if record is None:
            raise WorkflowError("FlowVersionNotExists", flow=flow.name, version=version)
        return record

    # --- aliases -------------------------------------------------------------------------------------------------

    def create_alias(
        self, tenant: Tenant, flow_name: str, name: str, routes: tuple[Route, ...], description: str
    ) -> AliasRecord:
        """Keep a new alias.

        Raises: InvalidArgument, FlowNotExists, FlowVersionNotExists, FlowAliasAlreadyExists.
        """
        check_name("Name", name)
        if name == LATEST:
            raise WorkflowError("InvalidArgument", reason=f"{LATEST} is the flow itself.")
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
        """Replace what is given: *changed* turns the present alias into the new one.

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
    fine = text.isascii() and text.isdecimal() and len(text) <= _DIGITS and text[0] != "0"
    return int(text) if fine else None
