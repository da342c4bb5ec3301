"""Flows, versions and aliases on the wire: settings and routes in, replies out."""

import json
from typing import Any

from emulator.kernel.frozen import replace
from emulator.services.workflow import limits
from emulator.services.workflow.codec import optional, required
from emulator.services.workflow.engine.events import NotAnObject, parse_object
from emulator.services.workflow.errors import invalid
from emulator.services.workflow.model import AliasRecord, FlowRecord, FlowSettings, Route, VersionRecord
from emulator.wire.dates import iso_millis
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Reply


def parse_new_settings(call: OperationRequest) -> FlowSettings:
    """Return the settings of a flow to be made.

    Raises: MissingRequiredParams, InvalidArgument.
    """
    settings = FlowSettings(
        description=optional(call, "Description"),
        type=required(call, "Type"),
        role_arn=optional(call, "RoleArn"),
        storage_location=optional(call, "ExternalStorageLocation"),
        execution_mode=optional(call, "ExecutionMode"),
        environment=optional(call, "Environment"),
        resource_group=optional(call, "ResourceGroupId"),
    )
    if settings.execution_mode not in {"", "Standard", "Express"}:
        raise invalid("ExecutionMode must be Standard or Express.")
    return _checked(settings)


def parse_changed_settings(call: OperationRequest, present: FlowSettings) -> FlowSettings:
    """Return *present* with the settings the parameters give.

    Raises: InvalidArgument.
    """
    chosen = call.parameters.get
    settings = replace(
        present,
        description=chosen("Description", present.description),
        type=chosen("Type", present.type),
        role_arn=chosen("RoleArn", present.role_arn),
        environment=chosen("Environment", present.environment),
    )
    return _checked(settings)


def _checked(settings: FlowSettings) -> FlowSettings:
    if settings.type not in {"FDL", "DEFAULT"}:  # the Terraform provider offers DEFAULT for the same thing
        raise invalid("Type must be FDL.")
    if not settings.environment:
        return settings
    try:
        variables = parse_object(settings.environment).get("Variables", [])
    except NotAnObject as error:
        raise invalid(f"Environment must be a JSON object: {error}") from error
    is_list_of_variables = isinstance(variables, list) and all(
        isinstance(variable, dict)
        and isinstance(variable.get("Name"), str)
        and isinstance(variable.get("Value", ""), str)
        for variable in variables
    )
    if not is_list_of_variables:
        raise invalid("Environment must hold Variables, a list of objects with Name and Value.")
    return settings


def render_flow(flow: FlowRecord) -> Reply:
    """Return the members of DescribeFlow."""
    settings = flow.settings
    return {
        "Id": flow.uuid,
        "Name": flow.name,
        "Description": settings.description,
        "Definition": flow.definition,
        "Type": settings.type,
        "RoleArn": settings.role_arn,
        "ExternalStorageLocation": settings.storage_location,
        "ExecutionMode": settings.execution_mode,
        "Environment": render_environment(settings.environment, ("Name", "Value", "Description")),
        "ResourceGroupId": settings.resource_group,
        "CreatedTime": iso_millis(flow.created_at),
        "LastModifiedTime": iso_millis(flow.modified_at),
    }


def render_environment(text: str, members: tuple[str, ...]) -> dict[str, Any]:
    """Return the environment that is kept as *text*, with these *members* of each variable."""
    variables = json.loads(text).get("Variables", []) if text else []
    return {"Variables": [{name: variable.get(name, "") for name in members} for variable in variables]}


def render_version(version: VersionRecord) -> Reply:
    """Return the members of a version."""
    return {
        "Version": str(version.number),
        "Description": version.description,
        "CreatedTime": iso_millis(version.created_at),
    }


def render_alias(alias: AliasRecord) -> Reply:
    """Return the members of an alias."""
    return {
        "Name": alias.name,
        "Description": alias.description,
        "RoutingConfigurations": [{"Version": str(route.version), "Weight": route.weight} for route in alias.routes],
        "CreatedTime": iso_millis(alias.created_at),
    }


def parse_routes(text: str) -> tuple[Route, ...]:
    """Read ``[{"Version":"1","Weight":100}]``: one or two versions; the weights need not sum up to 100.

    Raises: InvalidArgument.
    """
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise invalid("RoutingConfigurations must be the text of a JSON array.") from error
    if not isinstance(entries, list) or not 1 <= len(entries) <= 2:
        raise invalid("RoutingConfigurations must name one or two versions.")
    routes = tuple(_route(entry, default=100 if len(entries) == 1 else None) for entry in entries)
    if len({route.version for route in routes}) < len(routes):
        raise invalid("RoutingConfigurations must name different versions.")
    if not any(route.weight for route in routes):
        raise invalid("RoutingConfigurations must give a version a weight above 0.")
    return routes


def _route(entry: Any, default: int | None) -> Route:
    members = entry if isinstance(entry, dict) else {}
    version, weight = _whole(members.get("Version")), _whole(members.get("Weight", default))
    if version is None or weight is None or weight > limits.WEIGHT_MAX:
        raise invalid(
            f"RoutingConfigurations must hold objects with Version and a Weight from 0 to {limits.WEIGHT_MAX}."
        )
    return Route(version, weight)


def _whole(value: Any) -> int | None:
    """Return a whole number that comes as such or as text, None for anything else."""
    text = value if isinstance(value, str) else str(value) if type(value) is int else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None
