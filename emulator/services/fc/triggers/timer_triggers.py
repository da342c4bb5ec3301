"""Timers of timer triggers.

Times that pass while the emulator is not running are not made up for. An interval keeps its beat over a restart: it
counts from the moment the trigger was made or changed.

Source: time triggers, Function Compute, for expressions and events; what happens to missed times is assumed.
"""

import asyncio
import logging
import sys
from collections.abc import Iterator
from functools import partial

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.cron import LENIENT, Cron, Schedule, parse_schedule
from emulator.kernel.identity import Tenant
from emulator.kernel.instrumentation import Watchers
from emulator.kernel.tasks import TaskGroup, in_turns
from emulator.kernel.timers import Timers
from emulator.services.fc.errors import FcError
from emulator.services.fc.triggers.events import timer_event
from emulator.services.fc.triggers.model import Fire, Trigger, TriggerKey, trigger_key
from emulator.services.fc.triggers.store import TriggerStore
from emulator.services.fc.triggers.triggers import TriggerWatcher

_log = logging.getLogger(__name__)

_AT_ONCE = 20
"""How many triggers' next times are computed in one turn of the loop; a cron expression takes up to a millisecond."""


class TimerTriggers(TriggerWatcher):
    """Keeps timers in step with the timer triggers and fires them.

    *watchers* are notified when a trigger is armed whose time was computed in a thread.
    """

    def __init__(self, store: TriggerStore, clock: Clock, timers: Timers, fire: Fire, watchers: Watchers) -> None:
        self._store = store
        self._clock = clock
        self._timers = timers
        self._fire = fire
        self._watchers = watchers
        self._tasks = TaskGroup("fc-timers")
        self._counted: dict[TriggerKey, Trigger] = {}
        self._armed: dict[TriggerKey, Trigger] = {}
        timers.on_step_back(self._clock_set_back)

    async def start(self) -> None:
        """Arm the timers of an earlier run's triggers."""
        async for tenant, trigger in in_turns(self._store.enabled_of_kind("timer"), _AT_ONCE):
            self.changed(tenant, trigger)

    async def close(self) -> None:
        """Disarm every timer."""
        for key in self._armed:
            self._timers.cancel(key)
        self._armed.clear()
        await self._tasks.close()
        self._counted.clear()  # of what had not begun to count

    def changed(self, tenant: Tenant, trigger: Trigger) -> None:
        """Arm the timer of a trigger that is switched on."""
        if trigger.kind != "timer":
            return
        self.removed(tenant, trigger)
        if trigger.enabled:
            self._armed[trigger_key(tenant, trigger)] = trigger
            self._arm(tenant, trigger, self._clock.now())

    def removed(self, tenant: Tenant, trigger: Trigger) -> None:
        """Disarm a trigger's timer."""
        key = trigger_key(tenant, trigger)
        if self._armed.pop(key, None) is not None:
            self._timers.cancel(key)

    def upcoming(self) -> Iterator[tuple[Trigger, Millis]]:
        """Yield the armed triggers with the time each fires next."""
        for key, trigger in self._armed.items():
            due = self._timers.due_at(key)
            if due is not None:
                yield trigger, due

    def counted(self) -> Iterator[Trigger]:
        """Yield the triggers whose first time is being computed in a thread; the clock must not pass it meanwhile."""
        yield from self._counted.values()

    def _clock_set_back(self, before: Millis) -> None:
        """Compute times anew from the present one; intervals would wait for the old time otherwise."""
        self._tasks.spawn(self._count_anew(list(self._armed.items())), "after a step of the clock")

    async def _count_anew(self, armed: list[tuple[TriggerKey, Trigger]]) -> None:
        async for key, trigger in in_turns(armed, _AT_ONCE):
            if self._armed.get(key) is trigger:
                self.changed(key[1], trigger)

    def _arm(self, tenant: Tenant, trigger: Trigger, after: Millis) -> None:
        schedule = parse_schedule(str(trigger.config["cronExpression"]), LENIENT)
        if isinstance(schedule, Cron) and "apscheduler.triggers.cron" not in sys.modules:
            # the first cron expression loads the library for it, which takes too long for the loop
            self._counted[trigger_key(tenant, trigger)] = trigger
            self._tasks.spawn(self._arm_later(tenant, trigger, schedule, after), "first schedule")
        else:
            self._set(tenant, trigger, schedule.next_after(after, min(trigger.modified_at, after)))

    async def _arm_later(self, tenant: Tenant, trigger: Trigger, schedule: Schedule, after: Millis) -> None:
        key = trigger_key(tenant, trigger)
        try:
            when = await asyncio.to_thread(schedule.next_after, after, min(trigger.modified_at, after))
            if self._armed.get(key) is trigger:
                self._set(tenant, trigger, when)
        finally:
            if self._counted.get(key) is trigger:
                del self._counted[key]
            self._watchers.notify()

    def _set(self, tenant: Tenant, trigger: Trigger, when: Millis | None) -> None:
        if when is not None:
            self._timers.call_at(when, trigger_key(tenant, trigger), partial(self._due, tenant, trigger, when))

    def _due(self, tenant: Tenant, trigger: Trigger, when: Millis) -> None:
        event = timer_event(trigger.name, str(trigger.config.get("payload", "")), when)
        try:
            self._fire(tenant, trigger, event, f"timer/{trigger.id}/{when}")
        except FcError as error:
            _log.warning("timer trigger %s of %s did not fire: %s", trigger.name, trigger.function, error.message)
        finally:
            # of times missed while the machine slept only the last one counts
            self._arm(tenant, trigger, max(when, self._clock.now()))
