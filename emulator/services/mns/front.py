"""The message service as the gateway sees it: versions, URLs, errors, and the table of operations."""

from typing import NamedTuple
from urllib.parse import unquote

from emulator.http.message import Response
from emulator.kernel.errors import AuthFailure, ServiceError
from emulator.kernel.identity import Demand, Tenant
from emulator.kernel.ids import Ids
from emulator.services.mns.codec import VERSION, Call, Handler, Query, check_digest, read_query, render_error
from emulator.services.mns.errors import (
    AccessDenied,
    ActionNotSupported,
    InvalidArgument,
    InvalidRequestURL,
    InvalidVersionHeader,
    MissingVersionHeader,
    MnsError,
    mns_auth_error,
)
from emulator.services.mns.queues.operations import MessageApi, QueueApi
from emulator.services.mns.service import MessageService
from emulator.services.mns.topic_service import TopicService
from emulator.services.mns.topics.operations import TopicApi
from emulator.wire.request import Answer, OperationRequest


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


_FIXED_rights = {"ListQueue": "/queues", "ListTopic": "/topics", "OpenService": "/commonbuy/openservice"}
_QUEUES = frozenset({"CreateQueue", "SetQueueAttributes", "GetQueueAttributes", "DeleteQueue"})
_QUEUE_MESSAGES = frozenset(
    {"SendMessage", "ReceiveMessage", "PeekMessage", "DeleteMessage", "ChangeMessageVisibility"}
)
_TOPICS = frozenset({"CreateTopic", "SetTopicAttributes", "GetTopicAttributes", "DeleteTopic"})
_SUBSCRIPTIONS_rights = frozenset(
    {"Subscribe", "SetSubscriptionAttributes", "GetSubscriptionAttributes", "Unsubscribe"}
)


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
    if operation in _SUBSCRIPTIONS_rights:
        return f"/topics/{found.name}/subscriptions/{found.subscription}"
    if operation == "ListSubscriptionByTopic":
        return f"/topics/{found.name}/subscriptions"
    return _FIXED_rights.get(operation, "/*")


class MnsFront:
    """The XML API, version 2015-06-06; without *topics* only accounts, queues and messages are served."""

    name = "mns"
    max_body = 512 * 1024

    def __init__(self, service: MessageService, ids: Ids, topics: TopicService | None = None) -> None:
        self._ids = ids
        self._operations: dict[str, Handler] = {
            **QueueApi(service).operations,
            **MessageApi(service).operations,
            **(TopicApi(topics).operations if topics is not None else {}),
        }

    def new_request_id(self, context: OperationRequest) -> str:
        """Return 24 upper-case hexadecimal digits, the first eight the second of the request."""
        return f"{context.now // 1000:08X}{self._ids.hex(16).upper()}"

    def allows_anonymous(self, context: OperationRequest) -> bool:
        """Nothing here is open to callers without a key."""
        del context
        return False

    def auth_error(self, failure: AuthFailure, context: OperationRequest) -> ServiceError:
        """Turn a reason into this service's code; a wrong URL or version is complained about first."""
        try:
            _head(context)
        except MnsError as error:
            return error
        return mns_auth_error(failure)

    def too_large(self, limit: int) -> ServiceError:
        """Return the error for a body over *limit* bytes."""
        return InvalidArgument(name="Content-Length", low=0, high=limit, unit=" bytes")

    def demands(self, context: OperationRequest) -> list[Demand]:
        """Return the right that the request needs.

        Raises: MnsError.
        """
        found, query = _head(context)
        return [demand(context.tenant, found, peek=query.get("peekonly", "").lower() == "true")]

    def denied(self, demand: Demand, context: OperationRequest) -> ServiceError:
        """Return the error for a caller without the right."""
        context.operation = demand.action.partition(":")[2]
        return AccessDenied.to(demand)

    def handle(self, context: OperationRequest) -> Answer:
        """Run the operation the request names; a long poll is answered with a future.

        Raises: MissingVersionHeader, InvalidVersionHeader, InvalidRequestURL, InvalidDegist, ActionNotSupported, and
        what the operation raises.
        """
        found, query = _head(context)
        context.operation = found.operation
        handler = self._operations.get(found.operation)
        if handler is None:
            raise ActionNotSupported(operation=found.operation)
        check_digest(context.http)
        return handler(Call(context, query, found.name, found.subscription))

    def render_error(self, error: ServiceError, context: OperationRequest) -> Response:
        """Write *error* as the service's XML."""
        return render_error(error, context.http, context.request_id)


def _head(context: OperationRequest) -> tuple[Route, Query]:
    """Read the URL and the version header.

    Raises: InvalidRequestURL, MissingVersionHeader, InvalidVersionHeader.
    """
    request = context.http
    query = read_query(request.query)
    found = route(request.method, request.path, query)
    version = request.headers.get("x-mns-version")
    if not version:
        raise MissingVersionHeader
    if version != VERSION:
        raise InvalidVersionHeader
    return found, query
