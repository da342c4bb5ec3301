"""One call of the XML API, as the handlers see it."""

from collections.abc import Callable

from emulator.http.message import Response
from emulator.kernel.identity import Tenant
from emulator.services.mns.wire import Query, base_url, common_headers
from emulator.wire.request import Answer, OperationRequest


class Call:
    """A routed request. ``name`` is the queue or topic, ``query`` has its items by lower-case name."""

    __slots__ = ("context", "name", "query", "request", "subscription", "tenant")

    def __init__(self, context: OperationRequest, query: Query, name: str, subscription: str) -> None:
        self.context = context
        self.request = context.http
        self.tenant: Tenant = context.tenant
        self.query = query
        self.name = name
        self.subscription = subscription

    @property
    def base(self) -> str:
        """``http://`` and the host the client named: the start of every URL in an answer."""
        return base_url(self.request)

    def header(self, name: str) -> str:
        """Return a request header by lower-case name, "" when it is not there."""
        return self.request.headers.get(name)

    def answer(self, status: int, body: bytes = b"", location: str = "") -> Response:
        """Return a response with the headers every answer has."""
        headers = common_headers(self.context.request_id)
        if location:
            headers.append(("Location", location))
        return Response(status, body, headers)


Handler = Callable[[Call], Answer]
