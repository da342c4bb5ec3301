"""Which service a request is for: one table, first match wins.

The signature scheme is the strongest sign, then the API version, then the host name, then the path.
"""

from collections.abc import Mapping

from emulator.gateway.hosts import HostFacts, facts
from emulator.http.message import Request
from emulator.kernel.frozen import frozen
from emulator.wire.multipart import is_form
from emulator.wire.request import OperationRequest

ADMIN_PREFIX = "/_localyun/"
HEALTH = ADMIN_PREFIX + "health"
SINK_PREFIX = ADMIN_PREFIX + "sink/"
"""What is sent below this needs no token: requests for the lab's sinks."""

CONSOLE = "console"

_OWN: Mapping[str, str] = {"deployments": "deployments", "console": CONSOLE, "sink": "sink", "": CONSOLE}
"""First segment below `ADMIN_PREFIX` -> front; all others are the admin API. Deployments are signed: whoever may deploy
to an emulator may see what was deployed."""

TRIGGER_PREFIXES = ("/2016-08-15/proxy/", "/2021-04-06/proxy/", "/2023-03-30/proxy/")
"""Below these everything belongs to a user's function, also a query that looks like a call of some service."""

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
"""What makes an incomplete RPC call one all the same: the answer names what is missing."""


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
        front = named.service  # each refuses versions that are not its own in its own words
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
