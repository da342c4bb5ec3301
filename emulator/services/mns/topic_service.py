"""Topics as one object: topics, subscriptions, publishing and deliveries of every tenant, over one database."""

import json
import logging
from collections.abc import Callable, Iterable
from pathlib import Path

from emulator.kernel.clock import Clock
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.timers import Timers
from emulator.services.mns.errors import InvalidArgument
from emulator.services.mns.limits import RELAXED, Profile
from emulator.services.mns.ports import FunctionInvoker, NotificationSigner
from emulator.services.mns.queues.model import MessageReceipt
from emulator.services.mns.service import MessageService
from emulator.services.mns.topics.carrier import Carrier, Outbox
from emulator.services.mns.topics.catalog import Subscriptions, Topics
from emulator.services.mns.topics.deliveries import Courier, Remains
from emulator.services.mns.topics.live_topics import TopicRegistry
from emulator.services.mns.topics.model import (
    Attributes,
    DeliveryReport,
    OutboxEntry,
    PublishDraft,
    SubscriptionId,
)
from emulator.services.mns.topics.publishing import Publishing
from emulator.services.mns.topics.push import Home, Pusher, PushPolicy
from emulator.services.mns.topics.store import TopicStore
from emulator.storage.database import Database

_log = logging.getLogger(__name__)

CERTIFICATE_PAGE = "mns/signing-cert.pem"
"""The page below ``/_localyun/`` that serves the certificate, to anybody."""


class TopicService:
    """Everything the fronts and other services ask of topics.

    *queues* takes what goes to queues. *endpoint* tells the address of this emulator, at which receivers fetch the
    certificate; *certificate_url* replaces the whole address where a receiver insists on another one. Pushes go to
    this machine and to what *allow_push_to* names (`PushPolicy`). *home* finds host names that this emulator serves.
    *retry_scale* shrinks or stretches the gaps between retries.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        ids: Ids,
        timers: Timers,
        *,
        queues: MessageService,
        signer: NotificationSigner,
        endpoint: Callable[[], str],
        functions: FunctionInvoker | None = None,
        allow_push_to: Iterable[str] = (),
        home: Home = lambda host: None,
        trusted: Path | None = None,
        certificate_url: Callable[[], str] | None = None,
        retry_scale: float = 1.0,
        profile: Profile = RELAXED,
    ) -> None:
        self._signer = signer
        self._store = TopicStore(database)
        self._registry = TopicRegistry(database, self._store)
        self._pusher = Pusher(
            signer,
            clock,
            ids,
            PushPolicy(allow_push_to),
            certificate_url=certificate_url or (lambda: f"{endpoint()}/_localyun/{CERTIFICATE_PAGE}"),
            home=home,
            trusted=trusted,
        )
        self._outbox = Outbox(self._store)
        self._carrier = Carrier(queues, self._outbox, self._pusher, functions, clock)
        self._courier = Courier(
            database, self._store, self._registry, self._carrier, timers, clock, ids, scale=retry_scale
        )
        self._remains = Remains(self._registry, self._store, timers, clock)
        self._publishing = Publishing(self._registry, self._courier, clock, ids, profile)
        self.topics = Topics(self._registry, self._store, clock, profile, self._unsubscribed)
        self.subscriptions = Subscriptions(
            self._registry, self._store, queues, clock, self._carrier.get_ready_for, self._unsubscribed
        )

    # --- life ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Take up what the tables hold: overdue deliveries now, the others at their instants."""
        self._remains.start()
        self._courier.start()

    async def close(self) -> None:
        """Break off pushes under way and close connections; everything pending stays for the next start."""
        self._remains.close()
        await self._courier.close()
        await self._pusher.close()

    async def reset(self) -> None:
        """Forget every topic, subscription, delivery and outbox entry."""
        self._remains.close()
        await self._courier.reset()
        self._registry.forget()
        self._store.clear_topics()

    async def certificate(self) -> bytes:
        """Return the certificate receivers verify pushes with, as PEM.

        Raises: SigningFailed.
        """
        return await self._signer.certificate()

    # --- publishing ----------------------------------------------------------------------------------------------

    def publish_draft(self, tenant: Tenant, topic: str, draft: PublishDraft) -> MessageReceipt:
        """Publish a message.

        Raises: as `Publishing.publish`.
        """
        return self._publishing.publish(tenant, topic, draft)

    def publish(
        self, tenant: Tenant, topic: str, body: bytes | str, tag: str | None = None, attributes: str | None = None
    ) -> MessageReceipt:
        """Publish a message for another service; bytes are read as UTF-8, *attributes* is the text of a JSON object.

        Raises: TopicNotExist, InvalidArgument, SchemaViolation, FifoMissingMessageGroupId.
        """
        text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
        clean = text if text.isascii() else text.encode("utf-8", "replace").decode()
        draft = PublishDraft(body=clean, tag=tag, attributes=_attributes(attributes))
        receipt = self._publishing.publish(tenant, topic, draft)
        fields = {"message_id": receipt.message_id, "topic": topic}
        _log.info("message %(message_id)s is published to topic %(topic)s", fields)
        return receipt

    # --- for people who look -------------------------------------------------------------------------------------

    def list_deliveries(self, tenant: Tenant, topic: str, subscription: str, limit: int = 100) -> list[DeliveryReport]:
        """Return the pending deliveries of a subscription, the next first, then the ended ones, newest first.

        Ended ones are remembered until the emulator stops, fifty of each subscription.

        Raises: TopicNotExist, SubscriptionNotExist.
        """
        found = self.subscriptions.get(tenant, topic, subscription)
        return self._courier.reports(found.subscription_id, limit)

    def outbox(self, tenant: Tenant, limit: int = 100) -> list[OutboxEntry]:
        """Return the mails, short messages and mobile notifications that were not sent, newest first."""
        return self._outbox.entries(tenant, limit)

    @property
    def store(self) -> TopicStore:
        """The tables, where the management API keeps its own settings."""
        return self._store

    def attempts(self) -> list[tuple[tuple[str, str], int]]:
        """Return how often a delivery was tried since the start, by kind of endpoint and result."""
        return list(self._courier.attempts.items())

    def ended(self) -> dict[str, int]:
        """Return how many deliveries have ended since the start, by how."""
        return self._courier.ended

    @property
    def under_way(self) -> int:
        """How many pushes and calls are being made."""
        return self._courier.under_way

    def _unsubscribed(self, subscription_id: SubscriptionId) -> None:
        self._courier.forget(subscription_id)
        self._remains.remove(subscription_id)


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
        raise InvalidArgument("The value of MessageAttributes should be a JSON object.")
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in members.items()
    }
