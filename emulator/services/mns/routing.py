"""Which operation a method, a path and a query name."""

from typing import NamedTuple
from urllib.parse import unquote

from emulator.services.mns.errors import InvalidRequestURL
from emulator.services.mns.wire import Query


class Route(NamedTuple):
    """An operation of the API reference, the queue or topic it is about, and the subscription."""

    operation: str
    name: str = ""
    subscription: str = ""


_FIXED = {
    ("GET", ("queues",)): "ListQueue",
    ("GET", ("topics",)): "ListTopic",
    ("POST", ("commonbuy", "openservice")): "OpenService",
}
_NAMED = {
    ("PUT", "queues"): "CreateQueue",
    ("GET", "queues"): "GetQueueAttributes",
    ("DELETE", "queues"): "DeleteQueue",
    ("PUT", "topics"): "CreateTopic",
    ("GET", "topics"): "GetTopicAttributes",
    ("DELETE", "topics"): "DeleteTopic",
}
_INSIDE = {
    ("POST", "queues", "messages"): "SendMessage",
    ("GET", "queues", "messages"): "ReceiveMessage",
    ("DELETE", "queues", "messages"): "DeleteMessage",
    ("PUT", "queues", "messages"): "ChangeMessageVisibility",
    ("POST", "topics", "messages"): "PublishMessage",
    ("GET", "topics", "subscriptions"): "ListSubscriptionByTopic",
}
_SUBSCRIPTIONS = {"PUT": "Subscribe", "GET": "GetSubscriptionAttributes", "DELETE": "Unsubscribe"}
_OVERRIDING = {
    "CreateQueue": "SetQueueAttributes",
    "CreateTopic": "SetTopicAttributes",
    "Subscribe": "SetSubscriptionAttributes",
}


def route(method: str, path: str, query: Query) -> Route:
    """Find the operation. *path* is undecoded; one slash at its end does not matter.

    Raises: InvalidRequestURL. Source: path table of the API reference; methods that no operation has are assumed to
    be refused the same way.
    """
    parts = tuple(path.removesuffix("/").split("/")[1:]) if path != "/" else ()
    found: Route | None = None
    if len(parts) == 3:
        operation = _INSIDE.get((method, parts[0], parts[2]))
        found = Route(operation, _name(parts[1])) if operation else None
    elif len(parts) == 2 and parts[0] in {"queues", "topics"}:
        operation = _NAMED.get((method, parts[0]))
        found = Route(operation, _name(parts[1])) if operation else None
    elif len(parts) == 4 and parts[0] == "topics" and parts[2] == "subscriptions":
        operation = _SUBSCRIPTIONS.get(method)
        found = Route(operation, _name(parts[1]), _name(parts[3])) if operation else None
    elif not parts:
        found = _account(method, query)
    else:
        operation = _FIXED.get((method, parts))
        found = Route(operation) if operation else None
    if found is None or "" in parts:
        raise InvalidRequestURL
    if found.operation in _OVERRIDING and query.get("metaoverride", "").lower() == "true":
        return found._replace(operation=_OVERRIDING[found.operation])
    return found


def _account(method: str, query: Query) -> Route | None:
    if query.get("accountmeta", "").lower() == "true":
        operation = {"GET": "GetAccountAttributes", "PUT": "SetAccountAttributes"}.get(method)
        return Route(operation) if operation else None
    return Route("GetAccount") if method == "GET" and "account" in query else None


def _name(part: str) -> str:
    """Decode a segment.

    Raises: InvalidRequestURL when its bytes are no UTF-8, which nothing is called by or looked up by.
    """
    name = unquote(part, errors="surrogateescape") if "%" in part else part
    if not name.isascii():
        try:
            name.encode()
        except UnicodeEncodeError:
            raise InvalidRequestURL from None
    return name
