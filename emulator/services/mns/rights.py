"""Which right each request for the message service needs: an action and the path of what it is about.

Batches need the right of the single operation. Source: MNS, "Permission policies and examples"; the resource of the
operations on the account, and of those that only the management API has, is assumed.
"""

from emulator.kernel.identity import Demand, Tenant
from emulator.services.mns.routing import Route

_FIXED = {"ListQueue": "/queues", "ListTopic": "/topics", "OpenService": "/commonbuy/openservice"}
_QUEUES = frozenset({"CreateQueue", "SetQueueAttributes", "GetQueueAttributes", "DeleteQueue"})
_QUEUE_MESSAGES = frozenset(
    {"SendMessage", "ReceiveMessage", "PeekMessage", "DeleteMessage", "ChangeMessageVisibility"}
)
_TOPICS = frozenset({"CreateTopic", "SetTopicAttributes", "GetTopicAttributes", "DeleteTopic"})
_SUBSCRIPTIONS = frozenset({"Subscribe", "SetSubscriptionAttributes", "GetSubscriptionAttributes", "Unsubscribe"})


def demand(tenant: Tenant, found: Route, *, peek: bool = False) -> Demand:
    """Return what the operation *found* needs; with *peek* a receiving only looks."""
    operation = "PeekMessage" if peek and found.operation == "ReceiveMessage" else found.operation
    return Demand(f"mns:{operation}", f"acs:mns:{tenant.region}:{tenant.account}:{_path(found)}")


def _path(found: Route) -> str:
    operation = found.operation
    if operation in _QUEUES:
        return f"/queues/{found.name}"
    if operation in _QUEUE_MESSAGES:
        return f"/queues/{found.name}/messages"
    if operation in _TOPICS:
        return f"/topics/{found.name}"
    if operation == "PublishMessage":
        return f"/topics/{found.name}/messages"
    if operation in _SUBSCRIPTIONS:
        return f"/topics/{found.name}/subscriptions/{found.subscription}"
    if operation == "ListSubscriptionByTopic":
        return f"/topics/{found.name}/subscriptions"
    return _FIXED.get(operation, "/*")
