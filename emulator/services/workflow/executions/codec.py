"""Executions on the wire: filters of lists in, replies out."""

from emulator.kernel.clock import Millis
from emulator.services.workflow.codec import optional
from emulator.services.workflow.errors import invalid
from emulator.services.workflow.flows.codec import render_environment
from emulator.services.workflow.model import ExecutionFilter, ExecutionRecord, HistoryEvent, Status
from emulator.wire.dates import iso_millis, parse_iso
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Reply


def parse_filter(call: OperationRequest) -> ExecutionFilter:
    """Return which executions a list is to show.

    Raises: InvalidArgument.
    """
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
    """Return a member of ListExecutions; *metadata_only* leaves out what can be long."""
    reply = render_described_execution(execution)
    return _without(reply, "Input", "Output", "FlowDefinition") if metadata_only else reply


def render_finished_execution(execution: ExecutionRecord) -> Reply:
    """Return the members of StartSyncExecution."""
    reply = _without(render_described_execution(execution), "FlowDefinition", "Input")
    return {**reply, "ErrorCode": execution.error, "ErrorMessage": execution.cause}


def render_child(execution: ExecutionRecord) -> Reply:
    """Return what a task gets for the execution it has started: no definition, which may be long."""
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
