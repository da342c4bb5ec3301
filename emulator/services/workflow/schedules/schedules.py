"""Schedules: made, changed, listed, deleted and run when they are due.

One timer is set for the earliest run; a schedule is a row and no more.

A run is missed when its time passed while the emulator was down, or when the clock was set forward over it; it is not
made up. When the clock is set back, next runs are computed anew, so that none waits until the clock has caught up.

Source: schedules, Serverless Workflow guide and API reference. That missed runs are not made up, and that every change
counts ``@every`` anew, is assumed.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence

from emulator.kernel.clock import MINUTE, SECOND, Clock, Millis
from emulator.kernel.cron import STRICT, CronError, Every, parse_schedule
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.paging import Page, cut
from emulator.kernel.tasks import TaskGroup
from emulator.kernel.timers import Timers
from emulator.services.workflow.engine.json_text import NotAnObject, parse_object
from emulator.services.workflow.errors import WorkflowError, invalid
from emulator.services.workflow.flows.flows import Flows
from emulator.services.workflow.model import (
    DueSchedule,
    FlowRecord,
    ScheduleId,
    ScheduleRecord,
    ScheduleSettings,
    Turn,
    check_name,
    execution_input,
)
from emulator.services.workflow.schedules.store import ScheduleStore
from emulator.storage.database import Database

_log = logging.getLogger(__name__)

LATEST_START_MS = 1 * MINUTE
"""How late a run may start without counting as missed: schedules fire once a minute at most. Also how far a clock may
be set back without runs being computed anew."""

AT_ONCE = 50
"""How many schedules are handled in one turn of the loop, which takes a few milliseconds."""

_KEY = ("workflow", "schedules")


class Firing:
    """Runs all schedules. *run* starts the flow of a schedule and may raise a `WorkflowError`."""

    def __init__(
        self,
        database: Database,
        store: ScheduleStore,
        clock: Clock,
        timers: Timers,
        run: Callable[[DueSchedule], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._timers = timers
        self._run = run
        self._tasks = TaskGroup("workflow schedules")
        self._warm = False
        self._reviewing = False
        self._closed = False
        self._armed_for: Millis | None = None
        self._soon = False
        database.on_rollback(self._transaction_lost)
        timers.on_step_back(self._clock_set_back)

    def start(self) -> None:
        """Resume the schedules of an earlier run; runs that were missed since are skipped."""
        self._closed = False
        if self._store.next_run() is not None:
            self._review(self._clock.now(), overdue_too=True)

    async def close(self) -> None:
        """Stop running schedules."""
        self._closed = True
        self._timers.cancel(_KEY)
        await self._tasks.close()

    async def suspend(self) -> None:
        """Run nothing before `start`, and break off a review: the tables are about to be replaced."""
        await self.close()
        self._reviewing = False  # one that had not begun does not say so itself

    def forget(self) -> None:
        """Disarm the timer, because the store was emptied or replaced."""
        self._timers.cancel(_KEY)
        self._armed_for = None

    @property
    def is_idle(self) -> bool:
        """Whether every schedule waits for its time."""
        return not self._soon and not len(self._tasks)

    async def warm_up(self) -> None:
        """Import the cron library in a thread, as that takes 50 ms, once."""
        if not self._warm:
            await asyncio.to_thread(parse_schedule("0 0 0 1 1 *").next_after, Millis(0))
            self._warm = True

    def first_turn(self, settings: ScheduleSettings, now: Millis) -> Turn:
        """Return the next run of a schedule created, changed or enabled *now*; the caller stores it and calls `arm`.

        Raises: CronError.
        """
        schedule = parse_schedule(settings.expression, STRICT)
        return Turn(now, now, schedule.next_after(now, since=now) if settings.enabled else None)

    def arm(self, at: Millis | None) -> None:
        """Set the timer for *at*, unless it is set for an earlier time."""
        if at is None or self._closed or self._reviewing:
            return  # a review ends with looking for the earliest run
        if self._armed_for is None or at < self._armed_for:
            self._armed_for = at
            self._timers.call_at(at, _KEY, self._wake)

    def _after(self, schedule: DueSchedule, now: Millis) -> tuple[ScheduleId, Turn]:
        since = min(schedule.since, now)  # later than now: the clock has been set back
        try:
            next_at = parse_schedule(schedule.expression, STRICT).next_after(now, since=since)
        except CronError as error:  # a time zone that this machine does not know any more
            _log.warning("schedule %s of flow %s will not run: %s", schedule.name, schedule.flow_name, error)
            next_at = None
        return schedule.id, Turn(since, now, next_at)

    def _wake(self) -> None:
        self._armed_for = None
        self._soon = False
        if self._closed or self._reviewing:
            return
        now = self._clock.now()
        due = self._store.due(now, AT_ONCE)
        for schedule in self._timers.turns.arranged("trigger", due, lambda each: f"{each.flow_name}/{each.name}"):
            self._fire(schedule, now)
        if due:
            self._store.turn([self._after(schedule, now) for schedule in due])
        if len(due) == AT_ONCE:
            self._soon = True
            asyncio.get_running_loop().call_soon(self._wake)
        else:
            self.arm(self._store.next_run())

    def _fire(self, schedule: DueSchedule, now: Millis) -> None:
        if now - schedule.next_at > LATEST_START_MS:
            _log.info("schedule %s of flow %s has missed a run", schedule.name, schedule.flow_name)
            return
        try:
            self._run(schedule)
        except WorkflowError as error:
            _log.warning("schedule %s of flow %s could not run: %s", schedule.name, schedule.flow_name, error)
        except Exception:  # one that fails inside must not keep the others from running
            _log.exception("schedule %s of flow %s could not run", schedule.name, schedule.flow_name)

    def _clock_set_back(self, before: Millis) -> None:
        if not self._closed and not self._reviewing:
            self._review(self._clock.now(), overdue_too=False)

    def _review(self, now: Millis, *, overdue_too: bool) -> None:
        self._reviewing = True
        self._tasks.spawn(self._reviewed(now, overdue_too=overdue_too), "review")

    async def _reviewed(self, now: Millis, *, overdue_too: bool) -> None:
        """Compute next runs anew, some in each turn of the loop: those computed from a time that is now ahead.

        With *overdue_too* also those that were missed before *now*.
        """
        try:
            if self._store.counts_wall_clock():
                await self.warm_up()
            for schedules in self._wrong(now, overdue_too=overdue_too):
                self._store.turn([self._after(schedule, now) for schedule in schedules])
                await asyncio.sleep(0)
        finally:
            self._reviewing = False
        self._armed_for = None
        self.arm(self._store.next_run())

    def _wrong(self, now: Millis, *, overdue_too: bool) -> Iterator[Sequence[DueSchedule]]:
        while overdue_too and (schedules := self._store.due(now, AT_ONCE)):
            yield schedules
        while schedules := self._store.ahead(Millis(now + LATEST_START_MS), AT_ONCE):
            yield schedules

    def _transaction_lost(self) -> None:
        """Look for due schedules in a second, because the timer may have been set for a change that was undone."""
        if not self._closed:
            self._armed_for = Millis(self._clock.now() + SECOND)
            self._timers.call_at(self._armed_for, _KEY, self._wake)


def counts_wall_clock(expression: str) -> bool:
    """Whether computing the runs of *expression* needs `Firing.warm_up`: any but ``@every``.

    Raises: CronError.
    """
    return not isinstance(parse_schedule(expression, STRICT), Every)


class Schedules:
    """The schedules of every account."""

    def __init__(self, store: ScheduleStore, flows: Flows, firing: Firing, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._flows = flows
        self._firing = firing
        self._clock = clock
        self._ids = ids

    async def create(self, tenant: Tenant, flow_name: str, name: str, settings: ScheduleSettings) -> ScheduleRecord:
        """Store a new schedule; it runs from now on if it is enabled.

        Raises: InvalidArgument, FlowNotExists, ScheduleAlreadyExists.
        """
        check_name("ScheduleName", name)
        await self._check(settings)
        flow = self._flows.get(tenant, flow_name)
        if self._store.get(flow.id, name) is not None:
            raise WorkflowError("ScheduleAlreadyExists", schedule=name, flow=flow_name)
        now = self._clock.now()
        turn = self._firing.first_turn(settings, now)
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
        """Change a schedule, and compute its next run from now.

        *changed* turns the present settings into the new ones.

        Raises: FlowNotExists, ScheduleNotExists, InvalidArgument.
        """
        await self._check(changed(self.get(tenant, flow_name, name).settings))
        flow = self._flows.get(tenant, flow_name)
        record = self._of(flow, name)  # once more: it may go, or change, while the first cron expression is read
        settings = changed(record.settings)
        now = self._clock.now()
        turn = self._firing.first_turn(settings, now)
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
        """Check the settings of a schedule, and prepare for computing its runs.

        Raises: InvalidArgument.
        """
        text = execution_input(settings.payload)
        if text:
            try:
                parse_object(text)
            except NotAnObject as error:
                raise invalid(f"Payload must be a JSON object: {error}") from error
        try:
            if counts_wall_clock(settings.expression):
                await self._firing.warm_up()
        except CronError as error:
            raise invalid(f"CronExpression: {error}.") from error
