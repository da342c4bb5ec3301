"""Why a signature was refused: what the client may have signed instead of what has arrived.

A signature does not reveal its text, but a guess can be checked: the request is changed the way clients and proxies
change requests, read again by its scheme, and signed with the key's secret. When that gives the request's signature,
the guess is the text that the client has signed. Done on demand, never while requests are served.
"""

import hmac
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, assert_never
from urllib.parse import quote, unquote

from emulator.auth.authenticator import Scheme
from emulator.auth.signed_request import AccessKey, SignedRequest, encode_path, octets
from emulator.http.message import Headers, Request
from emulator.kernel.errors import AuthFailure, Reason

Cause = Literal[
    "path", "query", "host", "header", "method", "body", "secret-blank", "secret", "clock", "key", "token", "nonce",
    "incomplete", "account", "repeated",
]  # fmt: skip
"""The difference in a word; each page or command that shows causes has a sentence for it."""

_OFTEN_CHANGED = {
    "content-type": (
        *("", "application/json", "application/x-www-form-urlencoded", "application/octet-stream", "text/xml"),
        *("text/xml;charset=UTF-8", "text/xml;charset=utf-8", "text/xml; charset=utf-8"),
        *("application/json;charset=utf-8", "application/json; charset=utf-8"),
    ),
    "accept": ("", "*/*", "application/json", "application/xml"),
    "content-md5": ("",),
    "date": ("",),
}
"""Headers that libraries and proxies add or rewrite, with what clients have signed in their place."""


class Diagnosis(NamedTuple):
    """``server`` is the text that the server signs, ``client`` the one the client has, "" when no guess is right.

    ``detail`` is the value at fault, such as the header's name.
    """

    cause: Cause
    detail: str = ""
    server: str = ""
    client: str = ""


def _stated(reason: Reason) -> Cause | None:
    """Return the cause that *reason* states by itself, None for a signature that differs: that is to be looked into."""
    match reason:
        case Reason.SKEWED_DATE | Reason.URL_EXPIRED | Reason.BAD_DATE:
            return "clock"
        case Reason.UNKNOWN_KEY | Reason.INACTIVE_KEY:
            return "key"
        case Reason.MISSING_TOKEN | Reason.BAD_TOKEN | Reason.TOKEN_OF_ANOTHER_KEY | Reason.TOKEN_EXPIRED:
            return "token"
        case Reason.NONCE_USED:
            return "nonce"
        case Reason.BODY_DIFFERS:
            return "body"
        case Reason.FOREIGN_ACCOUNT:
            return "account"
        case Reason.REPEATED_PARAMETER:
            return "repeated"
        case (
            Reason.MISSING_AUTHORIZATION
            | Reason.MALFORMED_AUTHORIZATION
            | Reason.MISSING_KEY_ID
            | Reason.MISSING_SIGNATURE
            | Reason.MISSING_DATE
            | Reason.MISSING_NONCE
            | Reason.UNSUPPORTED_METHOD
            | Reason.UNSIGNED_HEADER
        ):
            return "incomplete"
        case Reason.SIGNATURE_DIFFERS:
            return None
        case _:
            assert_never(reason)


def diagnose(request: Request, scheme: Scheme | None, failure: AuthFailure, key: AccessKey | None) -> Diagnosis:
    """Return why *request* was refused; *key* is the one it names, None when there is no such key."""
    stated = _stated(failure.reason)
    if stated is not None:
        return Diagnosis(stated, failure.detail)
    server = failure.canonical_request or failure.string_to_sign
    if scheme is None or key is None:
        return Diagnosis("secret", server=server)
    signed = _read(scheme, request)
    signature = octets("" if signed is None else signed.signature)
    for secret in (f"{key.secret}\n", f"{key.secret} ", f'"{key.secret}"', f"{key.secret}\r\n"):
        if _text_of(request, scheme, secret, signature) is not None:
            return Diagnosis("secret-blank", server=server)
    for cause, detail, changed in _changes(request):
        text = _text_of(changed, scheme, key.secret, signature)
        if text is not None:
            return Diagnosis(cause, detail, server, text)
    return Diagnosis("secret", server=server)


def _read(scheme: Scheme, request: Request) -> SignedRequest | None:
    try:
        return scheme.read(request)
    except AuthFailure:
        return None


def _text_of(request: Request, scheme: Scheme, secret: str, signature: bytes) -> str | None:
    """Return the text of *request* whose signature under *secret* is *signature*."""
    signed = _read(scheme, request)
    if signed is None:
        return None
    try:
        for string, canonical in signed.texts:
            if hmac.compare_digest(octets(signed.sign(secret, string)), signature):
                return canonical or string
    except AuthFailure:
        pass  # the changed request cannot be signed
    return None


def _changes(request: Request) -> Iterator[tuple[Cause, str, Request]]:
    """Yield the request as the client may have meant it, the likeliest first."""
    path, query = request.path, request.query
    for each in _other(path, _paths(path)):
        yield "path", each, _with(request, target=_target(each, query))
    if query is not None:
        yield "query", "", _with(request, target=path)
        for each in _other(query, (query.replace("+", "%20"), query.replace("%20", "+"), unquote(query))):
            yield "query", each, _with(request, target=_target(path, each))
    host = request.headers.get("host")
    for each in _other(host, (host.partition(":")[0], f"{host}:80", f"http://{host}", f"https://{host}", "")):
        yield "host", each, _with(request, host=each)
    for name, values in _OFTEN_CHANGED.items():
        for each in _other(request.headers.get(name), values):
            yield "header", name, _with(request, **{name: each})
    for name in sorted(name for name in set(request.headers) if name.startswith("x-")):
        yield "header", name, _with(request, **{name: ""})
    for each in _other(request.method, ("GET", "POST", "PUT", "DELETE", "HEAD")):
        yield "method", each, _with(request, method=each)


def _paths(path: str) -> tuple[str, ...]:
    plain = unquote(path)
    encoded = (encode_path(plain), quote(plain, safe="/"), quote(plain, safe=""))
    return plain, *encoded, path.rstrip("/"), f"{path}/", path.replace("//", "/"), "/"


def _other(present: str, values: Iterable[str]) -> list[str]:
    """Return *values* without what there is, each once."""
    return [each for each in dict.fromkeys(values) if each != present]


def _target(path: str, query: str | None) -> str:
    return path if query is None else f"{path}?{query}"


def _with(request: Request, *, method: str = "", target: str = "", **headers: str) -> Request:
    """Return a copy with another method, target, or headers; those given as "" are left out."""
    pairs = [(name, value) for name, value in request.headers.pairs if name.lower() not in headers]
    pairs += [(name, value) for name, value in headers.items() if value]
    return Request(
        method or request.method, target or request.target, Headers(pairs), request.body, scheme=request.scheme
    )
