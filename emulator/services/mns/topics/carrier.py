"""Carries one message to one subscriber, by any kind of endpoint.

Mails, short messages, mobile notifications and events are recorded in the outbox and shown in the log, never sent.
"""

import json
import logging
from collections.abc import Callable
from typing import assert_never

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.instrumentation import Interference
from emulator.services.mns.errors import MnsError
from emulator.services.mns.limits import OUTBOX
from emulator.services.mns.ports import DIALECT, FunctionInvoker, FunctionRefused, push, subject
from emulator.services.mns.queues.live_queues import LiveQueue
from emulator.services.mns.queues.message import Draft, Properties, Property, appended, restored, stored
from emulator.services.mns.queues.messages import Messages
from emulator.services.mns.queues.store import NotStored
from emulator.services.mns.topics.model import (
    Attributes,
    FunctionEndpoint,
    HttpEndpoint,
    OutboxEndpoint,
    OutboxEntry,
    Outcome,
    Publication,
    QueueEndpoint,
    Subscription,
    read_endpoint,
)
from emulator.services.mns.topics.notification import function_event, notification
from emulator.services.mns.topics.push import Pusher
from emulator.services.mns.topics.store import TopicStore

_log = logging.getLogger(__name__)

_ATTRIBUTES = {"mail": ("DirectMail", "DM"), "sms": ("DirectSMS", "DYSMS"), "push": ("Push",), "event": ()}
"""The message attributes for the content of each kind of message; the second names are the newer Java client's."""

_SUBSCRIBED = {"mail": "DmAttributes", "sms": "DysmsAttributes", "push": "", "event": ""}
"""The attributes for the same in a subscription made through the management API, by kind of message."""


def _details(kind: str, extras: dict[str, str], attributes: Attributes) -> dict[str, object]:
    """Return the attributes for the content of a message, from its subscription and itself, which takes precedence."""
    details = _members(extras.get(_SUBSCRIBED[kind], ""))
    for name in _ATTRIBUTES[kind]:
        details |= _members(attributes.get(name, ""))
    return details


def _members(text: str) -> dict[str, object]:
    if not text:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {"text": text}
    return value if isinstance(value, dict) else {"text": text}


def _receivers(details: dict[str, object]) -> str:
    receivers = details.get("Receiver") or details.get("PhoneNumber") or details.get("MailAddress")
    if isinstance(receivers, str) and receivers:
        return receivers
    parameters = details.get("SmsParams")
    if isinstance(parameters, str):
        parameters = _members(parameters)
    return ",".join(parameters) if isinstance(parameters, dict) and details.get("Type") == "multiContent" else ""


class Carrier:
    """Carries messages to every kind of endpoint. Failures are outcomes, not exceptions."""

    def __init__(
        self,
        find_queue: Callable[[Tenant, str], LiveQueue],
        messages: Messages,
        store: TopicStore,
        pusher: Pusher | None,
        clock: Clock,
        interference: Interference,
    ) -> None:
        self._interference = interference
        self._find_queue = find_queue
        self._messages = messages
        self._store = store
        self._pusher = pusher
        self.functions: FunctionInvoker | None = None
        """Calls the functions of topic triggers; None where the emulator has no functions."""
        self._clock = clock

    def carry_now(self, subscription: Subscription, publication: Publication) -> Outcome | None:
        """Put a message into a queue or the outbox in the current transaction; return None for any other endpoint."""
        match read_endpoint(subscription.settings.endpoint):
            case QueueEndpoint(queue):
                if self._interference.active:
                    return None
                return self._send(subscription, publication, queue, publication.system_properties)
            case OutboxEndpoint() as target:
                return self._record(target, subscription, publication, self._clock.now())
            case FunctionEndpoint() | HttpEndpoint():
                return None
            case endpoint:
                assert_never(endpoint)

    async def carry(self, subscription: Subscription, publication: Publication) -> Outcome:
        """Carry a message to any endpoint."""
        outcome = self.carry_now(subscription, publication)
        if outcome is not None:
            return outcome
        match read_endpoint(subscription.settings.endpoint):
            case FunctionEndpoint(arn):
                return await self._invoke(arn, subscription, publication)
            case HttpEndpoint(url):
                return await self._push(url, subscription, publication)
            case QueueEndpoint(queue):
                return await self._send_under_faults(queue, subscription, publication)
            case OutboxEndpoint() as target:
                return self._record(target, subscription, publication, self._clock.now())
            case endpoint:
                assert_never(endpoint)

    async def _push(self, url: str, subscription: Subscription, publication: Publication) -> Outcome:
        meant = push(subscription.topic_name, subscription.name, url)
        try:
            async with self._interference.around(meant, DIALECT):
                if self._pusher is None:
                    return Outcome(delivered=False, detail="nothing signs pushes here")
                return await self._pusher.push(url, subscription, publication)
        except MnsError as error:
            return Outcome(delivered=False, detail=str(error))

    async def _send_under_faults(self, queue: str, subscription: Subscription, publication: Publication) -> Outcome:
        meant = subject("SendMessage", queue=queue, origin="push")
        try:
            async with self._interference.around(meant, DIALECT):
                return self._send(subscription, publication, queue, publication.system_properties)
        except MnsError as error:
            return Outcome(delivered=False, detail=str(error))

    def get_ready_for(self, subscription: Subscription) -> None:
        """Prepare for a subscriber's first message."""
        if self._pusher is not None and isinstance(read_endpoint(subscription.settings.endpoint), HttpEndpoint):
            self._pusher.warm()

    def send_dead_letter(self, subscription: Subscription, publication: Publication) -> Outcome | None:
        """Put an undeliverable message into the subscription's dead-letter queue; return None when it has none.

        Source: the queue is documented; that it gets the same text as the subscriber, and the values of the system
        properties, are assumed.
        """
        policy = subscription.settings.dead_letters
        if policy is None or not policy.enabled:
            return None
        tenant = subscription.tenant
        path = f"/topics/{subscription.topic_name}/subscriptions/{subscription.name}"
        origin = (
            Property("DLQMessageType", "SUBSCRIPTION", "STRING"),
            Property("DLQSourceArn", f"acs:mns:{tenant.region}:{tenant.account}:{path}", "STRING"),
            Property("DLQOriginMessageId", publication.message_id, "STRING"),
        )
        system = restored(appended(stored(publication.system_properties), origin))
        return self._send(subscription, publication, policy.target, system)

    def _send(self, subscription: Subscription, publication: Publication, queue: str, system: Properties) -> Outcome:
        """Send the notification as plain text, with a message id, digest and priority of its own.

        Source: observed; for the properties aliyun-mns-php-sdk Tests/TopicTest.php.
        """
        draft = Draft(
            body=notification(subscription, publication),
            group_id=publication.group_id,
            user_properties=publication.user_properties,
            system_properties=system,
        )
        try:
            receipt = self._messages.send(self._find_queue(subscription.tenant, queue), draft)
        except MnsError as error:
            return Outcome(delivered=False, detail=str(error))
        except NotStored as error:
            return Outcome(delivered=False, detail=f"the message could not be stored: {error}")
        return Outcome(delivered=True, detail=f"queue {queue}, message {receipt.message_id}")

    async def _invoke(self, arn: str, subscription: Subscription, publication: Publication) -> Outcome:
        if self.functions is None:
            return Outcome(delivered=False, detail="Function Compute is not available here")
        event = function_event(subscription, publication)
        key = f"{publication.message_id}/{subscription.subscription_id}"
        try:
            await self.functions.invoke_async(subscription.tenant, arn, event, key)
        except FunctionRefused as error:
            return Outcome(delivered=False, detail=str(error))
        return Outcome(delivered=True, detail="accepted by the function")

    def _record(
        self, endpoint: OutboxEndpoint, subscription: Subscription, publication: Publication, now: Millis
    ) -> Outcome:
        """Record a message for a mail address, telephone or app.

        Anonymous and dynamic endpoints have their receivers in the message's attributes; ``multiContent`` messages list
        them as the keys of SmsParams.
        """
        details = _details(endpoint.kind, subscription.settings.extras, publication.attributes)
        address = endpoint.address
        if address in {"anonymous", "__dynamic"}:
            address = _receivers(details) or address
        entry = OutboxEntry(
            kind=endpoint.kind,
            address=address,
            topic_name=subscription.topic_name,
            subscription_name=subscription.name,
            message_id=publication.message_id,
            body=publication.body,
            details=details,
            recorded_at=now,
        )
        self._store.add_outbox(subscription.tenant, entry, OUTBOX)
        _log.info(
            "%s for %s, from topic %s, subscription %s, is in the outbox: %r",
            endpoint.kind, address, entry.topic_name, entry.subscription_name, publication.body[:200],
        )  # fmt: skip
        return Outcome(delivered=True, detail=f"{endpoint.kind} for {address} is in the outbox")
