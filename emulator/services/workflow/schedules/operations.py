"""Schedules: made, changed, listed and deleted. `firing` runs them.

Source: schedules, Serverless Workflow guide and API reference. That every change counts ``@every`` anew is assumed.
"""

from collections.abc import Callable

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.cron import CronError
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.paging import Page, cut
from emulator.services.workflow import limits, wire
from emulator.services.workflow.engine.events import NotAnObject, parse_object
from emulator.services.workflow.errors import InvalidArgument, ScheduleAlreadyExists, ScheduleNotExists
from emulator.services.workflow.flows.operations import Flows
from emulator.services.workflow.model import FlowRecord
from emulator.services.workflow.names import check_name
from emulator.services.workflow.schedules.firing import Firing, counts_wall_clock
from emulator.services.workflow.schedules.model import ScheduleRecord, ScheduleSettings, Turn, execution_input
from emulator.services.workflow.service import Workflow
from emulator.services.workflow.store import ScheduleStore
from emulator.wire.dates import iso_millis
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Operation, Parameters, Reply


class Schedules:
    """The schedules of every account."""

    def __init__(self, store: ScheduleStore, flows: Flows, firing: Firing, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._flows = flows
        self._firing = firing
        self._clock = clock
        self._ids = ids

    async def create(self, tenant: Tenant, flow_name: str, name: str, settings: ScheduleSettings) -> ScheduleRecord:
        """Keep a new schedule; it runs from now on if it is enabled.

        Raises: InvalidArgument, FlowNotExists, ScheduleAlreadyExists.
        """
        check_name("ScheduleName", name)
        await self._check(settings)
        flow = self._flows.get(tenant, flow_name)
        if self._store.get(flow.id, name) is not None:
            raise ScheduleAlreadyExists(schedule=name, flow=flow_name)
        now = self._clock.now()
        turn = self._turn(settings, now)
        self._store.add(tenant, flow.id, name, self._ids.uuid(), settings, now, turn)
        self._firing.arm(turn.next_at)
        return self._of(flow, name)

    def get(self, tenant: Tenant, flow_name: str, name: str) -> ScheduleRecord:
        """Return a schedule.

        Raises: FlowNotExists, ScheduleNotExists.
        """
        return self._of(self._flows.get(tenant, flow_name), name)

    async def update(
        self, tenant: Tenant, flow_name: str, name: str, changed: Callable[[ScheduleSettings], ScheduleSettings]
    ) -> ScheduleRecord:
        """Replace what is given, and count runs from now.

        *changed* is given the present settings and returns the new ones.

        Raises: FlowNotExists, ScheduleNotExists, InvalidArgument.
        """
        await self._check(changed(self.get(tenant, flow_name, name).settings))
        flow = self._flows.get(tenant, flow_name)
        record = self._of(flow, name)  # once more: it may go, or change, while the first cron expression is read
        settings = changed(record.settings)
        now = self._clock.now()
        turn = self._turn(settings, now)
        self._store.change(record.id, settings, Millis(max(now, record.modified_at)), turn)
        self._firing.arm(turn.next_at)
        return self._of(flow, name)

    def delete(self, tenant: Tenant, flow_name: str, name: str) -> None:
        """Delete a schedule; executions it has started go on.

        Raises: FlowNotExists, ScheduleNotExists.
        """
        self._store.remove(self.get(tenant, flow_name, name).id)

    def page(self, tenant: Tenant, flow_name: str, limit: int, marker: str) -> Page[ScheduleRecord]:
        """Return the schedules of a flow by name; the marker is the name of the next one.

        Raises: FlowNotExists.
        """
        rows = self._store.page(self._flows.get(tenant, flow_name).id, marker, limit + 1)
        return cut(rows, limit, lambda record: record.name)

    def flow_deleted(self, flow: FlowRecord) -> None:
        """Delete the schedules of a flow that is deleted."""
        self._store.remove_of(flow.id)

    def _of(self, flow: FlowRecord, name: str) -> ScheduleRecord:
        record = self._store.get(flow.id, name)
        if record is None:
            raise ScheduleNotExists(schedule=name, flow=flow.name)
        return record

    async def _check(self, settings: ScheduleSettings) -> None:
        """Refuse what cannot run, and get ready for counting what can.

        Raises: InvalidArgument.
        """
        given = execution_input(settings.payload)
        if given:
            try:
                parse_object(given)
            except NotAnObject as error:
                raise InvalidArgument(reason=f"Payload must be a JSON object: {error}") from error
        try:
            if counts_wall_clock(settings.expression):
                await self._firing.warm_up()
        except CronError as error:
            raise InvalidArgument(reason=f"CronExpression: {error}.") from error

    def _turn(self, settings: ScheduleSettings, now: Millis) -> Turn:
        return self._firing.first_turn(settings.expression, now, enabled=settings.enabled)


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
