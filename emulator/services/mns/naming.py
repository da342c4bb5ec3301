"""How faults know calls of this service: operation, names of the queue or topic, who makes them."""

from emulator.kernel.interfering import Dialect, Origin, Subject
from emulator.services.mns.errors import MnsError

DIALECT = Dialect(MnsError, "QpsLimitExceeded")


def subject(
    operation: str, queue: str = "", topic: str = "", subscription: str = "", origin: Origin = "client"
) -> Subject:
    """Return an operation on a queue, topic or subscription as faults know it."""
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
    """Return the push of a message to an HTTP endpoint."""
    named = subject("Push", topic=topic, subscription=subscription)
    return named._replace(names=(*named.names, endpoint), origins=("push",))
