"""Which service a request is for: one table, first match wins.

The Authorization scheme is the strongest sign, then the API version, then the host name, then the path.
"""

from collections.abc import Mapping

from emulator.gateway.hosts import HostFacts, facts
from emulator.http.message import Request
from emulator.kernel.frozen import frozen
from emulator.wire.multipart import is_form

ADMIN_PREFIX = "/_localyun/"
HEALTH = ADMIN_PREFIX + "health"
DEPLOYMENTS = ADMIN_PREFIX + "deployments"
"""Signed, unlike the other pages: whoever may deploy to an emulator may see what was deployed."""

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
}
"""API version -> front; actions are unique to a version, so the version decides."""

UNKNOWN_RPC = "rpc"
"""The front that answers RPC calls of versions nobody serves, to hosts that belong to no RPC service."""

_RPC = frozenset(VERSIONS.values()) - {"fc"}

_SIGNED = frozenset({"AccessKeyId", "Signature"})
"""What makes an incomplete RPC call one all the same: it is told what is missing."""


@frozen(kw_only=False)
class Route:
    """The front's name ("" when nothing matched) and what the host name tells."""

    front: str
    host: HostFacts


def choose(request: Request, host: str, *, loopback: bool, owner: str = "") -> Route:
    """Return the route of *request* for the normalised *host*; *owner* is the front the name belongs to, if any.

    Source: wire forms captured from the official SDKs.
    """
    told = facts(host)
    if request.path.startswith(ADMIN_PREFIX) and loopback:
        return Route("deployments" if request.path.startswith(DEPLOYMENTS) else "admin", told)
    if owner or request.path.startswith(TRIGGER_PREFIXES):
        return Route(owner or "fc", told)
    front = (
        _by_signature(request)
        or _by_action(request)
        or told.service
        or _by_signed_parameters(request)
        or _by_path(request)
    )
    if front == UNKNOWN_RPC and told.service in _RPC:
        front = told.service  # each refuses versions that are not its own in its own words
    return Route(front, told)


def _by_signature(request: Request) -> str:
    scheme = request.headers.get("authorization").partition(" ")[0]
    query = request.query or ""
    if scheme in {"MNS", "MNS4-HMAC-SHA256", "APSARA-MNS4-HMAC-SHA256"}:
        return "mns"
    if scheme == "FC" or "x-fc-signature=" in query:
        return "fc"
    if scheme in {"OSS", "OSS2", "OSS4-HMAC-SHA256"}:
        return "oss"
    if any(mark in query for mark in ("OSSAccessKeyId=", "x-oss-credential=", "x-oss-signature-version=")):
        return "oss"
    if scheme.startswith("ACS3-") or scheme.lower() == "acs":
        return _by_version(request.headers.get("x-acs-version"), request)
    return ""


def _by_action(request: Request) -> str:
    for pairs in (request.query_pairs, request.form_pairs):
        given = dict(pairs)
        if "Action" in given and "Version" in given:
            return _by_version(given["Version"], request)
    if "x-acs-action" in request.headers:
        return _by_version(request.headers.get("x-acs-version"), request)
    return ""


def _by_signed_parameters(request: Request) -> str:
    for pairs in (request.query_pairs, request.form_pairs) if request.path == "/" else ():
        given = dict(pairs)
        if given.keys() >= _SIGNED:
            return _by_version(given.get("Version", ""), request)
    return ""


def _by_version(version: str, request: Request) -> str:
    """Return the version's front; an unknown version on path ``/`` is for the RPC gateway to refuse."""
    return VERSIONS.get(version) or (UNKNOWN_RPC if request.path == "/" else "")


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
