"""The operations of API version 2019-03-15: parse, call the service, render."""

from collections.abc import Awaitable, Iterable

from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import Demand
from emulator.kernel.ids import Ids
from emulator.services.workflow import limits, rights, wire
from emulator.services.workflow.errors import (
    AccessDenied,
    ActionNotSupported,
    APIVersionNotSupported,
    EntityTooLarge,
    InvalidArgument,
)
from emulator.services.workflow.executions.express_api import ExpressOperations
from emulator.services.workflow.executions.waiters import reply_at_end
from emulator.services.workflow.flows.versions import VersionOperations
from emulator.services.workflow.map_run_api import MapRunOperations
from emulator.services.workflow.model import FlowSettings
from emulator.services.workflow.schedules.operations import ScheduleOperations
from emulator.services.workflow.service import Workflow
from emulator.wire.request import Answer, OperationRequest
from emulator.wire.rpc import Operation, Parameters, Reply, UndeclaredRpcFront

VERSION = "2019-03-15"
_LONGEST_REQUEST_ID = 128


class WorkflowFront(UndeclaredRpcFront):
    """Serverless Workflow on the wire."""

    max_body = limits.REQUEST_BYTES

    def __init__(self, service: Workflow, ids: Ids) -> None:
        table = {
            name: operation
            for part in (Operations, ExpressOperations, VersionOperations, ScheduleOperations, MapRunOperations)
            for name, operation in part(service).table().items()
        }
        super().__init__("fnf", VERSION, table, ids)

    def unknown_action(self, action: str) -> ServiceError:
        """Return this service's error for an operation it does not have."""
        return ActionNotSupported(action=action)

    def too_large(self, limit: int) -> ServiceError:
        """Return this service's error for a request over the limit."""
        return EntityTooLarge(limit=limit)

    def not_text(self, name: str) -> ServiceError:
        """Return this service's error for a parameter that is no text."""
        return InvalidArgument(reason=f"{name} is not valid UTF-8.")

    def rights(  # type: ignore[override]  # until its operations are declared
        self, operation: str, parameters: Parameters, context: OperationRequest
    ) -> Iterable[Demand]:
        """Return the rights that a call of *operation* needs."""
        return rights.demands(context.tenant, operation, parameters)

    def denied(self, demand: Demand, context: OperationRequest) -> ServiceError:
        """Return the error for a caller without the right."""
        del context
        return AccessDenied(action=demand.action, resource=demand.resource)

    def chosen_request_id(self, context: OperationRequest) -> str | None:
        """Return the parameter ``RequestId``; the answer then carries it.

        Source: API reference of Serverless Workflow, pages of 2021 to 2023.
        """
        chosen = context.parameters.get("RequestId", "")
        return chosen if 0 < len(chosen) <= _LONGEST_REQUEST_ID and chosen.isprintable() else None

    def handle(self, context: OperationRequest) -> Answer:
        """Run the operation the request names.

        Raises: WorkflowError; PopError for what the gateway in front refuses.
        """
        version = context.version
        if version and version != VERSION:
            raise APIVersionNotSupported(version=version)
        return super().handle(context)


class Operations:
    """One function per operation."""

    def __init__(self, service: Workflow) -> None:
        self._service = service

    def table(self) -> dict[str, Operation]:
        """Return the operations by name, but for those that have a module of their own."""
        return {
            "CreateFlow": self.create_flow,
            "DescribeFlow": self.describe_flow,
            "UpdateFlow": self.update_flow,
            "DeleteFlow": self.delete_flow,
            "ListFlows": self.list_flows,
            "StartExecution": self.start_execution,
            "StopExecution": self.stop_execution,
            "DescribeExecution": self.describe_execution,
            "ListExecutions": self.list_executions,
            "GetExecutionHistory": self.get_execution_history,
            "ReportTaskSucceeded": self.report_task_succeeded,
            "ReportTaskFailed": self.report_task_failed,
            "DescribeRegions": self.describe_regions,
        }

    # --- flows ---------------------------------------------------------------------------------------------------

    async def create_flow(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """CreateFlow."""
        name = wire.required(parameters, "Name")
        definition = wire.required(parameters, "Definition")
        settings = wire.parse_new_settings(parameters)
        flow = wire.render_flow(await self._service.flows.create(context.tenant, name, definition, settings))
        del flow["ExternalStorageLocation"]
        return flow

    def describe_flow(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """DescribeFlow."""
        name = wire.required(parameters, "Name")
        version = wire.optional(parameters, "FlowVersion")
        flow = wire.render_flow(self._service.versions.flow_at(context.tenant, name, version))
        del flow["ExternalStorageLocation"]
        return flow

    async def update_flow(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """UpdateFlow: what is absent stays."""
        name = wire.required(parameters, "Name")
        definition = wire.required(parameters, "Definition") if "Definition" in parameters else None
        wire.parse_changed_settings(parameters, FlowSettings())  # values are judged before the flow is looked for
        flow = wire.render_flow(
            await self._service.flows.update(
                context.tenant, name, definition, lambda present: wire.parse_changed_settings(parameters, present)
            )
        )
        for member in ("ExecutionMode", "ResourceGroupId"):
            del flow[member]
        return flow

    def delete_flow(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """DeleteFlow."""
        self._service.flows.delete(context.tenant, wire.required(parameters, "Name"))
        return {}

    def list_flows(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """ListFlows."""
        page = self._service.flows.page(
            context.tenant,
            wire.whole(parameters, "Limit", limits.LIST_FLOWS),
            wire.optional(parameters, "NextToken"),
            wire.optional(parameters, "ResourceGroupId"),
        )
        flows = [wire.render_flow(flow) for flow in page.items]
        for flow in flows:
            del flow["ExternalStorageLocation"]
        return wire.render_page("Flows", flows, page.next_marker)

    # --- executions ----------------------------------------------------------------------------------------------

    def start_execution(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """StartExecution."""
        flow = wire.required(parameters, "FlowName")
        record = self._service.executions.start(
            context.tenant,
            flow,
            wire.optional(parameters, "ExecutionName") or None,
            wire.optional(parameters, "Input"),
            callback_token=wire.optional(parameters, "CallbackFnFTaskToken"),
            qualifier=wire.optional(parameters, "Qualifier"),
        )
        return wire.render_execution(record)

    def stop_execution(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """StopExecution."""
        flow, name = _execution_names(parameters)
        error, cause = wire.parse_failure(parameters)
        record = self._service.executions.stop(context.tenant, flow, name, error, cause)
        return {**wire.render_execution(record), "RoleArn": record.role_arn}

    def describe_execution(self, context: OperationRequest, parameters: Parameters) -> Reply | Awaitable[Reply]:
        """DescribeExecution: at once, or as soon as the execution ends, at the latest after WaitTimeSeconds."""
        flow, name = _execution_names(parameters)
        wait_s = wire.whole(parameters, "WaitTimeSeconds", limits.LONG_POLL_S)
        record = self._service.executions.get(context.tenant, flow, name)
        if wait_s == 0 or not record.is_open:
            return wire.render_described_execution(record)
        return reply_at_end(self._service.executions, context.tenant, record, wait_s, wire.render_described_execution)

    def list_executions(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """ListExecutions."""
        flow = wire.required(parameters, "FlowName")
        limit = wire.whole(parameters, "Limit", limits.LIST_EXECUTIONS)
        metadata_only = wire.parse_flag(parameters, "MetadataOnly")
        criteria = wire.parse_filter(parameters)
        page = self._service.executions.page(
            context.tenant, flow, criteria, limit, wire.optional(parameters, "NextToken")
        )
        if wire.optional(parameters, "MapRunName"):  # the executions of a map run: there are none in this language
            return wire.render_page("Executions", [], None)
        executions = [wire.render_listed_execution(record, metadata_only=metadata_only) for record in page.items]
        return wire.render_page("Executions", executions, page.next_marker)

    def get_execution_history(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """GetExecutionHistory."""
        flow, name = _execution_names(parameters)
        limit = wire.whole(parameters, "Limit", limits.HISTORY)
        marker = wire.optional(parameters, "NextToken")
        if marker and not (marker.isascii() and marker.isdigit() and len(marker) < 10):
            raise InvalidArgument(reason="NextToken is not one that this operation has returned.")
        page = self._service.executions.history(context.tenant, flow, name, limit, int(marker or "1"))
        return wire.render_page("Events", [wire.render_event(event) for event in page.items], page.next_marker)

    # --- reports -------------------------------------------------------------------------------------------------

    def report_task_succeeded(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """ReportTaskSucceeded."""
        token = wire.required(parameters, "TaskToken")
        output = wire.required(parameters, "Output")
        return {"EventId": self._service.reports.succeeded(context.tenant, token, output)}

    def report_task_failed(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """ReportTaskFailed."""
        token = wire.required(parameters, "TaskToken")
        if not wire.required(parameters, "Error"):
            raise InvalidArgument(reason=f"Error must have 1 to {limits.ERROR_CHARS} characters.")
        error, cause = wire.parse_failure(parameters)
        return {"EventId": self._service.reports.failed(context.tenant, token, error, cause)}

    def describe_regions(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """DescribeRegions: the region of the request is all there is."""
        del parameters
        region = context.region
        entry = {"RegionId": region, "LocalName": region, "RegionEndpoint": f"{region}.fnf.aliyuncs.com"}
        return {"Regions": {"Region": [entry]}}


def _execution_names(parameters: Parameters) -> tuple[str, str]:
    return wire.required(parameters, "FlowName"), wire.required(parameters, "ExecutionName")
