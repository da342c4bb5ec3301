"""The message service as one object: queues, topics and their messages of every tenant, over one database."""

import json
import logging
from collections.abc import Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.instrumentation import Interference, NoInterference
from emulator.kernel.metering import Amount, Tally, message_units
from emulator.kernel.timers import Timers
from emulator.services.mns.errors import MessageNotExist, MnsError, QueueNotExist
from emulator.services.mns.limits import RELAXED, Profile
from emulator.services.mns.ports import FunctionInvoker, ResourceWatcher
from emulator.services.mns.queues.catalog import Queues
from emulator.services.mns.queues.contents import Contents
from emulator.services.mns.queues.dead_letters import DeadLetters
from emulator.services.mns.queues.live_queues import LiveQueue, QueueRegistry
from emulator.services.mns.queues.message import Draft, Message, MessageReceipt, Properties
from emulator.services.mns.queues.messages import Messages
from emulator.services.mns.queues.model import Change
from emulator.services.mns.queues.store import QueueStore
from emulator.services.mns.queues.visibility import handle_of
from emulator.services.mns.queues.waiters import LongPolls
from emulator.services.mns.topics.carrier import Carrier
from emulator.services.mns.topics.catalog import Purge, Subscriptions, TopicRegistry, Topics
from emulator.services.mns.topics.deliveries import Courier
from emulator.services.mns.topics.model import Attributes, DeliveryReport, PublishDraft, SubscriptionId
from emulator.services.mns.topics.publishing import Publishing
from emulator.services.mns.topics.push import Pusher
from emulator.services.mns.topics.store import TopicStore
from emulator.storage.database import Database
from emulator.storage.migration import Schema

SCHEMA = Schema("mns", Path(__file__).with_name("schema"))

CERTIFICATE_PAGE = "mns/signing-cert.pem"
"""The page below ``/_localyun/`` that serves the signing certificate, without the admin token."""

_log = logging.getLogger(__name__)

_UNDISTURBED = NoInterference()


class MessageService:
    """The message service, for its fronts and other services.

    ``queues``, ``messages``, ``topics`` and ``subscriptions`` have one method per operation; `send`, `receive`,
    `delete` and `publish` are the short forms for other services. Methods do not commit: answers wait for the commit of
    the current transaction.

    Topics need a *pusher*; without one only queues are served. *retry_scale* multiplies the gaps between retries of
    pushes. `connect` sets the other services that this one calls.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        ids: Ids,
        timers: Timers,
        *,
        pusher: Pusher | None = None,
        retry_scale: float = 1.0,
        profile: Profile = RELAXED,
        interference: Interference = _UNDISTURBED,
    ) -> None:
        self._database = database
        self._clock = clock
        self.queue_store = QueueStore(database)
        self.registry = QueueRegistry(database, self.queue_store, clock)
        self.find = self.registry.find
        """Returns a queue for the methods of `messages`; raises QueueNotExist."""
        self.long_polls = LongPolls(database, timers, clock)
        contents = Contents(self.registry, database, self.queue_store, self.long_polls, timers, clock)
        self._contents = contents
        self._dead_letters = DeadLetters(self.registry, self.queue_store, contents, timers, clock, ids)
        database.on_rollback(self._dead_letters.replan_all)
        timers.on_step_back(self._clock_set_back)
        self.messages = Messages(
            self.registry, self.queue_store, contents, self._dead_letters, self.long_polls, clock, ids, profile,
            timers.turns,
        )  # fmt: skip
        self.queues = Queues(
            self.registry, self.queue_store, contents.retention, self._dead_letters, self.long_polls, clock, profile
        )

        self._pusher = pusher
        self.topic_store = TopicStore(database)
        self._topic_registry = TopicRegistry(database, self.topic_store)
        carrier = Carrier(self.find, self.messages, self.topic_store, pusher, clock, interference)
        self._carrier = carrier
        self.courier = Courier(
            database, self.topic_store, self._topic_registry, carrier, timers, clock, ids, scale=retry_scale
        )
        self._purge = Purge(self._topic_registry, self.topic_store, timers, clock)
        self.publishing = Publishing(self._topic_registry, self.courier.dispatch, clock, ids, profile)
        self.asked_inside = Tally()
        """Requests that other services have made here since the start, in units of 64 KB."""
        self.topics = Topics(self._topic_registry, self.topic_store, clock, profile, self._all_unsubscribed)
        self.subscriptions = Subscriptions(
            self._topic_registry, self.topic_store, self.registry, clock, carrier.get_ready_for, self._unsubscribed
        )

    def connect(self, functions: FunctionInvoker, watcher: ResourceWatcher | None = None) -> None:
        """Call *functions* for subscriptions of triggers, and tell *watcher* of new queues and topics, from now on."""
        self._carrier.functions = functions
        self.queues.watcher = self.topics.watcher = watcher

    async def catch_up(self) -> None:
        """Move dead letters that are overdue, before `start`, which would do so in one turn of the loop."""
        await self._dead_letters.catch_up()

    def start(self) -> None:
        """Resume from the tables: expiry, dead letters, the remains of deleted resources."""
        self._dead_letters.start()
        self._contents.retention.start()
        self._purge.start()

    def deliver(self) -> None:
        """Begin with deliveries, the overdue ones of the tables first, once all is there that they may lead to."""
        if self.serves_topics:
            self.courier.start()

    def end_polls(self) -> None:
        """Answer long polls without messages at once."""
        self.long_polls.dismiss_all(MessageNotExist())

    def close(self) -> None:
        """Answer long polls without messages, and cancel all timers."""
        self.end_polls()
        self._contents.retention.close()
        self._dead_letters.close()
        self._purge.close()
        self.courier.stop()
        self.registry.remember()

    async def aclose(self) -> None:
        """Do as `close`, break off pushes under way and close connections; pending deliveries are kept."""
        await self.courier.close()
        if self._pusher is not None:
            await self._pusher.close()
        self.close()

    def reset(self) -> None:
        """Delete every queue, topic, message, subscription, delivery and account attribute."""
        self.long_polls.dismiss_all(QueueNotExist())
        self._contents.retention.close()
        self._dead_letters.close()
        self._purge.close()
        self.courier.reset()
        self.registry.forget()
        self._topic_registry.forget()
        self.queue_store.clear()
        self.topic_store.clear_topics()

    async def suspend(self) -> None:
        """Break off what is under way: the tables are about to be replaced, and `resume` goes on from them."""
        self.end_polls()
        await self.courier.close()

    def resume(self) -> None:
        """Resume as `start`, after `suspend` and after every timer has been dropped; `deliver` has to follow."""
        self._contents.retention.close()
        self._contents.renumber()
        self._dead_letters.close()
        self._purge.close()
        self.courier.history.clear()
        self.start()

    def _clock_set_back(self, before: Millis) -> None:
        """Keep messages visible that were visible before the clock was set back, and count them anew."""
        self.queue_store.keep_visible(self._clock.now(), before)
        self.registry.forget()  # counters are made anew

    def _unsubscribed(self, subscription_id: SubscriptionId) -> None:
        self.courier.forget(subscription_id)
        self._purge.remove(subscription_id)

    def _all_unsubscribed(self, gone: Sequence[SubscriptionId], left: Sequence[SubscriptionId]) -> None:
        for subscription_id in gone:
            self.courier.forget(subscription_id)
        self._purge.remove_all(left)

    def change_queue(self, tenant: Tenant, name: str, change: Change) -> Coroutine[Any, Any, None] | None:
        """Change the attributes of a queue as `Queues.change` does; return a coroutine to await, None when it is done.

        Expired messages are removed first: a portion at once, and more of them in turns between which other calls are
        served.

        Raises: as `Queues.change`, and CommitFailed; also where it is waited for.
        """
        if not self._contents.retention.sweep(self.find(tenant, name), self._clock.now()):
            return self._change_later(tenant, name, change)
        self.queues.change(tenant, name, change)
        return None

    async def _change_later(self, tenant: Tenant, name: str, change: Change) -> None:
        await self._database.committed()
        while not self._contents.retention.sweep(self.find(tenant, name), self._clock.now()):
            await self._database.committed()
        self.queues.change(tenant, name, change)

    async def purge(self, tenant: Tenant, queue: str) -> int:
        """Delete the messages a queue holds now, hidden and delayed ones too; return how many there were.

        A large queue is emptied in portions between which other calls are served; messages sent meanwhile stay. The
        purge ends when the queue is deleted meanwhile.

        Raises: QueueNotExist, CommitFailed.
        """
        last, retention = self._contents.last_seq, self._contents.retention
        deleted = 0
        live: LiveQueue | None = self.find(tenant, queue)
        while live is not None and (portion := retention.remove_up_to(live, last, self._clock.now())):
            deleted += portion
            await self._database.committed()
            live = self.registry.find_by_id(live.queue.queue_id)
        return deleted

    def reset_topic(self, tenant: Tenant, name: str) -> None:
        """Drop the pending deliveries of a topic, and the records of earlier ones.

        Raises: TopicNotExist.
        """
        for subscription in self.topic_store.subscriptions(self.topics.view(tenant, name).topic):
            self._unsubscribed(subscription.subscription_id)

    async def certificate(self) -> bytes:
        """Return the certificate receivers verify pushes with, as PEM.

        Raises: SigningFailed.
        """
        if self._pusher is None:
            raise LookupError("nothing signs pushes here")
        return await self._pusher.certificate()

    def next_visible(self, now: Millis) -> list[tuple[str, Millis]]:
        """Return (queue, time) of the next message that becomes visible, for each queue with hidden messages."""
        filled = map(self.registry.find_by_id, sorted(self._contents.retention.bounds))
        queues = [live.queue for live in filled if live is not None]
        times = ((queue.name, self.messages.next_visible(queue.queue_id, now)) for queue in queues)
        return [(name, at) for name, at in times if at is not None]

    def list_deliveries(self, tenant: Tenant, topic: str, subscription: str, limit: int = 100) -> list[DeliveryReport]:
        """Return the pending deliveries of a subscription, the next first, then the ended ones, newest first.

        Ended ones are remembered until the emulator stops, fifty of each subscription.

        Raises: TopicNotExist, SubscriptionNotExist.
        """
        return self.courier.reports(self.subscriptions.get(tenant, topic, subscription), limit)

    def redeliver(self, tenant: Tenant, topic: str, subscription: str, message_id: str) -> bool:
        """Deliver a message to a subscriber now, even once more; return False when the message is not known.

        Of ended deliveries those that `list_deliveries` shows can be repeated, until the emulator stops.

        Raises: TopicNotExist, SubscriptionNotExist.
        """
        record = self.subscriptions.get(tenant, topic, subscription)
        return self.courier.redeliver(record, message_id, self._clock.now())

    @property
    def serves_topics(self) -> bool:
        """Whether pushes can be signed, and so topics are served."""
        return self._pusher is not None

    def send(
        self,
        tenant: Tenant,
        queue: str,
        body: bytes | str,
        delay_s: int | None = None,
        priority: int | None = None,
        group_id: str | None = None,
        user_properties: Properties = (),
    ) -> MessageReceipt:
        """Send a message as text; bytes are read as UTF-8.

        Raises: QueueNotExist; InvalidArgument, SchemaViolation, FifoMissingMessageGroupId as `Messages.send`.
        """
        text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
        draft = Draft(body=text, delay_s=delay_s, priority=priority, group_id=group_id, user_properties=user_properties)
        receipt = self.messages.send(self.find(tenant, queue), draft)
        self._inside("SendMessage", f"queues/{queue}", text)
        fields = {"message_id": receipt.message_id, "queue": queue}
        _log.info("message %(message_id)s is sent to queue %(queue)s", fields)
        return receipt

    async def receive(self, tenant: Tenant, queue: str, count: int = 1, wait_s: int | None = None) -> Sequence[Message]:
        """Receive up to *count* messages, waiting as asked; empty when there was nothing in time.

        Raises: QueueNotExist, InvalidArgument.
        """
        try:
            found = self.messages.receive(self.find(tenant, queue), count, wait_s, tuple)
            messages: Sequence[Message] = found if isinstance(found, tuple) else await found
        except MessageNotExist:
            messages = ()
        self._inside("ReceiveMessage", f"queues/{queue}", "".join(each.body for each in messages))
        return messages

    def delete(self, tenant: Tenant, queue: str, message: Message) -> None:
        """Delete a message that was received, while it is hidden.

        Raises: QueueNotExist, MessageNotExist.
        """
        self.messages.delete(self.find(tenant, queue), handle_of(message))
        self._inside("DeleteMessage", f"queues/{queue}")

    def publish(
        self, tenant: Tenant, topic: str, body: bytes | str, tag: str | None = None, attributes: str | None = None
    ) -> MessageReceipt:
        """Publish a message for another service; bytes are read as UTF-8, *attributes* is the text of a JSON object.

        Raises: TopicNotExist, InvalidArgument, SchemaViolation, FifoMissingMessageGroupId.
        """
        text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
        clean = text if text.isascii() else text.encode("utf-8", "replace").decode()
        draft = PublishDraft(body=clean, tag=tag, attributes=_attributes(attributes))
        receipt = self.publishing.publish(tenant, topic, draft)
        self._inside("PublishMessage", f"topics/{topic}", clean)
        fields = {"message_id": receipt.message_id, "topic": topic, "tag": tag or ""}
        _log.info("message %(message_id)s is published to topic %(topic)s", fields)
        return receipt

    def _inside(self, operation: str, resource: str, carried: str = "") -> None:
        """Count a request of another service, which in the cloud is a billable request over the network."""
        item = "mns.requests.queue" if resource.startswith("queues/") else "mns.requests.topic"
        self.asked_inside.add(item, resource, operation, message_units(len(carried.encode())))

    def is_topic(self, tenant: Tenant, name: str) -> bool:
        """Whether there is a topic of that name, and no queue."""
        try:
            self.find(tenant, name)
        except MnsError:
            try:
                self._topic_registry.find(tenant, name)
            except MnsError:
                return False
            return True
        return False

    def metered(self) -> Iterator[Amount]:
        """Yield the billable requests of other services, and pushes, since the start; the gateway counts clients'."""
        yield from self.asked_inside.amounts()
        yield from self.courier.history.pushes.amounts()


def _attributes(text: str | None) -> Attributes:
    """Read message attributes given as JSON; members that are no text become the text of their JSON.

    Raises: InvalidArgument.
    """
    if not text:
        return {}
    try:
        members = json.loads(text)
    except (ValueError, RecursionError):
        members = None
    if not isinstance(members, dict):
        raise MnsError("InvalidArgument", "The value of MessageAttributes should be a JSON object.")
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in members.items()
    }
