"""Schedules: made, changed, listed and deleted. `firing` runs them.

Source: schedules, Serverless Workflow guide and API reference. That every change counts ``@every`` anew is assumed.
"""

from collections.abc import Callable

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.cron import CronError
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.paging import Page, cut
from emulator.services.workflow.codec import check_name
from emulator.services.workflow.engine.events import NotAnObject, parse_object
from emulator.services.workflow.errors import WorkflowError
from emulator.services.workflow.flows.flows import Flows
from emulator.services.workflow.model import FlowRecord
from emulator.services.workflow.schedules.firing import Firing, counts_wall_clock
from emulator.services.workflow.schedules.model import ScheduleRecord, ScheduleSettings, Turn, execution_input
from emulator.services.workflow.schedules.store import ScheduleStore


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
            raise WorkflowError("ScheduleAlreadyExists", schedule=name, flow=flow_name)
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

        *changed* turns the present settings into the new ones.

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

    def all(self, tenant: Tenant, limit: int, marker: str) -> Page[tuple[str, ScheduleRecord, Millis | None]]:
        """Return (flow, schedule, next run) of the schedules of all flows; the marker is ``flow/schedule``."""
        flow, _, name = marker.partition("/")
        rows = self._store.all(tenant, (flow, name), limit + 1)
        return cut(rows, limit, lambda each: f"{each[0]}/{each[1].name}")

    def _of(self, flow: FlowRecord, name: str) -> ScheduleRecord:
        record = self._store.get(flow.id, name)
        if record is None:
            raise WorkflowError("ScheduleNotExists", schedule=name, flow=flow.name)
        return record

    async def _check(self, settings: ScheduleSettings) -> None:
        """Refuse what cannot run, and get ready for counting what can.

        Raises: InvalidArgument.
        """
        text = execution_input(settings.payload)
        if text:
            try:
                parse_object(text)
            except NotAnObject as error:
                raise WorkflowError("InvalidArgument", reason=f"Payload must be a JSON object: {error}") from error
        try:
            if counts_wall_clock(settings.expression):
                await self._firing.warm_up()
        except CronError as error:
            raise WorkflowError("InvalidArgument", reason=f"CronExpression: {error}.") from error

    def _turn(self, settings: ScheduleSettings, now: Millis) -> Turn:
        return self._firing.first_turn(settings.expression, now, enabled=settings.enabled)
