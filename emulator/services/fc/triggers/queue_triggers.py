"""Readers of the queues that event triggers take their messages from.

A message is deleted in the transaction that queues the call, so it is neither lost nor taken twice.
"""

import asyncio
import base64
import binascii
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from emulator.kernel.errors import ServiceError
from emulator.kernel.frozen import frozen, replace
from emulator.kernel.identity import Tenant
from emulator.kernel.tasks import TaskGroup, in_turns
from emulator.kernel.tracing import because, begin, message_key
from emulator.kernel.turnstile import Turnstile
from emulator.services.fc.model import display_name
from emulator.services.fc.ports import QueuedMessage, QueueMissing, SourceQueues
from emulator.services.fc.triggers.cloud_events import event_matches, message_event, message_events
from emulator.services.fc.triggers.model import Fire, Trigger, TriggerKey, trigger_key
from emulator.services.fc.triggers.store import TriggerStore
from emulator.services.fc.triggers.triggers import TriggerWatcher
from emulator.storage.database import CommitFailed, Database

_log = logging.getLogger(__name__)

_WAIT_S = 30
_MOST = 16


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
    """Keeps one reader for each enabled queue trigger."""

    def __init__(
        self, store: TriggerStore, database: Database, queues: SourceQueues, fire: Fire, turns: Turnstile
    ) -> None:
        self._store = store
        self._database = database
        self._queues = queues
        self._fire = fire
        self._turns = turns
        self._passing: set[TriggerKey] = set()
        """Triggers that have messages, and wait for their turn to pass them on."""
        self._tasks = TaskGroup("fc-queue-triggers")
        self._readers: dict[TriggerKey, tuple[asyncio.Task[None], str]] = {}

    async def start(self) -> None:
        """Start the readers of stored triggers."""
        async for tenant, trigger in in_turns(self._store.enabled_of_kind("eventbridge")):
            self.changed(tenant, trigger)

    async def close(self) -> None:
        """Stop reading the queues."""
        self._readers.clear()
        await self._tasks.close()

    def changed(self, tenant: Tenant, trigger: Trigger) -> None:
        """Start reading the queue of an enabled trigger; a reader whose queue does not exist ends."""
        self.removed(tenant, trigger)
        source = queue_source(trigger)
        if source is not None and trigger.enabled:
            work = self._tasks.spawn(self._read(tenant, trigger, source), f"queue {source.queue}")
            self._readers[trigger_key(tenant, trigger)] = (work, source.queue)

    def queue_made(self, tenant: Tenant, queue: str) -> None:
        """Start the readers of triggers that wait for a new queue, after the transaction that creates it."""

        def committed(failure: CommitFailed | None) -> None:
            for trigger in self._store.of_source(tenant, "eventbridge", queue) if failure is None else ():
                source = queue_source(trigger)
                if source is not None and source.queue == queue:
                    self.changed(tenant, trigger)

        self._database.after_commit(committed)

    def behind(self) -> Iterator[tuple[TriggerKey, str]]:
        """Yield key and queue of each trigger whose queue has messages that it has not received yet."""
        for key, (reader, queue) in self._readers.items():
            if not reader.done() and key not in self._passing and self._queues.has_messages(key[1], queue):
                yield key, queue

    def removed(self, tenant: Tenant, trigger: Trigger) -> None:
        """Stop the reader of a trigger."""
        reading = self._readers.pop(trigger_key(tenant, trigger), None)
        if reading is not None:
            reading[0].cancel()

    def waits_for(self, tenant: Tenant, trigger: Trigger) -> str:
        """Return a sentence when the queue of a queue trigger does not exist, else an empty text."""
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
        """Wait until a schedule of effects, if one is active, lets the trigger pass on its messages."""
        key = trigger_key(tenant, trigger)
        self._passing.add(key)
        try:
            await self._turns.turn("trigger", "/".join(part for part in key[2:] if part))
        finally:
            self._passing.discard(key)

    def _pass_on(
        self, tenant: Tenant, trigger: Trigger, source: QueueSource, messages: Sequence[QueuedMessage]
    ) -> None:
        """Queue a call for those of *messages* that the trigger's pattern wants, and take all of them off the queue."""
        events = [_event(tenant, trigger, source, message) for message in messages]
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


def event_of(tenant: Tenant, trigger: Trigger, source: QueueSource, message: QueuedMessage) -> bytes:
    """Return the event that the function of *trigger* gets for one message of its queue."""
    return message_events([_event(tenant, trigger, source, message)], streaming=source.streaming)


def _event(tenant: Tenant, trigger: Trigger, source: QueueSource, message: QueuedMessage) -> dict[str, Any]:
    bus = f"MNS-{trigger.function}-{trigger.name}"
    return message_event(tenant, bus, source.queue, _decoded(message, source))


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
