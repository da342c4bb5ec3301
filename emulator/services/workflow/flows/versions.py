"""Versions of flows, and aliases that lead to them.

Source: the operations as the newer official SDK has them. Assumed: numbers count from 1 and are never given twice, a
version keeps the flow as a whole, ``LATEST`` names the flow itself, and a version that an alias leads to stays.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from emulator.kernel.clock import Clock
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.paging import Page, cut
from emulator.services.workflow import limits, wire
from emulator.services.workflow.errors import (
    FlowAliasAlreadyExists,
    FlowAliasNotExists,
    FlowVersionNotExists,
    InvalidArgument,
)
from emulator.services.workflow.flows.model import AliasRecord, Route, VersionRecord
from emulator.services.workflow.flows.operations import Flows
from emulator.services.workflow.model import FlowRecord
from emulator.services.workflow.names import check_name
from emulator.services.workflow.service import Workflow
from emulator.services.workflow.store import VersionStore
from emulator.wire.dates import iso_millis
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Operation, Parameters, Reply

LATEST = "LATEST"
_HIGHEST = 2**62
_DIGITS = 18


class Versions:
    """The versions and aliases of every flow."""

    def __init__(self, store: VersionStore, flows: Flows, clock: Clock, ids: Ids) -> None:
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
            raise InvalidArgument(reason=f"The alias {alias} leads to version {number}.")
        self._store.remove_version(flow.id, number)

    def page(self, tenant: Tenant, flow_name: str, limit: int, marker: str) -> Page[VersionRecord]:
        """Return versions, newest first; the marker is the number of the next one.

        Raises: FlowNotExists, InvalidArgument.
        """
        flow = self._flows.get(tenant, flow_name)
        start = _number(marker) if marker else _HIGHEST
        if start is None:
            raise InvalidArgument(reason="NextToken is not one that this operation has returned.")
        rows = self._store.versions(flow.id, start, limit + 1)
        return cut(rows, limit, lambda record: str(record.number))

    def _at(self, flow: FlowRecord, version: str) -> FlowRecord:
        number = _number(version)
        found = self._store.flow_at(flow, number) if number is not None else None
        if found is None:
            raise FlowVersionNotExists(flow=flow.name, version=version)
        return found

    # --- aliases -------------------------------------------------------------------------------------------------

    def create_alias(
        self, tenant: Tenant, flow_name: str, name: str, routes: tuple[Route, ...], description: str
    ) -> AliasRecord:
        """Keep a new alias.

        Raises: InvalidArgument, FlowNotExists, FlowVersionNotExists, FlowAliasAlreadyExists.
        """
        check_name("Name", name)
        if name == LATEST:
            raise InvalidArgument(reason=f"{LATEST} is the flow itself.")
        flow = self._flows.get(tenant, flow_name)
        if self._store.alias(flow.id, name) is not None:
            raise FlowAliasAlreadyExists(flow=flow_name, alias=name)
        self._check_routes(flow, routes)
        alias = AliasRecord(name=name, description=description, routes=routes, created_at=self._clock.now())
        self._store.put_alias(flow, alias)
        return alias

    def update_alias(
        self, tenant: Tenant, flow_name: str, name: str, changed: Callable[[AliasRecord], AliasRecord]
    ) -> AliasRecord:
        """Replace what is given: *changed* is given the present alias and returns the new one.

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

    def flow_deleted(self, flow: FlowRecord) -> None:
        """Delete what belongs to a flow that is deleted."""
        self._store.remove_of(flow.id)

    def _alias(self, flow: FlowRecord, name: str) -> AliasRecord:
        alias = self._store.alias(flow.id, name)
        if alias is None:
            raise FlowAliasNotExists(flow=flow.name, alias=name)
        return alias

    def _check_routes(self, flow: FlowRecord, routes: tuple[Route, ...]) -> None:
        for route in routes:
            self._at(flow, str(route.version))


def _number(text: str) -> int | None:
    """Return the number of a version as the API writes it, None for any other text."""
    fine = text.isascii() and text.isdecimal() and len(text) <= _DIGITS and text[0] != "0"
    return int(text) if fine else None


class VersionOperations:
    """One function per operation.

    Source: alibabacloud_fnf20190315; the shapes of the replies differ from operation to operation there.
    """

    def __init__(self, service: Workflow) -> None:
        self._service = service

    def table(self) -> dict[str, Operation]:
        """Return the operations by name."""
        return {
            "PublishFlowVersion": self.publish_flow_version,
            "DeleteFlowVersion": self.delete_flow_version,
            "ListFlowVersions": self.list_flow_versions,
            "CreateFlowAlias": self.create_flow_alias,
            "UpdateFlowAlias": self.update_flow_alias,
            "DescribeFlowAlias": self.describe_flow_alias,
            "DeleteFlowAlias": self.delete_flow_alias,
            "ListFlowAliases": self.list_flow_aliases,
        }

    # --- versions ------------------------------------------------------------------------------------------------

    def publish_flow_version(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """PublishFlowVersion."""
        flow = wire.required(parameters, "FlowName")
        version = self._service.versions.publish(context.tenant, flow, wire.optional(parameters, "Description"))
        return {"FlowName": flow, **_version(version)}

    def delete_flow_version(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """DeleteFlowVersion."""
        flow, version = wire.required(parameters, "FlowName"), wire.required(parameters, "FlowVersion")
        self._service.versions.delete(context.tenant, flow, version)
        return {}

    def list_flow_versions(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """ListFlowVersions."""
        flow = wire.required(parameters, "FlowName")
        limit = wire.whole(parameters, "Limit", limits.LIST_VERSIONS)
        page = self._service.versions.page(context.tenant, flow, limit, wire.optional(parameters, "NextToken"))
        return wire.render_page("FlowVersions", [_version(version) for version in page.items], page.next_marker)

    # --- aliases -------------------------------------------------------------------------------------------------

    def create_flow_alias(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """CreateFlowAlias."""
        flow, name = _names(parameters)
        routes = _routes(wire.required(parameters, "RoutingConfigurations"))
        description = wire.optional(parameters, "Description")
        alias = self._service.versions.create_alias(context.tenant, flow, name, routes, description)
        return {"FlowName": flow, **_alias(alias)}

    def update_flow_alias(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """UpdateFlowAlias: what is absent stays."""
        flow, name = _names(parameters)
        routes = _routes(parameters["RoutingConfigurations"]) if parameters.get("RoutingConfigurations") else None

        def changed(present: AliasRecord) -> AliasRecord:
            description = wire.given(parameters, "Description", present.description)
            return replace(present, description=description, routes=routes or present.routes)

        return {"Alias": _alias(self._service.versions.update_alias(context.tenant, flow, name, changed))}

    def describe_flow_alias(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """DescribeFlowAlias."""
        return {"Alias": _alias(self._service.versions.alias(context.tenant, *_names(parameters)))}

    def delete_flow_alias(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """DeleteFlowAlias."""
        self._service.versions.delete_alias(context.tenant, *_names(parameters))
        return {}

    def list_flow_aliases(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """ListFlowAliases: here the weights are texts."""
        flow = wire.required(parameters, "FlowName")
        limit = wire.whole(parameters, "Limit", limits.LIST_ALIASES)
        page = self._service.versions.aliases(context.tenant, flow, limit, wire.optional(parameters, "NextToken"))
        aliases = [_alias(alias) for alias in page.items]
        for alias in aliases:
            for route in alias["RoutingConfigurations"]:
                route["Weight"] = str(route["Weight"])
        return wire.render_page("Aliases", aliases, page.next_marker)


def _names(parameters: Parameters) -> tuple[str, str]:
    return wire.required(parameters, "FlowName"), wire.required(parameters, "Name")


def _version(version: VersionRecord) -> Reply:
    return {
        "Version": str(version.number),
        "Description": version.description,
        "CreatedTime": iso_millis(version.created_at),
    }


def _alias(alias: AliasRecord) -> Reply:
    return {
        "Name": alias.name,
        "Description": alias.description,
        "RoutingConfigurations": [{"Version": str(route.version), "Weight": route.weight} for route in alias.routes],
        "CreatedTime": iso_millis(alias.created_at),
    }


def _routes(text: str) -> tuple[Route, ...]:
    """Read ``[{"Version":"1","Weight":100}]``: one or two versions; the weights need not sum up to 100.

    Raises: InvalidArgument.
    """
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(reason="RoutingConfigurations must be the text of a JSON array.") from error
    if not isinstance(entries, list) or not 1 <= len(entries) <= 2:
        raise InvalidArgument(reason="RoutingConfigurations must name one or two versions.")
    routes = tuple(_route(entry, default=100 if len(entries) == 1 else None) for entry in entries)
    if len({route.version for route in routes}) < len(routes):
        raise InvalidArgument(reason="RoutingConfigurations must name different versions.")
    if not any(route.weight for route in routes):
        raise InvalidArgument(reason="RoutingConfigurations must give a version a weight above 0.")
    return routes


def _route(entry: Any, default: int | None) -> Route:
    members = entry if isinstance(entry, dict) else {}
    version, weight = _whole(members.get("Version")), _whole(members.get("Weight", default))
    if version is None or weight is None or weight > limits.WEIGHT_MAX:
        raise InvalidArgument(
            reason=f"RoutingConfigurations must hold objects with Version and a Weight from 0 to {limits.WEIGHT_MAX}."
        )
    return Route(version, weight)


def _whole(value: Any) -> int | None:
    """Return a whole number that comes as such or as text, None for anything else."""
    text = value if isinstance(value, str) else str(value) if type(value) is int else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None
