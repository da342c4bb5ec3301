"""The message service as the gateway sees it: versions, URLs, errors, and the table of operations."""

from emulator.http.message import Response
from emulator.kernel.errors import AuthFailure, ServiceError
from emulator.kernel.identity import Demand
from emulator.kernel.ids import Ids
from emulator.services.mns.call import Call, Handler
from emulator.services.mns.errors import (
    AccessDenied,
    ActionNotSupported,
    InvalidArgument,
    InvalidVersionHeader,
    MissingVersionHeader,
    MnsError,
    mns_auth_error,
)
from emulator.services.mns.message_api import MessageApi
from emulator.services.mns.queue_api import QueueApi
from emulator.services.mns.rights import demand
from emulator.services.mns.routing import Route, route
from emulator.services.mns.service import MessageService
from emulator.services.mns.topic_api import TopicApi
from emulator.services.mns.topic_service import TopicService
from emulator.services.mns.wire import VERSION, Query, check_digest, read_query, render_error
from emulator.wire.request import Answer, OperationRequest


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
