"""What the gateway refuses: errors before a service is known and of the admin API, written as plain JSON.

`UnsignedFront` is the base of the fronts that need no signature: admin API, console, sinks.

The latest requests whose signature was refused are kept to say why. No secret leaves this module.
"""

import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from emulator.auth.authenticator import Authenticator
from emulator.http.message import Request, Response
from emulator.kernel.errors import AuthFailure, ErrorRow, ServiceError
from emulator.kernel.ids import Ids
from emulator.wire.operation import operation
from emulator.wire.request import Front, OperationRequest
from emulator.wire.schema.kinds import argument

ERRORS: Mapping[str, ErrorRow] = {
    "ForbiddenHost": ErrorRow(403, "The host name '{host}' is not served here."),  # rebound or misdirected
    "ForbiddenOrigin": ErrorRow(403, "Requests of web pages are not served ({header})."),  # no SDK sends these headers
    "Unguarded": ErrorRow(
        403,
        "Permissions in the service '{service}' cannot be checked: only the account's own key may call it.",
        "AccessDenied",
    ),
    "NoSuchService": ErrorRow(
        404,
        "No service is named by this request: {method} {path}. Point an SDK at this address; see /_localyun/health.",
        "NotFound",
    ),
    "OwnPages": ErrorRow(
        404,
        "{path} is served at the names of the loopback address only, such as 127.0.0.1 or localhost, not at '{host}'.",
        "NotFound",
    ),
    "BodyTooLarge": ErrorRow(413, "The body is larger than {limit} bytes.", "EntityTooLarge"),
    # the admin API
    "Forbidden": ErrorRow(403, "This call needs the header X-Localyun-Token with this installation's admin token."),
    "NotFound": ErrorRow(404, "There is no {method} {path}."),
    "InvalidArgument": ErrorRow(400, "The request is not understood."),
    "Conflict": ErrorRow(409, "{reason}"),
}


class GatewayError(ServiceError):
    """An error of the gateway itself."""

    table = ERRORS


def json_response(status: int, content: dict[str, Any]) -> Response:
    """Return an answer in JSON."""
    return Response(status, json.dumps(content).encode("ascii"), [("Content-Type", "application/json")])


def plain_error(status: int, code: str, message: str, request_id: str) -> Response:
    """Return an error as the gateway writes it."""
    return json_response(status, {"Code": code, "Message": message, "RequestId": request_id})


def rendered(error: ServiceError, front: Front | None, call: OperationRequest, ids: Ids) -> Response:
    """Return *error* in the form of *front*; the gateway's own, and what comes before one is chosen, as plain JSON."""
    if not call.request_id:
        call.request_id = ids.uuid()
    call.about = {**(call.about or {}), "error": error.code}
    if front is None or isinstance(error, GatewayError):
        return plain_error(error.http_status, error.code, error.message, call.request_id)
    return front.render_error(error, call)


_LOOKS = frozenset({"GET", "HEAD"})


class JsonFront:
    """A front of the emulator's own, whose errors are JSON."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids

    def new_request_id(self, call: OperationRequest) -> str:
        """Return a UUID; for a read-only method one that does not come from the seed.

        Health checks and open pages of the console must not change the ids that are drawn later.
        """
        return self._ids.unseeded_uuid() if call.http.method in _LOOKS else self._ids.uuid()

    def too_large(self, limit: int) -> ServiceError:
        """Return the refusal of an oversized body."""
        return GatewayError("BodyTooLarge", limit=limit)

    def render_error(self, error: ServiceError, call: OperationRequest) -> Response:
        """Write an error as JSON."""
        return plain_error(error.http_status, error.code, error.message, call.request_id)


class UnsignedFront(JsonFront):
    """A front whose calls are not signed: a token or a cookie opens them, or nothing has to."""

    def allows_anonymous(self, call: OperationRequest) -> bool:
        """Return True: a token or a cookie takes the place of a signature, or nothing does."""
        return True

    def auth_error(self, failure: AuthFailure, call: OperationRequest) -> ServiceError:
        """Return the refusal of a signature; never called, as no signature is required."""
        return GatewayError("Forbidden")


KEPT = 50
_BODY = 16 * 1024
"""Longer bodies are not kept with the request; few schemes sign them."""


class _Refusal(NamedTuple):
    http: Request
    scheme: Any
    failure: AuthFailure


class Refusals:
    """The latest `KEPT` refused requests by their ids."""

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator
        self._refused: OrderedDict[str, _Refusal] = OrderedDict()

    def add(self, call: OperationRequest, failure: AuthFailure) -> None:
        """Keep a request that was refused."""
        http = call.http
        body = http.body if http.body_size <= _BODY else b""
        kept = Request(http.method, http.target, http.headers, body, scheme=http.scheme)
        failure.__traceback__ = None  # the traceback would keep the whole call in memory
        self._refused[call.request_id] = _Refusal(kept, call.scheme, failure)
        while len(self._refused) > KEPT:
            self._refused.popitem(last=False)

    def explain(self, request: str, client: str = "") -> dict[str, Any] | None:
        """Return why a request was refused, None when it is not among the latest ones.

        ``reason`` is what authentication has found, ``cause`` what was different, in a word, with ``detail``;
        ``server`` and ``client`` are the texts that were signed, ``client`` "" when it is neither given nor can be
        guessed, and ``differs_at`` is where the two begin to differ.
        """
        refusal = self._refused.get(request)
        if refusal is None:
            return None
        from emulator.auth.diagnosis import diagnose  # seldom needed

        diagnosis = diagnose(refusal.http, refusal.scheme, refusal.failure, self._authenticator.key_of(refusal.http))
        signed = client or diagnosis.client
        return {
            "request": request,
            "method": refusal.http.method,
            "target": refusal.http.target,
            "scheme": refusal.failure.scheme,
            "reason": refusal.failure.reason.name,
            "cause": diagnosis.cause,
            "detail": diagnosis.detail,
            "server": diagnosis.server,
            "client": signed,
            "differs_at": _first_difference(diagnosis.server, signed) if signed else None,
        }


def _first_difference(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (mine, yours) in pairs if mine != yours), min(len(one), len(other)))


@operation(
    "refused",
    "GET /refused/{request}",
    argument("client", about="The client's string to sign, for comparison.", default=""),
)
def refused(refusals: Refusals, call: OperationRequest) -> dict[str, Any] | None:
    """Why a recent request was refused, with the string to sign here and, if known, the client's."""
    return refusals.explain(call.path["request"], call.arguments["client"])
