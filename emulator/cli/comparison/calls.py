"""Recorded requests as calls: finding their service and operation, and signing them for the emulator."""

from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from emulator.auth import acs3, fc, mns, roa, rpc
from emulator.auth.authenticator import scheme_of
from emulator.cli.comparison.recordings import Exchange
from emulator.gateway.entrance import choose
from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.services.fc.front import ROUTES as OF_FUNCTIONS
from emulator.services.mns.front import ROUTES as OF_MESSAGES
from emulator.wire.dates import http_date, iso_seconds
from emulator.wire.request import OperationRequest

SERVICES: Final = ("fc", "fnf", "mns", "mns-open", "ram", "sts")
"""Fronts whose recorded requests are compared."""

_RPC: Final = frozenset({"fnf", "mns-open", "ram", "sts"})

_OF_TRANSPORT: Final = frozenset(
    {
        "accept-encoding", "authorization", "connection", "content-length", "content-md5", "cookie", "date", "host",
        "keep-alive", "origin", "proxy-authorization", "referer", "te", "transfer-encoding", "x-acs-content-sha256",
        "x-acs-credentials-provider", "x-acs-date", "x-acs-security-token", "x-acs-signature-nonce",
        "x-fc-security-token", "security-token",
    }
)  # fmt: skip
"""Headers that belong to one transmission of a request, or to its sender."""

_SIGNED: Final = frozenset(
    {"AccessKeyId", "Signature", "SignatureMethod", "SignatureNonce", "SignatureType", "SignatureVersion",
     "SecurityToken", "Timestamp"}
)  # fmt: skip

Signs = Callable[[Request, str, str], str]


@frozen
class Call:
    """The service and operation of a recorded request; ``service`` is "" for one that is not compared."""

    service: str
    operation: str


@frozen
class Key:
    """The access key to sign with."""

    id: str
    secret: str


@frozen
class Outgoing:
    """A request to the emulator."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


def call_of(exchange: Exchange) -> Call:
    """Return service and operation of a recorded request, as the emulator's gateway would find them."""
    request = Request(exchange.method, exchange.target, Headers(exchange.request.headers), exchange.request.body)
    call = OperationRequest(request, Millis(0))
    call.host = exchange.host
    call.scheme = scheme_of(request)
    service = choose(call, loopback=False).front
    if service not in SERVICES:
        return Call(service="", operation="")
    return Call(service=service, operation=_operation(service, call) or f"{exchange.method} {request.path}")


def _operation(service: str, call: OperationRequest) -> str:
    request = call.http
    if service in _RPC:
        return call.action
    if service == "mns":
        match = OF_MESSAGES.find(
            request.method, request.path, {name: each.lower() for name, each in call.query.items()}
        )
    else:
        routes = OF_FUNCTIONS.get(request.path.split("/")[1])
        match = (
            routes.find(request.method, request.path.partition("/")[2].partition("/")[2], call.query)
            if routes
            else None
        )
    return match[0].name if match is not None else ""


def outgoing(exchange: Exchange, service: str, key: Key, host: str, *, now: Millis, nonce: str) -> Outgoing:
    """Return a recorded request, already with the emulator's values, signed with its keys in the same scheme."""
    headers = {name.lower(): value for name, value in exchange.request.headers if name.lower() not in _OF_TRANSPORT}
    headers["Host"] = host  # as the connection writes it; otherwise it adds another one
    body = exchange.request.body
    if service in _RPC and "x-acs-action" not in headers:
        return _rpc(exchange, headers, body, key, now=now, nonce=nonce)
    target = _without_signature(exchange.target)
    if "x-acs-action" in headers:
        import hashlib  # only this scheme needs it

        headers |= {"x-acs-date": iso_seconds(now), "x-acs-signature-nonce": nonce}
        headers["x-acs-content-sha256"] = hashlib.sha256(body).hexdigest()
        sign: Signs = acs3.authorization
    elif exchange.request.header("authorization").startswith("acs "):
        headers |= {"date": http_date(now), "x-acs-signature-nonce": nonce, "accept": headers.get("accept", "")}
        sign = roa.authorization
    else:
        headers["date"] = http_date(now)
        sign = mns.authorization if service == "mns" else fc.authorization
    request = Request(exchange.method, target, Headers(headers.items()), body)
    headers["authorization"] = sign(request, key.id, key.secret)
    return Outgoing(method=exchange.method, target=target, headers=headers, body=body)


def _rpc(exchange: Exchange, headers: dict[str, str], body: bytes, key: Key, *, now: Millis, nonce: str) -> Outgoing:
    pairs = parse_qsl(urlsplit(exchange.url).query, keep_blank_values=True)
    if "x-www-form-urlencoded" in headers.get("content-type", ""):
        pairs += parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
    given = {name: value for name, value in pairs if name not in _SIGNED}
    signed = rpc.signed_parameters(exchange.method, given, key_id=key.id, secret=key.secret, timestamp=now, nonce=nonce)
    text = urlencode(signed, quote_via=quote)
    if exchange.method == "GET":
        return Outgoing(method="GET", target=f"/?{text}", headers=headers, body=b"")
    headers["content-type"] = "application/x-www-form-urlencoded"
    return Outgoing(method=exchange.method, target="/", headers=headers, body=text.encode("ascii"))


def _without_signature(target: str) -> str:
    """Return a target without the parameters of a signature in its query."""
    path, _, query = target.partition("?")
    kept = [part for part in query.split("&") if part and part.partition("=")[0] not in _SIGNED]
    return f"{path}?{'&'.join(kept)}" if kept else path
