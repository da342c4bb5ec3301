"""Parameters to values, records to replies. Knows no rules but the ranges of parameters."""

import json
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.paging import Range
from emulator.services.workflow.engine.events import NotAnObject, parse_object
from emulator.services.workflow.errors import InvalidArgument, MissingRequiredParams
from emulator.services.workflow.limits import CAUSE_CHARS, ERROR_CHARS
from emulator.services.workflow.model import (
    ExecutionFilter,
    ExecutionRecord,
    FlowRecord,
    FlowSettings,
    HistoryEvent,
    Status,
)
from emulator.wire.dates import iso_millis, parse_iso
from emulator.wire.rpc import Parameters, Reply

# --- parameters -----------------------------------------------------------------------------------------------------


def required(parameters: Parameters, name: str) -> str:
    """Return a parameter that must be there.

    Raises: MissingRequiredParams.
    """
    try:
        return sound(parameters[name], name)
    except KeyError:
        raise MissingRequiredParams(name=name) from None


def optional(parameters: Parameters, name: str) -> str:
    """Return a parameter's text, ``""`` when it is absent.

    Raises: InvalidArgument for text that is no Unicode.
    """
    return sound(parameters.get(name, ""), name)


def given(parameters: Parameters, name: str, present: str) -> str:
    """Return a parameter's text, *present* when it is absent.

    Raises: InvalidArgument for text that is no Unicode.
    """
    return sound(parameters.get(name, present), name)


def sound(text: str, name: str) -> str:
    """Return *text* if it can be stored.

    Raises: InvalidArgument.
    """
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidArgument(reason=f"{name} is not valid UTF-8.") from error
    return text


def whole(parameters: Parameters, name: str, allowed: Range) -> int:
    """Return a whole number in its range, the default when it is absent or empty.

    Raises: InvalidArgument.
    """
    text = parameters.get(name, "").strip()
    if not text:
        return allowed.default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and allowed.contains(int(text))):
        raise InvalidArgument(reason=f"{name} must be a whole number from {allowed.low} to {allowed.high}.")
    return int(text)


def bounded_text(parameters: Parameters, name: str, longest: int) -> str:
    """Return an optional text.

    Raises: InvalidArgument when it is too long.
    """
    text = optional(parameters, name)
    if len(text) > longest:
        raise InvalidArgument(reason=f"{name} must have at most {longest} characters.")
    return text


def parse_failure(parameters: Parameters) -> tuple[str, str]:
    """Return the Error and Cause of a stop or report, ``""`` for what is absent.

    Raises: InvalidArgument.
    """
    return bounded_text(parameters, "Error", ERROR_CHARS), bounded_text(parameters, "Cause", CAUSE_CHARS)


def parse_new_settings(parameters: Parameters) -> FlowSettings:
    """Return the settings of a flow to be made.

    Raises: MissingRequiredParams, InvalidArgument.
    """
    settings = FlowSettings(
        description=required(parameters, "Description"),
        type=required(parameters, "Type"),
        role_arn=optional(parameters, "RoleArn"),
        storage_location=optional(parameters, "ExternalStorageLocation"),
        execution_mode=optional(parameters, "ExecutionMode"),
        environment=optional(parameters, "Environment"),
        resource_group=optional(parameters, "ResourceGroupId"),
    )
    if settings.execution_mode not in {"", "Standard", "Express"}:
        raise InvalidArgument(reason="ExecutionMode must be Standard or Express.")
    _check_type(settings.type)
    _check_environment(settings.environment)
    return settings


def parse_changed_settings(parameters: Parameters, present: FlowSettings) -> FlowSettings:
    """Return *present* with the settings the parameters give.

    Raises: InvalidArgument.
    """
    settings = FlowSettings(
        description=given(parameters, "Description", present.description),
        type=given(parameters, "Type", present.type),
        role_arn=given(parameters, "RoleArn", present.role_arn),
        storage_location=present.storage_location,
        execution_mode=present.execution_mode,
        environment=given(parameters, "Environment", present.environment),
        resource_group=present.resource_group,
    )
    _check_type(settings.type)
    _check_environment(settings.environment)
    return settings


def _check_type(kind: str) -> None:
    if kind not in {"FDL", "DEFAULT"}:  # the Terraform provider offers DEFAULT for the same thing
        raise InvalidArgument(reason="Type must be FDL.")


def _check_environment(text: str) -> None:
    if not text:
        return
    try:
        variables = parse_object(text).get("Variables", [])
    except NotAnObject as error:
        raise InvalidArgument(reason=f"Environment must be a JSON object: {error}") from error
    fine = isinstance(variables, list) and all(
        isinstance(variable, dict)
        and isinstance(variable.get("Name"), str)
        and isinstance(variable.get("Value", ""), str)
        for variable in variables
    )
    if not fine:
        raise InvalidArgument(reason="Environment must hold Variables, a list of objects with Name and Value.")


def parse_filter(parameters: Parameters) -> ExecutionFilter:
    """Return which executions are asked for.

    Raises: InvalidArgument.
    """
    status = optional(parameters, "Status")
    try:
        wanted = Status(status) if status else None
    except ValueError as error:
        raise InvalidArgument(reason=f"Status must be one of {', '.join(Status)}.") from error
    return ExecutionFilter(
        status=wanted,
        started_from=_instant(parameters, "StartedTimeBegin"),
        started_before=_instant(parameters, "StartedTimeEnd"),
        name_prefix=optional(parameters, "ExecutionNamePrefix"),
        qualifier=optional(parameters, "Qualifier"),
    )


def _instant(parameters: Parameters, name: str) -> Millis | None:
    text = parameters.get(name, "")
    if not text:
        return None
    try:
        return parse_iso(text)
    except (ValueError, OverflowError) as error:
        raise InvalidArgument(reason=f"{name} must be a UTC date and time such as 2024-05-01T08:00:00Z.") from error


def parse_flag(parameters: Parameters, name: str, *, default: bool = False) -> bool:
    """Return a boolean parameter, *default* when it is absent or empty.

    Raises: InvalidArgument.
    """
    text = parameters.get(name, "").lower()  # the clients write True and False, too
    if text not in {"", "true", "false"}:
        raise InvalidArgument(reason=f"{name} must be true or false.")
    return text == "true" if text else default


# --- replies --------------------------------------------------------------------------------------------------------


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
        "Environment": _environment(settings.environment, ("Name", "Value", "Description")),
        "ResourceGroupId": settings.resource_group,
        "CreatedTime": iso_millis(flow.created_at),
        "LastModifiedTime": iso_millis(flow.modified_at),
    }


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
    return {**render_execution(execution), "Environment": _environment(execution.environment, ("Name", "Value"))}


def render_listed_execution(execution: ExecutionRecord, *, metadata_only: bool) -> Reply:
    """Return a member of ListExecutions; *metadata_only* leaves out what can be long."""
    reply = render_described_execution(execution)
    if metadata_only:
        for name in ("Input", "Output", "FlowDefinition"):
            del reply[name]
    return reply


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


def render_page(name: str, items: list[Reply], marker: str | None) -> Reply:
    """Return the members of a list; NextToken is left out at its end."""
    return {name: items} if marker is None else {name: items, "NextToken": marker}


def _environment(text: str, members: tuple[str, ...]) -> dict[str, Any]:
    variables = json.loads(text).get("Variables", []) if text else []
    return {"Variables": [{name: variable.get(name, "") for name in members} for variable in variables]}
