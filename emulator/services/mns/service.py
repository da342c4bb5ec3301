"""The message service as one object: queues, topics and their messages of every tenant, over one database."""

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from emulator.auth.push import PushSigner
from emulator.kernel.clock import Clock, Millis
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.instrumentation import Interference, NoInterference
from emulator.kernel.timers import Timers
from emulator.services.mns.errors import MessageNotExist, MnsError, QueueNotExist
from emulator.services.mns.limits import RELAXED, Profile
from emulator.services.mns.ports import FunctionInvoker
from emulator.services.mns.queues.catalog import Queues
from emulator.services.mns.queues.live_queues import QueueRegistry
from emulator.services.mns.queues.messages import Messages
from emulator.services.mns.queues.model import Draft, Message, MessageReceipt
from emulator.services.mns.queues.ready_index import DeadLetters, ReadyIndex
from emulator.services.mns.queues.store import QueueStore
from emulator.services.mns.queues.visibility import handle_of
from emulator.services.mns.queues.waiters import LongPolls
from emulator.services.mns.topics.carrier import Carrier
from emulator.services.mns.topics.catalog import Purge, Subscriptions, TopicRegistry, Topics
from emulator.services.mns.topics.deliveries import Courier
from emulator.services.mns.topics.model import Attributes, DeliveryReport, PublishDraft, SubscriptionId
from emulator.services.mns.topics.publishing import Publishing
from emulator.services.mns.topics.push import Home, Pusher, PushPolicy
from emulator.services.mns.topics.store import TopicStore
from emulator.storage.database import Database, Schema

SCHEMA = Schema("mns", Path(__file__).with_name("schema"))

CERTIFICATE_PAGE = "mns/signing-cert.pem"
"""The page below ``/_localyun/`` that serves the signing certificate, without the admin token."""

_log = logging.getLogger(__name__)

_UNDISTURBED = NoInterference()


class MessageService:
    """Everything the fronts and other services ask of MNS.

    ``queues``, ``messages``, ``topics`` and ``subscriptions`` have one method per operation; `send`, `receive`,
    `delete` and `publish` are the short forms other services use. Nothing is committed here: answers wait for the
    commit of their tick.

    Topics need a *signer* of pushes; without one only queues are served. *endpoint* returns the address of this
    emulator, at which receivers fetch the certificate; *certificate_url* replaces the whole address where a receiver
    insists on another one. Pushes go to this machine and to what *allow_push_to* names (`PushPolicy`). *home* finds
    host names that this emulator serves. *topic_made* and *queue_made* are called for each new topic and queue, in the
    transaction that makes it. *retry_scale* shrinks or stretches the gaps between retries.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        ids: Ids,
        timers: Timers,
        *,
        signer: PushSigner | None = None,
        endpoint: Callable[[], str] = str,
        functions: FunctionInvoker | None = None,
        topic_made: Callable[[Tenant, str], None] = lambda tenant, name: None,
        queue_made: Callable[[Tenant, str], None] = lambda tenant, name: None,
        allow_push_to: Iterable[str] = (),
        home: Home = lambda host: None,
        trusted: Path | None = None,
        certificate_url: Callable[[], str] | None = None,
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
        self._ready = ReadyIndex(self.registry, database, self.queue_store, self.long_polls, timers, clock)
        self._dead_letters = DeadLetters(self.registry, self.queue_store, self._ready, timers, clock, ids)
        database.on_rollback(self._dead_letters.replan_all)
        timers.on_step_back(self._clock_set_back)
        self.messages = Messages(
            self.registry, self.queue_store, self._ready, self._dead_letters, self.long_polls, clock, ids, profile
        )
        self.queues = Queues(
            self.registry, self.queue_store, self._ready.retention, self._dead_letters, self.long_polls, clock, profile,
            queue_made,
        )  # fmt: skip

        self._signer = signer
        self.topic_store = TopicStore(database)
        self._topic_registry = TopicRegistry(database, self.topic_store)
        self._pusher = Pusher(
            signer,
            clock,
            ids,
            PushPolicy(allow_push_to),
            certificate_url=certificate_url or (lambda: f"{endpoint()}/_localyun/{CERTIFICATE_PAGE}"),
            home=home,
            trusted=trusted,
        )
        carrier = Carrier(self.find, self.messages, self.topic_store, self._pusher, functions, clock, interference)
        self.courier = Courier(
            database, self.topic_store, self._topic_registry, carrier, timers, clock, ids, scale=retry_scale
        )
        self._purge = Purge(self._topic_registry, self.topic_store, timers, clock)
        self.publishing = Publishing(self._topic_registry, self.courier.dispatch, clock, ids, profile)
        self.topics = Topics(self._topic_registry, self.topic_store, clock, profile, topic_made, self._unsubscribed)
        self.subscriptions = Subscriptions(
            self._topic_registry, self.topic_store, self.registry, clock, carrier.get_ready_for, self._unsubscribed
        )

    def start(self) -> None:
        """Take up what the tables hold: expiry, dead letters, overdue deliveries, what deleted resources have left."""
        self._dead_letters.start()
        self._ready.retention.start()
        self._purge.start()
        if self.serves_topics:
            self.courier.start()

    def regions(self, account: AccountId) -> set[Region]:
        """Return the regions in which an account has queues or topics."""
        return self.queue_store.regions(account) | self.topic_store.regions(account)

    def end_polls(self) -> None:
        """Answer long polls with nothing, now rather than at the end of their wait."""
        self.long_polls.dismiss_all(MessageNotExist())

    def close(self) -> None:
        """Answer long polls with nothing and set no more timers."""
        self.end_polls()
        self._ready.retention.close()
        self._dead_letters.close()
        self._purge.close()
        self.courier.stop()
        self.registry.remember()

    async def aclose(self) -> None:
        """`close`, break off pushes under way and close connections; everything pending stays for the next start."""
        await self.courier.close()
        await self._pusher.close()
        self.close()

    def reset(self) -> None:
        """Forget every queue, topic, message, subscription, delivery and account attribute."""
        self.long_polls.dismiss_all(QueueNotExist())
        self._ready.retention.close()
        self._dead_letters.close()
        self._purge.close()
        self.courier.reset()
        self.registry.forget()
        self._topic_registry.forget()
        self.queue_store.clear()
        self.topic_store.clear_topics()

    async def suspend(self) -> None:
        """Break off what is under way: the tables are about to be replaced, and `start` goes on from them."""
        self.end_polls()
        await self.courier.close()

    def resume(self) -> None:
        """Go on with what the tables hold now, after `suspend` and after every timer has been dropped."""
        self._ready.retention.close()
        self._ready.renumber()
        self._dead_letters.close()
        self._purge.close()
        self.courier.history.clear()
        self.start()

    def _clock_set_back(self, before: Millis) -> None:
        """Keep visible what has been visible, or it would be hidden until the old time has come again."""
        self.queue_store.keep_visible(self._clock.now(), before)
        self.registry.forget()  # counters are made anew

    def _unsubscribed(self, subscription_id: SubscriptionId) -> None:
        self.courier.forget(subscription_id)
        self._purge.remove(subscription_id)

    async def purge(self, tenant: Tenant, queue: str) -> int:
        """Delete the messages a queue holds now, hidden and delayed ones too; return how many there were.

        A large queue is emptied in portions between which other calls are served; messages sent meanwhile stay.

        Raises: QueueNotExist, CommitFailed.
        """
        until = self._clock.now()
        deleted = 0
        while portion := self._ready.retention.remove_sent(self.find(tenant, queue), until, until):
            deleted += portion
            await self._database.committed()
        return deleted

    def reset_topic(self, tenant: Tenant, name: str) -> None:
        """Drop what is on its way to the subscribers of a topic, and what is remembered of earlier deliveries.

        Raises: TopicNotExist.
        """
        for subscription in self.topic_store.subscriptions(self.topics.view(tenant, name).topic):
            self._unsubscribed(subscription.subscription_id)

    async def certificate(self) -> bytes:
        """Return the certificate receivers verify pushes with, as PEM.

        Raises: SigningFailed.
        """
        if self._signer is None:
            raise LookupError("nothing signs pushes here")
        return await self._signer.certificate()

    def next_visible(self, now: Millis) -> list[tuple[str, Millis]]:
        """Return, of each queue with hidden or delayed messages, its name and when the next becomes visible."""
        queues = self.queue_store.all_queues()
        times = ((queue.name, self.messages.next_visible(queue.queue_id, now)) for queue in queues)
        return [(name, at) for name, at in times if at is not None]

    def list_deliveries(self, tenant: Tenant, topic: str, subscription: str, limit: int = 100) -> list[DeliveryReport]:
        """Return the pending deliveries of a subscription, the next first, then the ended ones, newest first.

        Ended ones are remembered until the emulator stops, fifty of each subscription.

        Raises: TopicNotExist, SubscriptionNotExist.
        """
        return self.courier.reports(self.subscriptions.get(tenant, topic, subscription), limit)

    def redeliver(self, tenant: Tenant, topic: str, subscription: str, message_id: str) -> bool:
        """Deliver a message to a subscriber now, also one that it has got; False when the message is not known.

        Of ended deliveries those that `list_deliveries` shows can be made again, until the emulator stops.

        Raises: TopicNotExist, SubscriptionNotExist.
        """
        record = self.subscriptions.get(tenant, topic, subscription)
        return self.courier.redeliver(record, message_id, self._clock.now())

    @property
    def serves_topics(self) -> bool:
        """Whether pushes can be signed, and so topics are served."""
        return self._signer is not None

    def send(
        self,
        tenant: Tenant,
        queue: str,
        body: bytes | str,
        delay_s: int | None = None,
        priority: int | None = None,
        group_id: str | None = None,
    ) -> MessageReceipt:
        """Send a message as text; bytes are read as UTF-8.

        Raises: QueueNotExist; InvalidArgument, SchemaViolation, FifoMissingMessageGroupId as `Messages.send`.
        """
        text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
        draft = Draft(body=text, delay_s=delay_s, priority=priority, group_id=group_id)
        receipt = self.messages.send(self.find(tenant, queue), draft)
        fields = {"message_id": receipt.message_id, "queue": queue}
        _log.info("message %(message_id)s is sent to queue %(queue)s", fields)
        return receipt

    async def receive(self, tenant: Tenant, queue: str, count: int = 1, wait_s: int | None = None) -> Sequence[Message]:
        """Receive up to *count* messages, waiting as asked; empty when there was nothing in time.

        Raises: QueueNotExist, InvalidArgument.
        """
        try:
            messages = self.messages.receive(self.find(tenant, queue), count, wait_s, tuple)
            return messages if isinstance(messages, tuple) else await messages
        except MessageNotExist:
            return ()

    def delete(self, tenant: Tenant, queue: str, message: Message) -> None:
        """Delete a message that was received, while it is hidden.

        Raises: QueueNotExist, MessageNotExist.
        """
        self.messages.delete(self.find(tenant, queue), handle_of(message))

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
        fields = {"message_id": receipt.message_id, "topic": topic}
        _log.info("message %(message_id)s is published to topic %(topic)s", fields)
        return receipt


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
