"""What is known about one request, filled stage by stage on its way through the gateway."""

from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from emulator.http.message import Request, Response
from emulator.kernel.clock import Millis
from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import AccountId, Principal, Region, Tenant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from emulator.kernel.errors import AuthFailure
    from emulator.kernel.identity import Demand


class OperationRequest:
    """One request and what the stages found out about it.

    ``now`` is read once, at the start. ``host`` is the normalised host name (lower case, no scheme, no port).
    ``front`` is the service that will answer; ``account`` and ``region`` come from the host or the parameters until
    authentication settles the account. ``operation`` is for the log, and so is ``about``: names of what the request
    was about, such as the message it has sent.
    """

    __slots__ = (
        "about", "front", "host", "host_account", "http", "now", "operation", "principal", "region", "request_id",
    )  # fmt: skip

    def __init__(self, request: Request, now: Millis) -> None:
        self.http = request
        self.now = now
        self.host = ""
        self.host_account: AccountId | None = None
        self.region = Region("")
        self.request_id = ""
        self.operation = "-"
        self.about: Mapping[str, object] | None = None
        self.front: Front | None = None
        self.principal: Principal | None = None

    @property
    def tenant(self) -> Tenant:
        """The account and region this request works in; only after authentication."""
        if self.principal is None:
            raise LookupError("the request has not been authenticated")
        return Tenant(self.principal.account, self.region)


Answer = Response | Awaitable[Response]


class Front(Protocol):
    """The side of a service that the gateway sees: one wire dialect."""

    name: str
    """For the log and the health page: ``fc``, ``mns``, ``fnf``, ``sts`` ..."""

    max_body: int
    """The largest request body in bytes; a larger one is refused by `too_large` before it is read."""

    def new_request_id(self, context: OperationRequest) -> str:
        """Return an id in this dialect's form (or the one the caller chose, where the dialect allows that)."""
        ...

    def handle(self, context: OperationRequest) -> Answer:
        """Run the operation the request names.

        Raises: ServiceError.
        """
        ...

    def allows_anonymous(self, context: OperationRequest) -> bool:
        """Tell whether the request may go on without a signature (an anonymous HTTP trigger)."""
        ...

    def auth_error(self, failure: "AuthFailure", context: OperationRequest) -> ServiceError:
        """Turn a reason into this service's own code and status."""
        ...

    def too_large(self, limit: int) -> ServiceError:
        """Return this service's error for a body over *limit* bytes."""
        ...

    def render_error(self, error: ServiceError, context: OperationRequest) -> Response:
        """Write *error* in this dialect; the only place that knows its form."""
        ...


@runtime_checkable
class GuardedFront(Front, Protocol):
    """A front that tells which rights its requests need; asked only where permissions are enforced."""

    def demands(self, context: OperationRequest) -> "Iterable[Demand]":
        """Return the rights that the request needs, none for one that `handle` refuses anyway.

        Raises: ServiceError, as `handle` would.
        """
        ...

    def denied(self, demand: "Demand", context: OperationRequest) -> ServiceError:
        """Return this service's error for a caller without the right."""
        ...


@runtime_checkable
class WebFront(Front, Protocol):
    """A front that serves some requests of web pages; to all others such requests do not get through."""

    def open_to_web(self, context: OperationRequest) -> bool:
        """Tell whether a web page of whatever origin may send this request, asked before authentication."""
        ...
