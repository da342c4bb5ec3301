"""One call of an operation: the request as received, decoded once, and what the gateway has found out about it."""

from collections.abc import Awaitable, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

from emulator.http.message import Request, Response
from emulator.kernel.clock import Millis
from emulator.kernel.errors import AuthFailure, ServiceError
from emulator.kernel.identity import AccountId, Demand, Principal, Region, Tenant
from emulator.kernel.instrumentation import Dialect, Subject

SYSTEM_PARAMETERS = frozenset(
    {
        "Action", "Version", "AccessKeyId", "Signature", "SignatureMethod", "SignatureVersion", "SignatureNonce",
        "SignatureType", "Timestamp", "Format", "SecurityToken", "BearerToken", "RegionId",
    }
)  # fmt: skip
"""Parameters of every RPC call, for the gateway alone."""


class OperationRequest:
    """One call, from its arrival to its answer.

    ``http`` is the request as received, ``now`` when it came, read once. ``host`` is the normalised host name (lower
    case, no scheme, no port); ``host_account`` and ``region`` are what the gateway reads from it, the region with a
    default. ``scheme`` is the signature scheme the gateway has recognised, or None. ``principal`` is set by
    authentication, ``path`` (decoded path parameters) and ``operation`` (a name for log, metrics and faults) by the
    front, as are the checked ``arguments`` of an admin operation. ``document`` is what `PreparingFront.prepare` has
    decoded of a large body. ``about`` is for the log: what the call was about, such as the message it has sent.
    ``parked`` is set while a long poll waits: it is no work in progress. ``writes_later`` is set to False by operations
    that write nothing after they have waited. ``finding`` and ``declared`` belong to the front: what it has parsed from
    the call, and the declared operation, so that neither is looked up twice.
    """

    __slots__ = (
        "_action", "_all_parameters", "_parameters", "_query", "_version", "about", "arguments", "declared", "document",
        "finding", "host", "host_account", "http", "now", "operation", "parked", "path", "principal", "region",
        "request_id", "scheme", "writes_later",
    )  # fmt: skip

    def __init__(self, http: Request, now: Millis) -> None:
        self.http = http
        self.now = now
        self.host = ""
        self.host_account: AccountId | None = None
        self.region = Region("")
        self.scheme: Any = None
        self.request_id = ""
        self.operation = "-"
        self.parked = False
        self.writes_later = True
        self.path: Mapping[str, str] = {}
        self.arguments: Mapping[str, Any] = {}
        self.document: Any = None
        self.about: Mapping[str, object] | None = None
        self.finding: Any = None
        self.declared: Any = None
        self.principal: Principal | None = None
        self._query: dict[str, str] | None = None
        self._all_parameters: dict[str, str] | None = None
        self._parameters: dict[str, str] | None = None
        self._action: str | None = None
        self._version: str | None = None

    def body_arrived(self, now: Millis) -> None:
        """Set the time and drop the parsed parameters: the body, which has arrived, may be a form with more of them."""
        self.now = now
        self._all_parameters = self._parameters = self._action = self._version = None

    def writes_on(self) -> bool:
        """Whether the call may write after a wait; a GET or HEAD writes only before it waits."""
        return self.writes_later and not self.parked and self.http.method not in {"GET", "HEAD"}

    @property
    def tenant(self) -> Tenant:
        """The account and region this call works in; only after authentication."""
        if self.principal is None:
            raise LookupError("the request has not been authenticated")
        return Tenant(self.principal.account, self.region)

    @property
    def query(self) -> dict[str, str]:
        """Decoded query items by name; of a repeated name the last."""
        if self._query is None:
            self._query = dict(self.http.query_pairs)
        return self._query

    @query.setter
    def query(self, items: dict[str, str]) -> None:
        """Set what a dialect reads from the query otherwise, such as the first of a repeated name."""
        self._query = items

    @property
    def all_parameters(self) -> dict[str, str]:
        """Decoded items of query and form body by name; the form wins, of a repeated name the last."""
        if self._all_parameters is None:
            form = self.http.form_pairs
            self._all_parameters = {**self.query, **dict(form)} if form else self.query
        return self._all_parameters

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of an RPC operation: all but those of the gateway."""
        if self._parameters is None:
            self._parameters = {
                name: value for name, value in self.all_parameters.items() if name not in SYSTEM_PARAMETERS
            }
        return self._parameters

    @property
    def action(self) -> str:
        """The operation an RPC call names: parameter ``Action``, else header ``x-acs-action``, else ``""``."""
        if self._action is None:
            self._action = self.all_parameters.get("Action") or self.http.headers.get("x-acs-action")
        return self._action

    @property
    def version(self) -> str:
        """The API version an RPC call names: parameter ``Version``, else header ``x-acs-version``, else ``""``."""
        if self._version is None:
            self._version = self.all_parameters.get("Version") or self.http.headers.get("x-acs-version")
        return self._version

    def header(self, name: str) -> str:
        """Return a request header by lower-case name, ``""`` when it is absent."""
        return self.http.headers.get(name)


Answer = Response | Awaitable[Response]


class Front(Protocol):
    """The side of a service that the gateway sees: one wire dialect."""

    name: str
    """For the log and the health page: ``fc``, ``mns``, ``fnf``, ``sts`` ..."""

    max_body: int
    """The largest request body in bytes; a larger one is refused by `too_large` before it is read."""

    def new_request_id(self, call: OperationRequest) -> str:
        """Return an id in this dialect's form (or the one the caller chose, where the dialect allows that)."""
        ...

    def handle(self, call: OperationRequest) -> Answer:
        """Run the operation the request names.

        Raises: ServiceError.
        """
        ...

    def allows_anonymous(self, call: OperationRequest) -> bool:
        """Whether the request may go on without a signature (an anonymous HTTP trigger)."""
        ...

    def auth_error(self, failure: AuthFailure, call: OperationRequest) -> ServiceError:
        """Turn a reason into this service's own code and status."""
        ...

    def too_large(self, limit: int) -> ServiceError:
        """Return this service's error for a body over *limit* bytes."""
        ...

    def render_error(self, error: ServiceError, call: OperationRequest) -> Response:
        """Write *error* in this dialect; the only place that knows its form."""
        ...


@runtime_checkable
class GuardedFront(Front, Protocol):
    """A front that knows which rights its requests need; asked only where permissions are enforced."""

    def demands(self, call: OperationRequest) -> Iterable[Demand]:
        """Return the rights that the request needs, none for one that `handle` refuses anyway.

        Raises: ServiceError, as `handle` would.
        """
        ...

    def denied(self, demand: Demand, call: OperationRequest) -> ServiceError:
        """Return this service's error for a caller without the right."""
        ...


@runtime_checkable
class NamingFront(Front, Protocol):
    """A front that names a call before it performs it; asked only while calls are interfered with."""

    dialect: Dialect
    """The service's errors."""

    def subject(self, call: OperationRequest) -> Subject:
        """Return operation and resource of the call.

        Raises: ServiceError, as `handle` would.
        """
        ...


@runtime_checkable
class WebFront(Front, Protocol):
    """A front that serves some requests of web pages; other requests of web pages are refused."""

    def open_to_web(self, call: OperationRequest) -> bool:
        """Whether a web page of whatever origin may send this request; asked before authentication."""
        ...


@runtime_checkable
class PreparingFront(Front, Protocol):
    """A front that decodes large bodies before it handles a call."""

    def prepare(self, call: OperationRequest) -> None:
        """Decode the body into ``call.document``; runs in a thread, and only for a large body of a known caller.

        Raises: ServiceError.
        """
        ...


@runtime_checkable
class EarlyFront(Front, Protocol):
    """A front that serves some requests before their bodies have come whole."""

    def may_be_early(self, call: OperationRequest) -> bool:
        """Whether *call* may be one of those, as far as is known before authentication."""
        ...

    def early(self, call: OperationRequest) -> int:
        """Return the most bytes of body with which *call*, whose caller is known, is served early; 0: not early."""
        ...
