"""The operations on flow versions and aliases: parse, call the service, render."""

import json
from dataclasses import replace
from typing import Any

from emulator.services.workflow import limits, wire
from emulator.services.workflow.errors import InvalidArgument
from emulator.services.workflow.service import Workflow
from emulator.services.workflow.version_model import AliasRecord, Route, VersionRecord
from emulator.wire.dates import iso_millis
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Operation, Parameters, Reply


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
