"""The operations on schedules: parameters in, replies out.

``SignatureVersion``, which the official SDKs offer as a field of CreateSchedule, is a parameter of the signature and
never comes here.
"""

from emulator.kernel.frozen import replace
from emulator.services.workflow import limits
from emulator.services.workflow.codec import (
    PARAMETERS,
    new_settings,
    optional,
    render_page,
    render_schedule,
    required,
    whole,
)
from emulator.services.workflow.model import SCHEDULE, ScheduleSettings
from emulator.services.workflow.service import Workflow
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Reply


@operation("CreateSchedule")
async def create_schedule(service: Workflow, call: OperationRequest) -> Reply:
    """Create a schedule that starts executions of a flow; returns it.

    Raises: WorkflowError: MissingRequiredParams, InvalidArgument, FlowNotExists, ScheduleAlreadyExists.
    Source: CreateSchedule, Serverless Workflow API reference.
    """
    flow, name = _names(call)
    settings: ScheduleSettings = new_settings(SCHEDULE, call)
    return render_schedule(await service.schedules.create(call.tenant, flow, name, settings))


@operation("DescribeSchedule")
def describe_schedule(service: Workflow, call: OperationRequest) -> Reply:
    """Return a schedule.

    Raises: WorkflowError: MissingRequiredParams, FlowNotExists, ScheduleNotExists.
    Source: DescribeSchedule, Serverless Workflow API reference.
    """
    return render_schedule(service.schedules.get(call.tenant, *_names(call)))


@operation("UpdateSchedule")
async def update_schedule(service: Workflow, call: OperationRequest) -> Reply:
    """Change the named attributes of a schedule; returns it.

    Raises: WorkflowError: MissingRequiredParams, InvalidArgument, FlowNotExists, ScheduleNotExists.
    Source: UpdateSchedule, Serverless Workflow API reference.
    """
    flow, name = _names(call)
    change = PARAMETERS.read(SCHEDULE, call.parameters.get, changing=True)  # judged before the schedule is looked for

    def changed(present: ScheduleSettings) -> ScheduleSettings:
        return replace(present, **change)

    return render_schedule(await service.schedules.update(call.tenant, flow, name, changed))


@operation("DeleteSchedule")
def delete_schedule(service: Workflow, call: OperationRequest) -> Reply:
    """Delete a schedule; returns nothing.

    Raises: WorkflowError: MissingRequiredParams, FlowNotExists, ScheduleNotExists.
    Source: DeleteSchedule, Serverless Workflow API reference.
    """
    service.schedules.delete(call.tenant, *_names(call))
    return {}


@operation("ListSchedules")
def list_schedules(service: Workflow, call: OperationRequest) -> Reply:
    """Return the schedules of a flow by name.

    Raises: WorkflowError: MissingRequiredParams, InvalidArgument, FlowNotExists.
    Source: ListSchedules, Serverless Workflow API reference.
    """
    flow = required(call, "FlowName")
    limit = whole(call, "Limit", limits.LIST_SCHEDULES)
    page = service.schedules.page(call.tenant, flow, limit, optional(call, "NextToken"))
    return render_page("Schedules", [render_schedule(record) for record in page.items], page.next_marker)


def _names(call: OperationRequest) -> tuple[str, str]:
    return required(call, "FlowName"), required(call, "ScheduleName")
