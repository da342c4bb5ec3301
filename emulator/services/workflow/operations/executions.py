"""The operations on executions, their histories, tasks and map runs: parameters in, replies out."""

import asyncio
from collections.abc import Awaitable, Callable

from emulator.kernel.digits import read_digits
from emulator.kernel.errors import ServiceError
from emulator.kernel.frozen import replace
from emulator.kernel.identity import Tenant
from emulator.kernel.paging import Range
from emulator.services.workflow import limits
from emulator.services.workflow.codec import (
    flag,
    optional,
    parse_failure,
    parse_filter,
    render_described_execution,
    render_event,
    render_execution,
    render_finished_execution,
    render_listed_execution,
    render_page,
    required,
    whole,
)
from emulator.services.workflow.errors import WorkflowError, invalid
from emulator.services.workflow.model import ExecutionRecord, MapRun
from emulator.services.workflow.service import Workflow
from emulator.wire.dates import iso_china
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Reply

_SPARE_S = 30
"""The engine ends an express execution at its time; this is for one that it could not end."""


@operation("StartExecution")
def start_execution(service: Workflow, call: OperationRequest) -> Reply:
    """Start an execution; returns it.

    Raises: WorkflowError: MissingRequiredParams, InvalidArgument, FlowNotExists, FlowVersionNotExists,
        FlowAliasNotExists, ActionNotSupported, ExecutionAlreadyExists, ResourceThrottled.
    Source: StartExecution, Serverless Workflow API reference.
    """
    parameters = call.parameters
    record = service.executions.start(
        call.tenant,
        required(call, "FlowName"),
        parameters.get("ExecutionName") or None,
        parameters.get("Input", ""),
        callback_token=parameters.get("CallbackFnFTaskToken", ""),
        qualifier=parameters.get("Qualifier", ""),
    )
    return render_execution(record)


@operation("StartSyncExecution")
def start_sync_execution(service: Workflow, call: OperationRequest) -> Awaitable[Reply]:
    """Start an express execution; returns it when it has ended, also if it failed.

    Raises: WorkflowError: MissingRequiredParams, InvalidArgument, FlowNotExists, FlowVersionNotExists,
        FlowAliasNotExists, ActionNotSupported, ResourceThrottled.
    Source: StartSyncExecution, Serverless Workflow API reference.
    """
    record = service.executions.start_express(
        call.tenant,
        required(call, "FlowName"),
        optional(call, "ExecutionName") or None,
        optional(call, "Input"),
        optional(call, "Qualifier"),
    )
    wait_s = limits.EXPRESS_S + _SPARE_S
    call.parked = True  # what works is the execution
    return _reply_at_end(service, call.tenant, record, wait_s, render_finished_execution)


@operation("StopExecution")
def stop_execution(service: Workflow, call: OperationRequest) -> Reply:
    """Stop an execution immediately; returns it with its role.

    Raises: WorkflowError: MissingRequiredParams, InvalidArgument, FlowNotExists, ExecutionNotExists,
        ExecutionAlreadyCompleted.
    Source: StopExecution, Serverless Workflow API reference.
    """
    flow, name = _names(call)
    record = service.executions.stop(call.tenant, flow, name, *parse_failure(call))
    return {**render_execution(record), "RoleArn": record.role_arn}


@operation("DescribeExecution")
def describe_execution(service: Workflow, call: OperationRequest) -> Reply | Awaitable[Reply]:
    """Return an execution: at once, or as soon as it ends, at the latest after WaitTimeSeconds.

    Raises: WorkflowError: MissingRequiredParams, InvalidArgument, FlowNotExists, ExecutionNotExists.
    Source: DescribeExecution, Serverless Workflow API reference.
    """
    flow, name = _names(call)
    wait_s = whole(call, "WaitTimeSeconds", limits.LONG_POLL_S)
    record = service.executions.get(call.tenant, flow, name)
    if wait_s == 0 or not record.is_open:
        return render_described_execution(record)
    call.parked = True
    return _reply_at_end(service, call.tenant, record, wait_s, render_described_execution)


@operation("ListExecutions")
def list_executions(service: Workflow, call: OperationRequest) -> Reply:
    """Return the executions of a flow, newest first.

    Raises: WorkflowError: MissingRequiredParams, InvalidArgument, FlowNotExists.
    Source: ListExecutions, Serverless Workflow API reference.
    """
    flow = required(call, "FlowName")
    limit = whole(call, "Limit", limits.LIST_EXECUTIONS)
    metadata_only = flag(call, "MetadataOnly")
    criteria = parse_filter(call)
    if name := optional(call, "MapRunName"):
        run = service.maps.of_flow(call.tenant, flow, name)
        if run is None:
            return render_page("Executions", [], None)
        criteria = replace(criteria, map_run=run)
    page = service.executions.page(call.tenant, flow, criteria, limit, optional(call, "NextToken"))
    executions = [render_listed_execution(record, metadata_only=metadata_only) for record in page.items]
    return render_page("Executions", executions, page.next_marker)


@operation("GetExecutionHistory")
def get_execution_history(service: Workflow, call: OperationRequest) -> Reply:
    """Return the events of an execution in order.

    Raises: WorkflowError: MissingRequiredParams, InvalidArgument, FlowNotExists, ExecutionNotExists.
    Source: GetExecutionHistory, Serverless Workflow API reference.
    """
    flow, name = _names(call)
    limit = whole(call, "Limit", limits.HISTORY)
    marker = read_digits(optional(call, "NextToken") or "1", 9)
    if marker is None:
        raise invalid("NextToken is not one that this operation has returned.")
    page = service.executions.history(call.tenant, flow, name, limit, marker)
    return render_page("Events", [render_event(event) for event in page.items], page.next_marker)


@operation("ReportTaskSucceeded")
def report_task_succeeded(service: Workflow, call: OperationRequest) -> Reply:
    """Complete the attempt of a task that waits with a token; returns the id of the event.

    Raises: WorkflowError: MissingRequiredParams, InvalidArgument, FlowNotExists, ExecutionNotExists,
        TaskAlreadyCompleted.
    Source: ReportTaskSucceeded, Serverless Workflow API reference.
    """
    token = required(call, "TaskToken")
    return {"EventId": service.reports.succeeded(call.tenant, token, required(call, "Output"))}


@operation("ReportTaskFailed")
def report_task_failed(service: Workflow, call: OperationRequest) -> Reply:
    """Fail the attempt of a task that waits with a token; returns the id of the event.

    Raises: WorkflowError: MissingRequiredParams, InvalidArgument, FlowNotExists, ExecutionNotExists,
        TaskAlreadyCompleted.
    Source: ReportTaskFailed, Serverless Workflow API reference.
    """
    token = required(call, "TaskToken")
    if not required(call, "Error"):
        raise invalid(f"Error must have 1 to {limits.ERROR_CHARS} characters.")
    return {"EventId": service.reports.failed(call.tenant, token, *parse_failure(call))}


_MAP_CONCURRENCY = Range(1, 300, 300)
_MAP_TOLERATED = Range(0, 10_000, 0)


@operation("DescribeMapRun")
def describe_map_run(service: Workflow, call: OperationRequest) -> Reply:
    """Return a run of a distributed map: status, limits and numbers of elements by status.

    Raises: WorkflowError: MissingRequiredParams, FlowNotExists, ExecutionNotExists, MapRunNotExists.
    Source: alibabacloud_fnf20190315; assumed: the error.
    """
    run, counts = _map_run(service, call)
    return {
        "MapRunName": run.name,
        "ExecutionName": required(call, "ExecutionName"),
        "Status": run.status,
        "StartedTime": iso_china(run.started_at),
        "StoppedTime": iso_china(run.stopped_at) if run.stopped_at is not None else "",
        **_bounds(run),
        "ItemCounts": counts,
    }


@operation("UpdateMapRun")
def update_map_run(service: Workflow, call: OperationRequest) -> Reply:
    """Change the limits of an open run; omitted ones stay as they are.

    Raises: WorkflowError: MissingRequiredParams, InvalidArgument, FlowNotExists, ExecutionNotExists, MapRunNotExists.
    Source: alibabacloud_fnf20190315; assumed: the error.
    """
    at_once = whole(call, "Concurrency", _MAP_CONCURRENCY)
    count = whole(call, "ToleratedFailedCount", _MAP_TOLERATED)
    text = optional(call, "ToleratedFailedPercentage")
    try:
        percentage = float(text or 0)
    except ValueError:
        percentage = -1
    if not 0 <= percentage <= 100:
        raise invalid("ToleratedFailedPercentage must be a number from 0 to 100.")
    run, _counts = _map_run(service, call)
    named = {name for name in ("Concurrency", "ToleratedFailedCount") if optional(call, name)}
    service.maps.change(
        run,
        at_once if "Concurrency" in named else run.at_once,
        count if "ToleratedFailedCount" in named else run.tolerated_count,
        percentage if text else run.tolerated_percentage,
    )
    run, _counts = _map_run(service, call)
    names = {name: required(call, name) for name in ("FlowName", "ExecutionName", "MapRunName")}
    return {**names, **_bounds(run)}


def _map_run(service: Workflow, call: OperationRequest) -> tuple[MapRun, dict[str, int]]:
    flow, execution, name = (required(call, each) for each in ("FlowName", "ExecutionName", "MapRunName"))
    described = service.maps.describe(service.executions.get(call.tenant, flow, execution).id, name)
    if described is None:
        raise WorkflowError("MapRunNotExists", map_run=name, execution=execution, flow=flow)
    return described


def _bounds(run: MapRun) -> Reply:
    return {
        "Concurrency": run.at_once,
        "ToleratedFailedCount": run.tolerated_count,
        "ToleratedFailedPercentage": run.tolerated_percentage,
    }


def _names(call: OperationRequest) -> tuple[str, str]:
    return required(call, "FlowName"), required(call, "ExecutionName")


def _reply_at_end(
    service: Workflow,
    tenant: Tenant,
    record: ExecutionRecord,
    wait_s: int,
    render: Callable[[ExecutionRecord], Reply],
) -> Awaitable[Reply]:
    """Return a reply that *render* makes of the execution when it has ended, or of its state after *wait_s* seconds."""
    reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

    def answer() -> None:
        if reply.done():
            return
        try:
            reply.set_result(render(service.executions.get(tenant, record.flow_name, record.name)))
        except ServiceError as error:  # the flow has been deleted meanwhile
            reply.set_exception(error)

    leave = service.executions.when_ended(record.id, wait_s, answer)
    reply.add_done_callback(lambda _: leave())
    return reply
