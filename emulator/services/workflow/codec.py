"""Parses parameters into values, and renders records as replies: flows, versions, aliases, schedules, executions.

The front has made sure that all parameters are valid Unicode text. Every function that parses raises `WorkflowError`:
InvalidArgument, and MissingRequiredParams for a missing parameter.
"""

import json
from typing import Any, TypeVar

from emulator.kernel.clock import Millis
from emulator.kernel.digits import read_digits
from emulator.kernel.frozen import replace
from emulator.kernel.paging import Range
from emulator.services.workflow.engine.json_text import NotAnObject, parse_object
from emulator.services.workflow.errors import WorkflowError, invalid
from emulator.services.workflow.limits import CAUSE_CHARS, ERROR_CHARS, WEIGHT_MAX
from emulator.services.workflow.model import (
    FLOW,
    SCHEDULE,
    AliasRecord,
    ExecutionFilter,
    ExecutionRecord,
    FlowRecord,
    FlowSettings,
    HistoryEvent,
    Route,
    ScheduleRecord,
    ScheduleSettings,
    Status,
    VersionRecord,
)
from emulator.wire.dates import iso_china, iso_millis, parse_iso
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Reply
from emulator.wire.schema.kinds import Shape
from emulator.wire.schema.texts import Texts, show

T = TypeVar("T", FlowSettings, ScheduleSettings)


def required(call: OperationRequest, name: str) -> str:
    """Return the value of a required parameter."""
    try:
        return call.parameters[name]
    except KeyError:
        raise WorkflowError("MissingRequiredParams", name=name) from None


def optional(call: OperationRequest, name: str) -> str:
    """Return a parameter's text, ``""`` when it is absent."""
    return call.parameters.get(name, "")


def whole(call: OperationRequest, name: str, allowed: Range) -> int:
    """Return a whole number in its range, the default when it is absent or empty."""
    text = call.parameters.get(name, "").strip()
    if not text:
        return allowed.default
    number = read_digits(text, 9)
    if number is None or not allowed.contains(number):
        reason = f"{name} must be a whole number from {allowed.low} to {allowed.high}."
        raise invalid(reason)
    return number


def flag(call: OperationRequest, name: str, *, default: bool = False) -> bool:
    """Return a boolean parameter, *default* when it is absent or empty."""
    text = call.parameters.get(name, "").lower()  # the clients write True and False, too
    if text not in {"", "true", "false"}:
        raise invalid(f"{name} must be true or false.")
    return text == "true" if text else default


def parse_failure(call: OperationRequest) -> tuple[str, str]:
    """Return the Error and Cause of a stop or report, ``""`` for an absent one."""
    return _bounded_text(call, "Error", ERROR_CHARS), _bounded_text(call, "Cause", CAUSE_CHARS)


def _bounded_text(call: OperationRequest, name: str, longest: int) -> str:
    text = optional(call, name)
    if len(text) > longest:
        raise invalid(f"{name} must have at most {longest} characters.")
    return text


def render_page(name: str, items: list[Reply], marker: str | None) -> Reply:
    """Return the members of a list; NextToken is left out at its end."""
    return {name: items} if marker is None else {name: items, "NextToken": marker}


def _number(value: object, name: str) -> int:
    number = read_digits(str(value).strip(), 9)
    if number is None:
        raise invalid(f"{name} must be a whole number.")
    return number


def _switch(value: object, name: str) -> bool:
    word = str(value).lower()  # the clients write True and False, too
    if word not in {"true", "false"}:
        raise invalid(f"{name} must be true or false.")
    return word == "true"


def _wrong(name: str) -> WorkflowError:
    return invalid(f"{name} has a value that cannot be used.")


PARAMETERS = Texts(
    "rpc", _number, _switch, _wrong, lambda name, kind: invalid(f"{name} must be {' or '.join(kind.choices)}."),
    out_of_range=lambda name, kind: invalid(f"{name} must be a whole number from {kind.low} to {kind.high}."),
)  # fmt: skip
"""The notation of the attributes of flows and schedules in parameters."""


def new_settings(shape: Shape, call: OperationRequest) -> Any:
    """Return the settings in the parameters of a call that creates a resource."""
    for each in shape.of_form(PARAMETERS.form):
        if each.required:
            required(call, each.name)
    assert shape.record is not None
    return shape.record(**PARAMETERS.read(shape, call.parameters.get))


def changed_settings(shape: Shape, call: OperationRequest, present: T) -> T:
    """Return *present* with the settings that the parameters give."""
    return replace(present, **PARAMETERS.read(shape, call.parameters.get, changing=True))


def parse_new_settings(call: OperationRequest) -> FlowSettings:
    """Return the settings in the parameters of CreateFlow."""
    settings: FlowSettings = new_settings(FLOW, call)
    return _checked(settings)


def parse_changed_settings(call: OperationRequest, present: FlowSettings) -> FlowSettings:
    """Return *present* with the settings the parameters give."""
    return _checked(changed_settings(FLOW, call, present))


def _checked(settings: FlowSettings) -> FlowSettings:
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
        "Definition": flow.definition,
        **dict(show(FLOW, "reply", settings, flow)),
        "Environment": render_environment(settings.environment, ("Name", "Value", "Description")),
        "CreatedTime": iso_millis(flow.created_at),
        "LastModifiedTime": iso_millis(flow.modified_at),
    }


def render_environment(text: str, members: tuple[str, ...]) -> dict[str, Any]:
    """Return the environment stored as the JSON *text*, with only *members* of each variable."""
    variables = json.loads(text).get("Variables", []) if text else []
    return {"Variables": [{name: variable.get(name, "") for name in members} for variable in variables]}


def render_version(version: VersionRecord) -> Reply:
    """Return the members of a version."""
    return {
        "Version": str(version.number),
        "Description": version.description,
        "CreatedTime": iso_china(version.created_at),
    }


def render_alias(alias: AliasRecord) -> Reply:
    """Return the members of an alias."""
    return {
        "Name": alias.name,
        "Description": alias.description,
        "RoutingConfigurations": [{"Version": str(route.version), "Weight": route.weight} for route in alias.routes],
        "CreatedTime": iso_china(alias.created_at),
    }


def parse_routes(text: str) -> tuple[Route, ...]:
    """Read ``[{"Version":"1","Weight":100}]``: one or two versions; the weights need not sum up to 100."""
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
    if version is None or weight is None or weight > WEIGHT_MAX:
        raise invalid(f"RoutingConfigurations must hold objects with Version and a Weight from 0 to {WEIGHT_MAX}.")
    return Route(version, weight)


def _whole(value: Any) -> int | None:
    """Return a whole number that comes as such or as text, None for anything else."""
    text = value if isinstance(value, str) else str(value) if type(value) is int else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def render_schedule(schedule: ScheduleRecord) -> Reply:
    """Return the members of DescribeSchedule; the flow's name is not among them."""
    return {
        "ScheduleId": schedule.uuid,
        "ScheduleName": schedule.name,
        **dict(show(SCHEDULE, "reply", schedule.settings, schedule)),
        "CreatedTime": iso_millis(schedule.created_at),
        "LastModifiedTime": iso_millis(schedule.modified_at),
    }


def parse_filter(call: OperationRequest) -> ExecutionFilter:
    """Return the filter in the parameters of ListExecutions."""
    status = optional(call, "Status")
    try:
        shown = Status(status) if status else None
    except ValueError as error:
        raise invalid(f"Status must be one of {', '.join(Status)}.") from error
    return ExecutionFilter(
        status=shown,
        started_from=_time(call, "StartedTimeBegin"),
        started_before=_time(call, "StartedTimeEnd"),
        name_prefix=optional(call, "ExecutionNamePrefix"),
        qualifier=optional(call, "Qualifier"),
    )


def _time(call: OperationRequest, name: str) -> Millis | None:
    text = call.parameters.get(name, "")
    if not text:
        return None
    try:
        return parse_iso(text)
    except (ValueError, OverflowError) as error:
        raise invalid(f"{name} must be a UTC date and time such as 2024-05-01T08:00:00Z.") from error


def render_execution(execution: ExecutionRecord) -> Reply:
    """Return the members every reply about an execution has."""
    return {
        "FlowName": execution.flow_name,
        "Name": execution.name,
        "FlowDefinition": execution.definition,
        "Input": execution.input,
        "Output": execution.output,
        "Status": execution.status.value,
        "StartedTime": iso_millis(execution.started_at),
        "StoppedTime": iso_millis(execution.stopped_at) if execution.stopped_at is not None else "",
    }


def render_described_execution(execution: ExecutionRecord) -> Reply:
    """Return the members of DescribeExecution."""
    return {**render_execution(execution), "Environment": render_environment(execution.environment, ("Name", "Value"))}


def render_listed_execution(execution: ExecutionRecord, *, metadata_only: bool) -> Reply:
    """Return an item of ListExecutions; *metadata_only* leaves out input, output and definition, which can be long."""
    reply = render_described_execution(execution)
    return _without(reply, "Input", "Output", "FlowDefinition") if metadata_only else reply


def render_finished_execution(execution: ExecutionRecord) -> Reply:
    """Return the members of StartSyncExecution."""
    reply = _without(render_described_execution(execution), "FlowDefinition", "Input")
    return {**reply, "ErrorCode": execution.error, "ErrorMessage": execution.cause}


def render_child(execution: ExecutionRecord) -> Reply:
    """Return the result of a task that has started an execution, without the definition, which may be long."""
    return _without(render_execution(execution), "FlowDefinition")


def _without(reply: Reply, *names: str) -> Reply:
    return {name: value for name, value in reply.items() if name not in names}


def render_event(event: HistoryEvent) -> Reply:
    """Return a member of GetExecutionHistory."""
    return {
        "EventId": event.id,
        "ScheduleEventId": event.cause,
        "StepName": event.step,
        "Type": event.type,
        "Time": iso_millis(event.at),
        "EventDetail": event.detail,
    }
