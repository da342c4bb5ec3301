"""Routing and authentication: which front a request is for, and who sends it, by its head alone or with its body.

The front is chosen by one table, first match wins: the signature scheme is the strongest sign, then the API version,
then the host name, then the path.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager

from emulator.auth.authenticator import Authenticator, scheme_of
from emulator.gateway.browsers import TRACES, browser_trace, is_console_host
from emulator.gateway.errors import GatewayError, Refusals
from emulator.gateway.hosts import HostFacts, HostPolicy, facts, host_of, is_loopback
from emulator.http.message import Request
from emulator.kernel.clock import Clock
from emulator.kernel.errors import AuthFailure, ServiceError
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import AccountId, Principal, Region
from emulator.kernel.tracing import begin
from emulator.wire.multipart import is_form
from emulator.wire.request import Front, OperationRequest, WebFront

ADMIN_PREFIX = "/_localyun/"
HEALTH = ADMIN_PREFIX + "health"
SINK_PREFIX = ADMIN_PREFIX + "sink/"
"""The path of the lab's sinks; requests below it need no token."""

CONSOLE = "console"

_OWN: Mapping[str, str] = {"deployments": "deployments", "console": CONSOLE, "sink": "sink", "": CONSOLE}
"""First segment below `ADMIN_PREFIX` -> front; all others are the admin API. Deployments are signed: whoever may deploy
to an emulator may see what was deployed."""

TRIGGER_PREFIXES = ("/2016-08-15/proxy/", "/2021-04-06/proxy/", "/2023-03-30/proxy/")
"""Paths of users' functions; below them a query that looks like a call of a service means nothing."""

VERSIONS: Mapping[str, str] = {
    "2019-03-15": "fnf",
    "2015-04-01": "sts",
    "2022-01-19": "mns-open",
    "2023-03-30": "fc",
    "2021-04-06": "fc",
    "2016-08-15": "fc",
    "2019-09-10": "ros",
    "2015-09-01": "ros",
    "2015-05-01": "ram",
    "2015-06-12": "location",
    "2016-04-28": "vpc",
    "2014-05-26": "ecs",
    "2020-03-31": "resourcemanager",
    "2017-12-14": "opening",
    "2019-04-22": "opening",
    "2020-03-10": "opening",
}
"""API version -> front; actions are unique to a version, so the version decides."""

UNKNOWN_RPC = "rpc"
"""The front that answers RPC calls of versions that no service has, to hosts that belong to no RPC service."""

_RPC = frozenset(VERSIONS.values()) - {"fc"}

_SIGNED = frozenset({"AccessKeyId", "Signature"})
"""Marks of an incomplete RPC call, which is routed to the RPC gateway so that the answer names what is missing."""


@frozen(kw_only=False)
class Route:
    """The front's name ("" when nothing matched) and what the host name says."""

    front: str
    host: HostFacts


def choose(call: OperationRequest, *, loopback: bool, console: bool = True, owner: str = "") -> Route:
    """Return the route of *call*, whose host and scheme are known.

    *loopback* names have the emulator's own pages, with *console* the console too; *owner* is the front that the name
    belongs to, if any.

    Source: wire forms captured from the official SDKs.
    """
    named = facts(call.host)
    path = call.http.path
    if path.startswith(ADMIN_PREFIX) and loopback:
        own = _OWN.get(path.split("/", 3)[2], "admin")
        return Route(own if console or own != CONSOLE else "", named)
    if path == "/" and loopback and console and _is_from_address_bar(call.http):
        return Route(CONSOLE, named)
    if owner or path.startswith(TRIGGER_PREFIXES):
        return Route(owner or "fc", named)
    front = (
        _by_scheme(call)
        or _by_action(call)
        or named.service
        or (_by_version(call.version, call) if path == "/" and call.all_parameters.keys() >= _SIGNED else "")
        or _by_path(call.http)
    )
    if front == UNKNOWN_RPC and named.service in _RPC:
        front = named.service  # each service refuses unknown versions in its own words
    return Route(front, named)


def _is_from_address_bar(http: Request) -> bool:
    headers = http.headers
    is_plain = http.method == "GET" and http.query is None and "authorization" not in headers
    return is_plain and "text/html" in headers.get("accept")


def _by_scheme(call: OperationRequest) -> str:
    if call.scheme is None:
        return ""
    front: str = call.scheme.front
    if front or not call.scheme.in_header:
        return front
    return _by_version(call.http.headers.get("x-acs-version"), call)


def _by_action(call: OperationRequest) -> str:
    named = call.all_parameters
    if ("Action" in named and "Version" in named) or "x-acs-action" in call.http.headers:
        return _by_version(call.version, call)
    return ""


def _by_version(version: str, call: OperationRequest) -> str:
    """Return the version's front; an unknown version on path ``/`` is for the RPC gateway to refuse."""
    return VERSIONS.get(version) or (UNKNOWN_RPC if call.http.path == "/" else "")


def _by_path(request: Request) -> str:
    path = request.path
    version, _, _ = path[1:].partition("/")
    if VERSIONS.get(version) == "fc":
        return "fc"
    if path == "/queues" or path == "/topics" or path.startswith(("/queues/", "/topics/")):
        return "mns"
    if path == "/" and "accountmeta=" in (request.query or ""):
        return "mns"
    if request.method == "POST" and is_form(request.headers.get("content-type")):
        return "oss"
    return ""


LARGE_BODY = 256 * 1024
"""A larger body is digested and decoded in a thread; smaller ones take a few milliseconds."""

Edits = Callable[[Request], Awaitable[None] | None]
"""(request) -> what to await before the request is served, because edited files are being loaded; usually None."""


def _no_edits(_: Request) -> None:
    """Return None: before the services are loaded there are no files."""


def name_request(front: Front, call: OperationRequest) -> None:
    """Give the call its request id, in the form of its dialect."""
    if not call.request_id:
        call.request_id = front.new_request_id(call)
    begin(call.request_id)


class Entrance:
    """Routes and authenticates requests; refuses those for foreign hosts, from web pages and with wrong signatures.

    The admin front is in *fronts* from the beginning; the others, and the keys of *authenticator*, are added before
    *loaded* is done. Requests that come earlier wait for that, except those for the emulator's health.
    """

    def __init__(
        self,
        *,
        fronts: Mapping[str, Front],
        loaded: "asyncio.Future[None]",
        authenticator: Authenticator,
        policy: HostPolicy,
        clock: Clock,
        account: AccountId,
        region: Region,
    ) -> None:
        self.fronts = fronts
        self.loaded = loaded
        self.authenticator = authenticator
        self.refusals = Refusals(authenticator)
        self.edits: Edits = _no_edits
        """Called with every request before it is served, for edited files that are being loaded."""
        self._closers = 0
        self._policy = policy
        self._clock = clock
        self._account = account
        self._region = region

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Make new requests wait while any such context lasts, as they do before the services are loaded."""
        if not self._closers:
            self.loaded = asyncio.get_running_loop().create_future()
        self._closers += 1
        try:
            yield
        finally:
            self._closers -= 1
            if not self._closers:
                self.loaded.set_result(None)

    async def once_loaded(self) -> None:
        """Wait until requests are let in."""
        while not self.loaded.done():  # closed() may have made a new future meanwhile
            await asyncio.shield(self.loaded)

    def guard(self, call: OperationRequest) -> None:
        """Refuse requests for foreign hosts and, where the front does not allow them, from web pages."""
        call.host = host_of(call.http)
        if not self._policy.allows(call.host):
            raise GatewayError("ForbiddenHost", host=call.host)
        if call.http.headers.has_any(TRACES):  # few requests of SDKs have one
            trace = browser_trace(call.http)
            if trace is not None and not self._open_to_web(call):
                raise GatewayError("ForbiddenOrigin", header=trace)

    def choose(self, call: OperationRequest) -> Front:
        """Return the front of a call, and set the call's scheme, region and account of the host name.

        The region is the one in the host name. A loopback address has none: then it is this installation's region,
        whatever region the client was configured with, so that clients of different services meet in one tenant.
        """
        host = call.host
        call.scheme = scheme_of(call.http)
        owner = self._policy.front_of(host)
        route = choose(call, loopback=is_loopback(host) and not owner, console=is_console_host(host), owner=owner)
        front = self.fronts.get(route.front)
        if front is None:
            is_own = call.http.path.startswith(ADMIN_PREFIX) and not is_loopback(host)
            raise GatewayError(
                "OwnPages" if is_own else "NoSuchService", method=call.http.method, path=call.http.path, host=host
            )
        call.region = Region(route.host.region) if route.host.region else self._region
        call.host_account = AccountId(route.host.account) if route.host.account else None
        return front

    def authenticate(
        self, front: Front, call: OperationRequest, *, head_only: bool = False, counted: bool = True
    ) -> None:
        """Authenticate the caller; unsigned requests pass only where the front allows it.

        With *head_only* the body has not come yet. A refusal is *counted* unless there will be another.
        """
        try:
            if call.principal is not None:  # authenticated by its head; large bodies are checked in a thread
                self.authenticator.check_known(call.http, call.scheme, call.principal)
                if call.http.body_size <= LARGE_BODY:
                    self.authenticator.check_body(call.http, call.scheme)
            elif front.allows_anonymous(call):
                account = call.host_account or self._account
                call.principal = Principal(account, "", f"acs:ram::{account}:anonymous")
            else:
                call.principal = self.authenticator.authenticate(
                    call.http,
                    call.now,
                    host_account=call.host_account,
                    scheme=call.scheme,
                    system=self._clock.system(),
                    head_only=head_only,
                )
        except AuthFailure as failure:
            if counted:
                self.refusals.add(call, failure)
            call.about = {"refused": failure.reason.name}
            error = front.auth_error(failure, call)
            raise (error.advise(failure.advice) if failure.advice else error) from failure

    def _open_to_web(self, call: OperationRequest) -> bool:
        """Whether a web page may send this request; before the services are loaded every request may.

        Such a request is judged again once they are.
        """
        if not self.loaded.done():
            return call.http.path != HEALTH
        try:
            front = self.choose(call)
        except ServiceError:
            return False
        return isinstance(front, WebFront) and front.open_to_web(call)
