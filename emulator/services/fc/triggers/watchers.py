"""What follows from a trigger: a timer that fires, a subscription on a topic, host names, a queue that is read.

Times that pass while the emulator is not running are not made up for. An interval keeps its beat over a restart: it
counts from the moment the trigger was made or changed. A message of a queue is deleted in the transaction that queues
the call, so it is neither lost nor taken twice.
"""

import asyncio
import base64
import binascii
import json
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.cron import LENIENT, Cron, Schedule, parse_schedule
from emulator.kernel.errors import ServiceError
from emulator.kernel.frozen import frozen, replace
from emulator.kernel.identity import Tenant
from emulator.kernel.instrumentation import Watchers
from emulator.kernel.tasks import TaskGroup
from emulator.kernel.timers import Timers
from emulator.kernel.tracing import because, begin, message_key
from emulator.kernel.turnstile import Turnstile
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.model import display_name, function_arn
from emulator.services.fc.ports import (
    HostNames,
    QueuedMessage,
    QueueMissing,
    SourceQueues,
    TopicMissing,
    TopicSubscriptions,
)
from emulator.services.fc.triggers.model import Fire, Trigger, timer_event, topic_of
from emulator.services.fc.triggers.store import TriggerStore
from emulator.services.fc.triggers.triggers import TriggerWatcher
from emulator.storage.database import CommitFailed, Database
from emulator.wire.dates import iso_seconds

_log = logging.getLogger(__name__)

_Key = tuple[str, Tenant, str, str, str]


def _key(tenant: Tenant, trigger: Trigger) -> _Key:
    return ("fc trigger", tenant, trigger.service, trigger.function, trigger.name)


class TimerTriggers(TriggerWatcher):
    """Keeps timers in step with the timer triggers and fires them.

    *watchers* hear when a trigger is armed whose time was counted beside the loop.
    """

    def __init__(self, store: TriggerStore, clock: Clock, timers: Timers, fire: Fire, watchers: Watchers) -> None:
        self._store = store
        self._clock = clock
        self._timers = timers
        self._fire = fire
        self._watchers = watchers
        self._tasks = TaskGroup("fc-timers")
        self._counted: dict[_Key, Trigger] = {}
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

    def counted(self) -> Iterator[Trigger]:
        """Yield the triggers whose first time is being counted beside the loop: the clock must not pass it."""
        yield from self._counted.values()

    def _clock_set_back(self, before: Millis) -> None:
        """Count anew from the present, or intervals would rest until the old time has come again."""
        for key, trigger in list(self._armed.items()):
            self.changed(key[1], trigger)

    def _arm(self, tenant: Tenant, trigger: Trigger, after: Millis) -> None:
        schedule = parse_schedule(str(trigger.config["cronExpression"]), LENIENT)
        if isinstance(schedule, Cron) and "apscheduler.triggers.cron" not in sys.modules:
            # the first cron expression loads the library for it, which takes too long for the loop
            self._counted[_key(tenant, trigger)] = trigger
            self._tasks.spawn(self._arm_later(tenant, trigger, schedule, after), "first schedule")
        else:
            self._set(tenant, trigger, schedule.next_after(after, min(trigger.modified_at, after)))

    async def _arm_later(self, tenant: Tenant, trigger: Trigger, schedule: Schedule, after: Millis) -> None:
        key = _key(tenant, trigger)
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


_WAIT_S = 30
_MOST = 16

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@frozen
class QueueSource:
    """Where a trigger's events come from and in what form its function gets them, up to ``count`` at once."""

    queue: str
    is_base64: bool
    streaming: bool
    count: int
    pattern: str


def queue_source(trigger: Trigger) -> QueueSource | None:
    """Return the queue that *trigger* takes its events from; None when it is no such trigger.

    Source: the member names are those of the 3.0 API; that a batch is one message unless a window says more is assumed.
    """
    source = _members(trigger.config.get("eventSourceConfig"))
    parameters = _members(_members(source.get("eventSourceParameters")).get("sourceMNSParameters"))
    queue = parameters.get("QueueName")
    if trigger.kind != "eventbridge" or source.get("eventSourceType") != "MNS" or not isinstance(queue, str):
        return None
    options = _members(trigger.config.get("runOptions"))
    window = _members(options.get("batchWindow")).get("CountBasedWindow")
    streaming = options.get("mode") == "event-streaming"
    return QueueSource(
        queue=queue,
        is_base64=parameters.get("IsBase64Decode") is not False,
        streaming=streaming,
        count=min(window, _MOST) if streaming and isinstance(window, int) and window > 0 else 1,
        pattern=str(trigger.config.get("eventRuleFilterPattern") or "{}"),
    )


class QueueTriggers(TriggerWatcher):
    """Keeps one reader for each such trigger that is switched on."""

    def __init__(
        self, store: TriggerStore, database: Database, queues: SourceQueues, fire: Fire, turns: Turnstile
    ) -> None:
        self._store = store
        self._database = database
        self._queues = queues
        self._fire = fire
        self._turns = turns
        self._passing: set[_Key] = set()
        """Triggers that have messages, and wait for their turn to pass them on."""
        self._tasks = TaskGroup("fc-queue-triggers")
        self._readers: dict[_Key, tuple[asyncio.Task[None], str]] = {}

    def start(self) -> None:
        """Read for the triggers of an earlier run."""
        for tenant, trigger in self._store.of_kind("eventbridge"):
            self.changed(tenant, trigger)

    async def close(self) -> None:
        """Read no longer."""
        self._readers.clear()
        await self._tasks.close()

    def changed(self, tenant: Tenant, trigger: Trigger) -> None:
        """Begin to read for a trigger that is switched on, as it is now; it ends where there is no such queue."""
        self.removed(tenant, trigger)
        source = queue_source(trigger)
        if source is not None and trigger.enabled:
            work = self._tasks.spawn(self._read(tenant, trigger, source), f"queue {source.queue}")
            self._readers[_key(tenant, trigger)] = (work, source.queue)

    def queue_made(self, tenant: Tenant, queue: str) -> None:
        """Read a new queue for the triggers that wait for it, as soon as the transaction that makes it is over."""

        def committed(failure: CommitFailed | None) -> None:
            for owner, trigger in self._store.of_kind("eventbridge") if failure is None else ():
                source = queue_source(trigger)
                if owner == tenant and source is not None and source.queue == queue:
                    self.changed(tenant, trigger)

        self._database.after_commit(committed)

    def behind(self) -> Iterator[tuple[_Key, str]]:
        """Yield the triggers with messages to take in their queues, by key and queue: they are about to be read."""
        for key, (reader, queue) in self._readers.items():
            if not reader.done() and key not in self._passing and self._queues.has_messages(key[1], queue):
                yield key, queue

    def removed(self, tenant: Tenant, trigger: Trigger) -> None:
        """Read no longer for a trigger."""
        reading = self._readers.pop(_key(tenant, trigger), None)
        if reading is not None:
            reading[0].cancel()

    def waits_for(self, tenant: Tenant, trigger: Trigger) -> str:
        """Return that the queue of a queue trigger does not exist; a reader takes its messages once it does."""
        source = queue_source(trigger)
        if source is None or self._queues.exists(tenant, source.queue):
            return ""
        return f"the queue '{source.queue}' does not exist"

    async def _read(self, tenant: Tenant, trigger: Trigger, source: QueueSource) -> None:
        while True:
            try:
                messages = await self._queues.receive(tenant, source.queue, source.count, _WAIT_S)
                if messages:
                    if self._turns.active:
                        await self._in_turn(tenant, trigger)
                    await self._database.writable()
                    self._pass_on(tenant, trigger, source, messages)
            except QueueMissing:
                return  # `queue_made` begins anew
            except ServiceError as error:  # the messages are seen again when their visibility timeout is over
                _log.warning("trigger %s of %s did not fire: %s", trigger.name, trigger.function, error.message)

    async def _in_turn(self, tenant: Tenant, trigger: Trigger) -> None:
        """Wait for the turn of what is passed on."""
        key = _key(tenant, trigger)
        self._passing.add(key)
        try:
            await self._turns.turn("trigger", "/".join(part for part in key[2:] if part))
        finally:
            self._passing.discard(key)

    def _pass_on(
        self, tenant: Tenant, trigger: Trigger, source: QueueSource, messages: Sequence[QueuedMessage]
    ) -> None:
        """Queue a call for those of *messages* that the trigger's pattern wants, and take all of them off the queue."""
        bus = f"MNS-{trigger.function}-{trigger.name}"
        events = [message_event(tenant, bus, source.queue, _decoded(message, source)) for message in messages]
        wanted = [event for event in events if event_matches(source.pattern, event)]
        begin(messages[0].trace)
        because(message_key(messages[0].message_id))
        for message, event in zip(messages, events, strict=True):
            fields = {
                "message_id": message.message_id, "queue": source.queue, "trigger": trigger.name,
                "function": display_name(trigger.service, trigger.function), "wanted": event in wanted,
            }  # fmt: skip
            _log.info("message %(message_id)s of queue %(queue)s is taken by trigger %(trigger)s", fields)
        with self._database.unit():
            for message in messages:
                self._queues.delete(tenant, source.queue, message)
            if wanted:
                content = message_events(wanted, streaming=source.streaming)
                self._fire(tenant, trigger, content, f"queue/{trigger.id}/{wanted[0]['id']}")


def _decoded(message: QueuedMessage, source: QueueSource) -> QueuedMessage:
    if not source.is_base64:
        return message
    try:
        body = base64.b64decode(message.body, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):  # it was not sent in base64
        return message
    return replace(message, body=body)


def _members(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def message_event(tenant: Tenant, bus: str, queue: str, message: QueuedMessage) -> dict[str, Any]:
    """Return a queue's message as a CloudEvent on the event bus *bus*.

    Source: EventBridge, events of Message Service sources; the request id is assumed to be the message's.
    """
    at = f"{iso_seconds(message.sent_at)[:-1]}.{message.sent_at % SECOND:03d}Z"
    return {
        "id": message.message_id,
        "source": bus,
        "specversion": "1.0",
        "type": "mns:Queue:SendMessage",
        "datacontenttype": "application/json; charset=utf-8",
        "subject": f"acs:mns:{tenant.region}:{tenant.account}:queues/{queue}",
        "time": at,
        "aliyunaccountid": tenant.account,
        "aliyunpublishtime": at,
        "aliyuneventbusname": bus,
        "aliyunregionid": tenant.region,
        "data": {"requestId": message.message_id, "messageId": message.message_id, "messageBody": message.body},
    }


def message_events(events: Sequence[Mapping[str, Any]], *, streaming: bool) -> bytes:
    """Return what the function gets: with *streaming* a list of events as texts, else the one event.

    Source: EventBridge triggers of Function Compute.
    """
    content = [_encode(event) for event in events] if streaming else events[0]
    return _encode(content).encode("utf-8", "replace")


def event_matches(pattern: str, event: Mapping[str, Any]) -> bool:
    """Whether *event* fits an event pattern: each member is one of the values listed, or begins or ends as one says.

    Source: EventBridge, event patterns; of the operators ``prefix`` and ``suffix`` are known, any other fits nothing.
    """
    try:
        wanted = json.loads(pattern)
    except ValueError:
        return False
    return _fits(wanted, event)


def _fits(pattern: Any, value: Any) -> bool:
    if isinstance(pattern, Mapping):
        return isinstance(value, Mapping) and all(_fits(each, value.get(name)) for name, each in pattern.items())
    return isinstance(pattern, list) and any(_is(each, value) for each in pattern)


def _is(choice: Any, value: Any) -> bool:
    if not isinstance(choice, Mapping):
        return bool(choice == value)
    text = value if isinstance(value, str) else ""
    return ("prefix" in choice and text.startswith(str(choice["prefix"]))) or (
        "suffix" in choice and text.endswith(str(choice["suffix"]))
    )
