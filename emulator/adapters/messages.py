"""Functions and topics: results sent as messages, messages sent to functions, triggers as subscriptions."""

from collections.abc import Callable, Sequence

from emulator.kernel.clock import Millis
from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import Tenant
from emulator.kernel.instrumentation import Interference
from emulator.services.fc.errors import FcError
from emulator.services.fc.model import MessageTarget, parse_function_arn
from emulator.services.fc.ports import DestinationRefused, QueuedMessage, QueueMissing, TopicMissing
from emulator.services.fc.service import FunctionCompute
from emulator.services.mns.errors import MessageNotExist, QueueNotExist, TopicNotExist
from emulator.services.mns.ports import DIALECT, FunctionRefused, subject
from emulator.services.mns.queues.model import Change
from emulator.services.mns.service import MessageService
from emulator.services.mns.topics.model import ContentFormat, NotifyStrategy, SubscriptionSettings


class OwnNames:
    """Finds the host names that this emulator serves, the cloud's and users' own, so that pushes to them stay here."""

    def __init__(self, emulates: Callable[[str], bool], address: str) -> None:
        self._emulates = emulates
        host, _, port = address.removeprefix("http://").partition(":")
        self._address = (host, int(port))

    def find(self, host: str) -> tuple[str, int] | None:
        """Return the plain HTTP address that serves *host*, None for a name this emulator does not serve."""
        return self._address if self._emulates(host) else None


class ResultMessages:
    """Takes results of asynchronous calls (the port `MessageDestinations` of Function Compute).

    Queues and topics keep their messages in the same database, so a result is sent in the transaction that ends its
    call, exactly once.
    """

    def __init__(self, messages: MessageService, interference: Interference) -> None:
        self._messages = messages
        self._interference = interference

    def send(self, tenant: Tenant, target: MessageTarget, body: str) -> None:
        """Send *body* to a queue, or publish it to a topic.

        Raises: DestinationRefused.
        """
        try:
            if target.kind == "queue":
                with self._interference.within(subject("SendMessage", queue=target.name, origin="async"), DIALECT):
                    self._messages.send(tenant, target.name, body)
            else:
                with self._interference.within(subject("PublishMessage", topic=target.name, origin="async"), DIALECT):
                    self._messages.publish(tenant, target.name, body)
        except ServiceError as error:
            raise DestinationRefused(str(error)) from error


class TopicCalls:
    """Lets topics call functions (the port `FunctionInvoker` of the message service)."""

    def __init__(self, functions: FunctionCompute) -> None:
        self._functions = functions

    async def invoke_async(self, tenant: Tenant, arn: str, event: bytes, key: str) -> None:
        """Queue a call of the function that *arn* names.

        Raises: FunctionRefused.
        """
        name = parse_function_arn(arn)
        if name is None:
            raise FunctionRefused(f"{arn} does not name a function")
        if not self._functions.sources.topics_may_call(tenant, name):
            raise FunctionRefused(f"the role of the trigger may not call {arn}")
        try:
            await self._functions.invoke_async(tenant, name, event, key=key, origin="push")
        except FcError as error:
            raise FunctionRefused(str(error)) from error


class TriggerQueues:
    """Lets triggers take messages of queues (the port `SourceQueues` of Function Compute)."""

    def __init__(self, messages: MessageService) -> None:
        self._messages = messages

    def exists(self, tenant: Tenant, queue: str) -> bool:
        """Whether there is such a queue."""
        try:
            self._messages.queues.view(tenant, queue)
        except QueueNotExist:
            return False
        return True

    def has_messages(self, tenant: Tenant, queue: str) -> bool:
        """Whether `receive` would return messages at once; False for a queue that does not exist."""
        try:
            self._messages.messages.peek(self._messages.find(tenant, queue), 1)
        except (MessageNotExist, QueueNotExist):
            return False
        return True

    async def receive(self, tenant: Tenant, queue: str, count: int, wait_s: int) -> Sequence[QueuedMessage]:
        """Return up to *count* messages, hiding them; none when none is visible within *wait_s* seconds.

        Raises: QueueMissing; MnsError.
        """
        try:
            received = await self._messages.receive(tenant, queue, count, wait_s)
        except QueueNotExist:
            raise QueueMissing(queue) from None
        return [
            QueuedMessage(
                message_id=message.message_id,
                body=message.body,
                sent_at=Millis(message.enqueued_at),
                token=message,
                trace=message.trace,
            )
            for message in received
        ]

    def delete(self, tenant: Tenant, queue: str, message: QueuedMessage) -> None:
        """Delete a message that was received.

        Raises: MnsError.
        """
        self._messages.delete(tenant, queue, message.token)


class TriggerSubscriptions:
    """Lets triggers subscribe functions to topics (the port `TopicSubscriptions` of Function Compute)."""

    def __init__(self, messages: MessageService) -> None:
        self._subscriptions = messages.subscriptions
        self._topics = messages.topics

    def exists(self, tenant: Tenant, topic: str) -> bool:
        """Whether there is such a topic."""
        try:
            self._topics.view(tenant, topic)
        except TopicNotExist:
            return False
        return True

    def subscribe(
        self,
        tenant: Tenant,
        topic: str,
        name: str,
        function_arn: str,
        *,
        filter_tag: str | None,
        content_format: str,
        strategy: str,
    ) -> None:
        """Make the subscription *name*, or change it when it is there.

        Raises: TopicMissing.
        """
        settings = SubscriptionSettings(
            endpoint=function_arn,
            filter_tag=filter_tag,
            strategy=NotifyStrategy(strategy),
            content_format=ContentFormat(content_format),
        )
        try:
            present = [each for each in self._subscriptions.all(tenant, topic) if each.name == name]
            same = [each.settings for each in present if each.settings.endpoint == function_arn]
            if same and same[0].content_format is settings.content_format:
                change: Change = {"filter_tag": filter_tag, "strategy": settings.strategy}
                self._subscriptions.change(tenant, topic, name, change)
                return
            self._subscriptions.delete(tenant, topic, name)  # endpoint and format of a subscription never change
            self._subscriptions.create(tenant, topic, name, settings)
        except TopicNotExist:
            raise TopicMissing(topic) from None

    def unsubscribe(self, tenant: Tenant, topic: str, name: str) -> None:
        """Remove the subscription; does nothing when topic or subscription are gone."""
        self._subscriptions.delete(tenant, topic, name)
