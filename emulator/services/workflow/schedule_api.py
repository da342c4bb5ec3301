"""The operations on schedules: parse, call the service, render."""

from emulator.services.workflow import limits, wire
from emulator.services.workflow.schedule_model import ScheduleRecord, ScheduleSettings
from emulator.services.workflow.service import Workflow
from emulator.wire.dates import iso_millis
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Operation, Parameters, Reply


class ScheduleOperations:
    """One function per operation.

    ``SignatureVersion``, which the official SDKs offer as a field of CreateSchedule, is a parameter of the signature
    and never comes here.
    """

    def __init__(self, service: Workflow) -> None:
        self._service = service

    def table(self) -> dict[str, Operation]:
        """Return the operations by name."""
        return {
            "CreateSchedule": self.create_schedule,
            "DescribeSchedule": self.describe_schedule,
            "UpdateSchedule": self.update_schedule,
            "DeleteSchedule": self.delete_schedule,
            "ListSchedules": self.list_schedules,
        }

    async def create_schedule(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """CreateSchedule."""
        flow, name = _names(parameters)
        settings = ScheduleSettings(
            expression=wire.required(parameters, "CronExpression"),
            description=wire.optional(parameters, "Description"),
            payload=wire.optional(parameters, "Payload"),
            enabled=wire.parse_flag(parameters, "Enable", default=True),
        )
        return render_schedule(await self._service.schedules.create(context.tenant, flow, name, settings))

    def describe_schedule(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """DescribeSchedule."""
        return render_schedule(self._service.schedules.get(context.tenant, *_names(parameters)))

    async def update_schedule(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """UpdateSchedule: what is absent stays."""
        flow, name = _names(parameters)
        enabled = wire.parse_flag(parameters, "Enable", default=True)  # judged before the schedule is looked for

        def changed(present: ScheduleSettings) -> ScheduleSettings:
            return ScheduleSettings(
                expression=wire.given(parameters, "CronExpression", present.expression),
                description=wire.given(parameters, "Description", present.description),
                payload=wire.given(parameters, "Payload", present.payload),
                enabled=enabled if parameters.get("Enable") else present.enabled,
            )

        return render_schedule(await self._service.schedules.update(context.tenant, flow, name, changed))

    def delete_schedule(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """DeleteSchedule."""
        self._service.schedules.delete(context.tenant, *_names(parameters))
        return {}

    def list_schedules(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """ListSchedules."""
        flow = wire.required(parameters, "FlowName")
        limit = wire.whole(parameters, "Limit", limits.LIST_SCHEDULES)
        page = self._service.schedules.page(context.tenant, flow, limit, wire.optional(parameters, "NextToken"))
        return wire.render_page("Schedules", [render_schedule(record) for record in page.items], page.next_marker)


def _names(parameters: Parameters) -> tuple[str, str]:
    return wire.required(parameters, "FlowName"), wire.required(parameters, "ScheduleName")


def render_schedule(schedule: ScheduleRecord) -> Reply:
    """Return the members of DescribeSchedule; the flow's name is not among them."""
    return {
        "ScheduleId": schedule.uuid,
        "ScheduleName": schedule.name,
        "Description": schedule.settings.description,
        "CronExpression": schedule.settings.expression,
        "Payload": schedule.settings.payload,
        "Enable": schedule.settings.enabled,
        "CreatedTime": iso_millis(schedule.created_at),
        "LastModifiedTime": iso_millis(schedule.modified_at),
    }
