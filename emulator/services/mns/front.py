"""The fronts of the message service: URLs and versions, rights, errors, and the routing to operations.

Two fronts over the same resources: the XML API, version 2015-06-06, and the management API, version 2022-01-19.
"""

from emulator.http.message import Response
from emulator.kernel.errors import AuthFailure, ServiceError
from emulator.kernel.identity import Demand, Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.instrumentation import Subject
from emulator.services.mns import errors
from emulator.services.mns.codec import VERSION, check_digest, read_query, render_error
from emulator.services.mns.errors import MnsError
from emulator.services.mns.operations import management, queues, settings, topics
from emulator.services.mns.ports import DIALECT, subject
from emulator.services.mns.service import MessageService
from emulator.wire.operation import Actions, Operation, Routes, operations_of
from emulator.wire.request import Answer, OperationRequest
from emulator.wire.rpc import RpcFront

OPERATIONS = operations_of(queues, topics)
ROUTES = Routes(OPERATIONS)
_TOPIC_OPERATIONS = frozenset(each.name for each in operations_of(topics))


_PATHS = {each.name: each.path for each in OPERATIONS if each.path != "/"}
_PATHS["PeekMessage"] = _PATHS["ReceiveMessage"]
"""The path of the resource that an operation needs a right to; operations on the account need ``/*``."""


def demand(tenant: Tenant, operation: str, name: str, subscription: str = "") -> Demand:
    """Return the right that an operation on the queue or topic *name* needs; batches need that of the single one.

    Source: MNS, "Permission policies and examples"; the resource of the operations on the account, and of those that
    only the management API has, is assumed.
    """
    path = _PATHS.get(operation, "/*").format(queue=name, topic=name, subscription=subscription)
    return Demand(f"mns:{operation}", f"acs:mns:{tenant.region}:{tenant.account}:{path}")


def find_operation(call: OperationRequest) -> Operation:
    """Return the operation that method, path and query name; give *call* its path parameters and query items.

    The query items get lower-case names. One slash at the end of the path is ignored.

    Raises: InvalidRequestURL. Source: path table of the API reference; methods that no operation has are assumed to be
    refused the same way.
    """
    request = call.http
    path = request.path
    if request.query:
        call.query = items = read_query(request.query)
        # of the items that choose an operation, the values are words in any case
        match = ROUTES.find(request.method, path, {name: value.lower() for name, value in items.items()})
    else:
        match = ROUTES.find(request.method, path, {})
    if match is None or "//" in path:
        raise MnsError("InvalidRequestURL")
    each, call.path = match
    if not path.isascii() or "%" in path:
        _check_names(call)
    return each


def _check_names(call: OperationRequest) -> None:
    """Check that names in the path are valid UTF-8, as no resource can have another name.

    Raises: InvalidRequestURL.
    """
    try:
        for name in call.path.values():
            name.encode()
    except UnicodeEncodeError:
        raise MnsError("InvalidRequestURL") from None


class MnsFront:
    """The XML API; without a signer of pushes only accounts, queues and messages are served."""

    name = "mns"
    max_body = 512 * 1024
    dialect = DIALECT

    def __init__(self, service: MessageService, ids: Ids) -> None:
        self._service = service
        self._ids = ids
        self._unserved: frozenset[str] = frozenset() if service.serves_topics else _TOPIC_OPERATIONS

    def new_request_id(self, call: OperationRequest) -> str:
        """Return 24 upper-case hexadecimal digits, the first eight the second of the request."""
        return f"{call.now // 1000:08X}{self._ids.hex(16).upper()}"

    def allows_anonymous(self, call: OperationRequest) -> bool:
        """Return False: every caller needs a key."""
        return False

    def auth_error(self, failure: AuthFailure, call: OperationRequest) -> ServiceError:
        """Turn a reason into this service's code; a wrong URL or version is complained about first."""
        try:
            _find(call)
        except MnsError as error:
            return error
        return errors.auth_error(failure)

    def too_large(self, limit: int) -> ServiceError:
        """Return the error for a body over *limit* bytes."""
        return MnsError("InvalidArgument", name="Content-Length", low=0, high=limit, unit=" bytes")

    def demands(self, call: OperationRequest) -> list[Demand]:
        """Return the right that the request needs.

        Raises: MnsError.
        """
        name = _operation_of(_find(call), call)
        path = call.path
        return [demand(call.tenant, name, path.get("queue") or path.get("topic", ""), path.get("subscription", ""))]

    def denied(self, demand: Demand, call: OperationRequest) -> ServiceError:
        """Return the error for a caller without the right."""
        call.operation = demand.action.partition(":")[2]
        return errors.access_denied(demand)

    def subject(self, call: OperationRequest) -> Subject:
        """Return operation and queue, topic or subscription of the call.

        Raises: MnsError.
        """
        name = call.operation = _operation_of(_find(call), call)
        path = call.path
        return subject(name, path.get("queue", ""), path.get("topic", ""), path.get("subscription", ""))

    def handle(self, call: OperationRequest) -> Answer:
        """Run the operation the request names; a long poll is answered with a future.

        Raises: MissingVersionHeader, InvalidVersionHeader, InvalidRequestURL, InvalidDegist, ActionNotSupported, and
        what the operation raises.
        """
        each = _find(call)
        call.operation = each.name
        if each.name in self._unserved:
            raise MnsError("ActionNotSupported", operation=each.name)
        check_digest(call.http)
        answer: Answer = each.perform(self._service, call)
        return answer

    def render_error(self, error: ServiceError, call: OperationRequest) -> Response:
        """Write *error* as the service's XML."""
        return render_error(error, call)


def _find(call: OperationRequest) -> Operation:
    """Check URL and version header.

    Raises: InvalidRequestURL, MissingVersionHeader, InvalidVersionHeader.
    """
    if call.declared is None:
        each = find_operation(call)
        version = call.http.headers.get("x-mns-version")
        if version != VERSION:
            raise MnsError("InvalidVersionHeader" if version else "MissingVersionHeader")
        call.declared = each
    operation: Operation = call.declared
    return operation


def _operation_of(operation: Operation, call: OperationRequest) -> str:
    """Return the operation's name; looking at messages is a receive with a query item."""
    if operation.name == "ReceiveMessage" and call.query.get("peekonly", "").lower() == "true":
        return "PeekMessage"
    return operation.name


MANAGEMENT_VERSION = "2022-01-19"

ACTIONS = Actions(operations_of(management, settings))


class ManagementFront(RpcFront):
    """The management API, version 2022-01-19, spoken RPC."""

    def __init__(self, service: MessageService, ids: Ids) -> None:
        super().__init__("mns-open", MANAGEMENT_VERSION, ACTIONS, service, ids)

    def named(self, operation: str, call: OperationRequest) -> Subject:
        """Return the operation with the queue, topic or subscription that the parameters name."""
        parameters = call.parameters
        return subject(
            operation,
            parameters.get("QueueName", ""),
            parameters.get("TopicName", ""),
            parameters.get("SubscriptionName", ""),
        )

    def rights(self, operation: str, call: OperationRequest) -> list[Demand]:
        """Return the right that the XML API needs for the same operation."""
        parameters = call.parameters
        name = parameters.get("QueueName" if "Queue" in operation else "TopicName", "")
        return [demand(call.tenant, operation, name, parameters.get("SubscriptionName", ""))]

    def denied(self, demand: Demand, call: OperationRequest) -> ServiceError:
        """Return the XML API's error for a caller without the right."""
        return errors.access_denied(demand)
