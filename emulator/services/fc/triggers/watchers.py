"""What follows from a trigger: a timer that fires, a subscription on a topic, host names that are answered.

Times that pass while the emulator is not running are not made up for. An interval keeps its beat over a restart: it
counts from the moment the trigger was made or changed.
"""

import asyncio
import logging
import sys
from collections.abc import Iterator
from functools import partial

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.cron import LENIENT, Cron, Schedule, parse_schedule
from emulator.kernel.identity import Tenant
from emulator.kernel.tasks import TaskGroup
from emulator.kernel.timers import Timers
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.model import function_arn
from emulator.services.fc.ports import HostNames, TopicMissing, TopicSubscriptions
from emulator.services.fc.triggers.model import Fire, Trigger, timer_event, topic_of
from emulator.services.fc.triggers.store import TriggerStore
from emulator.services.fc.triggers.triggers import TriggerWatcher

_log = logging.getLogger(__name__)

_Key = tuple[str, Tenant, str, str, str]


class TimerTriggers(TriggerWatcher):
    """Keeps timers in step with the timer triggers and fires them."""

    def __init__(self, store: TriggerStore, clock: Clock, timers: Timers, fire: Fire) -> None:
        self._store = store
        self._clock = clock
        self._timers = timers
        self._fire = fire
        self._tasks = TaskGroup("fc-timers")
        self._armed: dict[_Key, Trigger] = {}
        timers.on_step_back(self._clock_set_back)

    def start(self) -> None:
        """Arm the timers of an earlier run's triggers."""
        for tenant, trigger in self._store.of_kind("timer"):
            self.changed(tenant, trigger)

    async def close(self) -> None:
        """Disarm every timer."""
        for key in self._armed:
            self._timers.cancel(key)
        self._armed.clear()
        await self._tasks.close()

    def changed(self, tenant: Tenant, trigger: Trigger) -> None:
        """Arm the timer of a trigger that is switched on."""
        if trigger.kind != "timer":
            return
        self.removed(tenant, trigger)
        if trigger.enabled:
            self._armed[_key(tenant, trigger)] = trigger
            self._arm(tenant, trigger, self._clock.now())

    def removed(self, tenant: Tenant, trigger: Trigger) -> None:
        """Disarm a trigger's timer."""
        key = _key(tenant, trigger)
        if self._armed.pop(key, None) is not None:
            self._timers.cancel(key)

    def upcoming(self) -> Iterator[tuple[Trigger, Millis]]:
        """Yield the armed triggers with the time each fires next."""
        for key, trigger in self._armed.items():
            due = self._timers.due_at(key)
            if due is not None:
                yield trigger, due

    def _clock_set_back(self, before: Millis) -> None:
        """Count anew from the present, or intervals would rest until the old time has come again."""
        del before
        for key, trigger in list(self._armed.items()):
            self.changed(key[1], trigger)

    def _arm(self, tenant: Tenant, trigger: Trigger, after: Millis) -> None:
        schedule = parse_schedule(str(trigger.config["cronExpression"]), LENIENT)
        if isinstance(schedule, Cron) and "apscheduler.triggers.cron" not in sys.modules:
            # the first cron expression loads the library for it, which takes too long for the loop
            self._tasks.spawn(self._arm_later(tenant, trigger, schedule, after), "first schedule")
        else:
            self._set(tenant, trigger, schedule.next_after(after, min(trigger.modified_at, after)))

    async def _arm_later(self, tenant: Tenant, trigger: Trigger, schedule: Schedule, after: Millis) -> None:
        when = await asyncio.to_thread(schedule.next_after, after, min(trigger.modified_at, after))
        if self._armed.get(_key(tenant, trigger)) is trigger:
            self._set(tenant, trigger, when)

    def _set(self, tenant: Tenant, trigger: Trigger, when: Millis | None) -> None:
        if when is not None:
            self._timers.call_at(when, _key(tenant, trigger), partial(self._due, tenant, trigger, when))

    def _due(self, tenant: Tenant, trigger: Trigger, when: Millis) -> None:
        event = timer_event(trigger.name, str(trigger.config.get("payload", "")), when)
        try:
            self._fire(tenant, trigger, event, f"timer/{trigger.id}/{when}")
        except FcError as error:
            _log.warning("timer trigger %s of %s did not fire: %s", trigger.name, trigger.function, error.message)
        finally:
            # of times missed while the machine slept only the last one counts
            self._arm(tenant, trigger, max(when, self._clock.now()))


def _key(tenant: Tenant, trigger: Trigger) -> _Key:
    return ("fc timer", tenant, trigger.service, trigger.function, trigger.name)


class TopicTriggers(TriggerWatcher):
    """Keeps subscriptions in step with the topic triggers.

    A trigger of the functions folder whose topic does not exist waits until the topic is made: files say what shall be,
    in no order. One made by the API is refused, as the cloud does.
    """

    def __init__(self, store: TriggerStore, subscriptions: TopicSubscriptions) -> None:
        self._store = store
        self._subscriptions = subscriptions

    def topic_made(self, tenant: Tenant, topic: str) -> None:
        """Subscribe the functions of the folder whose triggers name a new topic, in the transaction that makes it."""
        for owner, trigger in self._store.of_kind("mns_topic"):
            if owner == tenant and trigger.folder and topic_of(trigger.source_arn) == topic:
                self.joining(tenant, trigger)

    def waits_for(self, tenant: Tenant, trigger: Trigger) -> str:
        """Return that the topic of a topic trigger does not exist."""
        if trigger.kind != "mns_topic":
            return ""
        topic = topic_of(trigger.source_arn)
        return "" if self._subscriptions.exists(tenant, topic) else f"the topic '{topic}' does not exist"

    def joining(self, tenant: Tenant, trigger: Trigger) -> None:
        """Subscribe the function to the topic, or change its subscription.

        Raises: InvalidArgument when there is no such topic and the trigger is not one of the folder.
        """
        if trigger.kind != "mns_topic":
            return
        topic = topic_of(trigger.source_arn)
        try:
            self._subscriptions.subscribe(
                tenant,
                topic,
                subscription_name(trigger),
                function_arn(tenant, trigger.service, trigger.function, _named(trigger)),
                filter_tag=trigger.config.get("filterTag") or None,
                content_format=trigger.config["notifyContentFormat"],
                strategy=trigger.config["notifyStrategy"],
            )
        except TopicMissing:
            if not trigger.folder:
                raise InvalidArgument(f"sourceArn is invalid: the topic '{topic}' does not exist") from None

    def leaving(self, tenant: Tenant, trigger: Trigger) -> None:
        """Remove the trigger's subscription."""
        if trigger.kind == "mns_topic":
            self._subscriptions.unsubscribe(tenant, topic_of(trigger.source_arn), subscription_name(trigger))


def subscription_name(trigger: Trigger) -> str:
    """Return the name of the subscription a topic trigger makes. Source: assumed."""
    return f"fc-{trigger.id}"


def _named(trigger: Trigger) -> str:
    return "" if trigger.qualifier == "LATEST" else trigger.qualifier


def names_of(tenant: Tenant, trigger: Trigger) -> tuple[str, ...]:
    """Return the trigger's own host names, the cloud's first; none when it is no HTTP trigger."""
    if not trigger.label:
        return ()
    return (f"{trigger.label}.{tenant.region}.fcapp.run", f"{trigger.label}.localhost")


class TriggerNames(TriggerWatcher):
    """Keeps *names* in step with the triggers."""

    def __init__(self, store: TriggerStore, names: HostNames) -> None:
        self._store = store
        self._names = names

    def start(self) -> None:
        """Have the names of an earlier run answered again."""
        for tenant, trigger in self._store.of_kind("http"):
            self.changed(tenant, trigger)

    def changed(self, tenant: Tenant, trigger: Trigger) -> None:
        """Answer the trigger's names."""
        for name in names_of(tenant, trigger):
            self._names.allow(name, https=False)  # the authority permits these domains in any case

    def removed(self, tenant: Tenant, trigger: Trigger) -> None:
        """Answer the trigger's names no longer."""
        for name in names_of(tenant, trigger):
            self._names.forget(name)
