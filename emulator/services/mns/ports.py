"""The ports of the message service: what topics need from other services; and the names of its calls for faults.

Ports are named after the need; `emulator.joining` fills them.
"""

from typing import Protocol

from emulator.kernel.identity import Tenant
from emulator.kernel.instrumentation import Dialect, Origin, Subject
from emulator.services.mns.errors import MnsError


class FunctionRefused(Exception):
    """Function Compute did not accept the event; the text says why."""


class FunctionInvoker(Protocol):
    """Runs functions for the subscriptions their triggers have made."""

    async def invoke_async(self, tenant: Tenant, arn: str, event: bytes, key: str) -> None:
        """Queue an asynchronous call of a function; return once the call is accepted.

        *arn* is ``acs:fc:{region}:{account}:services/{service}[.{qualifier}]/functions/{function}`` or
        ``acs:fc:{region}:{account}:functions/{function}[/{qualifier}]``. *key* is the same when a hand-over is made
        again after a crash.

        Raises: FunctionRefused.
        """
        ...


class ResourceWatcher(Protocol):
    """Called for each new queue and topic, in the transaction that creates it."""

    def queue_made(self, tenant: Tenant, queue: str) -> None:
        """Act on the creation of a queue."""

    def topic_made(self, tenant: Tenant, topic: str) -> None:
        """Act on the creation of a topic."""


DIALECT = Dialect(MnsError, "QpsLimitExceeded")


def subject(
    operation: str, queue: str = "", topic: str = "", subscription: str = "", origin: Origin = "client"
) -> Subject:
    """Return an operation on a queue, topic or subscription under the names by which faults select it."""
    names: tuple[str, ...] = ()
    if queue:
        names = (queue, f"queues/{queue}")
    elif topic and subscription:
        own = f"{topic}/{subscription}"
        names = (own, f"topics/{topic}/subscriptions/{subscription}", topic, f"topics/{topic}", subscription)
    elif topic:
        names = (topic, f"topics/{topic}")
    return Subject("mns", operation, names, (origin,))


def push(topic: str, subscription: str, endpoint: str) -> Subject:
    """Return the push of a message to an HTTP endpoint under the names by which faults select it."""
    named = subject("Push", topic=topic, subscription=subscription)
    return named._replace(names=(*named.names, endpoint), origins=("push",))
