"""The way of every request, as one list; errors are caught, answers committed and the access line written here."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Mapping
from typing import Any

from emulator.auth.authenticator import Authenticator
from emulator.gateway import stages
from emulator.gateway.errors import BodyTooLarge, GatewayError
from emulator.gateway.hosts import HostPolicy
from emulator.gateway.metrics import Traffic
from emulator.gateway.router import HEALTH
from emulator.http.message import Request, Respond, Response
from emulator.kernel.clock import Clock
from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import AccountId, Region
from emulator.kernel.ids import Ids
from emulator.storage.database import CommitFailed, Database
from emulator.wire.request import Answer, Front, OperationRequest, WebFront

_log = logging.getLogger(__name__)
_access = logging.getLogger("emulator.access")

LARGEST_BODY = 140 * 1024 * 1024
"""Bytes read before the front is known; the front's own limit is checked again after. The largest is a code package."""

SMALL_BODY = 16 * 1024

_ACCESS_LINE = "%(request)s %(service)s %(operation)s %(status)d %(ms).1fms"

_REASON_CODES = {
    400: "BadRequest", 403: "Forbidden", 407: "ProxyAuthenticationRequired", 408: "RequestTimeout",
    413: "EntityTooLarge", 414: "UriTooLong", 417: "ExpectationFailed", 431: "HeadersTooLarge",
    500: "InternalError", 501: "NotImplemented", 502: "BadGateway", 503: "ServiceUnavailable",
    505: "HttpVersionNotSupported",
}  # fmt: skip


class Pipeline:
    """The application behind the listening sockets (`emulator.http.message.Application`).

    The admin front must be in *fronts* from the beginning; the others are added before *loaded* is done, and calls
    that come earlier wait for that. Without *authorizer* every caller may do everything.
    """

    def __init__(
        self,
        *,
        fronts: Mapping[str, Front],
        loaded: "asyncio.Future[None]",
        authenticator: Authenticator,
        policy: HostPolicy,
        database: Database,
        clock: Clock,
        ids: Ids,
        account: AccountId,
        region: Region,
        authorizer: stages.Authorizer | None = None,
        traffic: Traffic | None = None,
    ) -> None:
        self._traffic = traffic or Traffic()
        self._database = database
        self._clock = clock
        self._ids = ids
        self._loaded = loaded
        self._guard = stages.refuse_strangers(policy, self._open_to_web)
        self._choose = stages.choose_service(fronts, policy, region)
        self._stages: tuple[stages.Stage, ...] = (
            self._guard,  # foreign Host names go no further, nor web pages but to anonymous HTTP triggers
            self._choose,  # by signature scheme, version, host name, path
            stages.name_request,  # from here on every answer carries a request id
            stages.limit_body,  # before anything is computed over the body
            stages.authenticate(authenticator, account),  # who calls, in whose account
            *([stages.authorize(authorizer)] if authorizer is not None else []),  # with --enforce-ram: may they
            stages.dispatch,  # the operation itself
        )

    # --- Application ---------------------------------------------------------------------------------------------

    def admit(self, request: Request) -> Response | int:
        """Judge a request by its head, before its body is read.

        A small body is not worth judging twice: it is read, and `serve` decides.
        """
        headers = request.headers
        if "transfer-encoding" not in headers and int(headers.get("content-length", "0")) <= SMALL_BODY:
            return SMALL_BODY
        context = OperationRequest(request, self._clock.now())
        try:
            self._guard(context)
            if not self._loaded.done() and request.path != HEALTH:
                return LARGEST_BODY
            if "authorization" in request.headers or request.query is not None or request.path != "/":
                self._choose(context)
                return stages.front_of(context).max_body
        except ServiceError as error:
            return self._render(error, context)
        return LARGEST_BODY  # the service is named inside a form

    def too_large(self, request: Request, limit: int) -> Response:
        """Return the answer for a body that outgrew *limit* bytes."""
        context = OperationRequest(request, self._clock.now())
        try:
            self._guard(context)
            self._choose(context)
            stages.name_request(context)
            error = stages.front_of(context).too_large(limit)
        except ServiceError:
            error = BodyTooLarge(limit=limit)
        response = self._render(error, context)
        self._log_line(context, response)
        return response

    def malformed(self, status: int, reason: str) -> Response:
        """Return the answer for input that is no HTTP request."""
        return _plain(status, _REASON_CODES.get(status, "BadRequest"), reason, self._ids.uuid())

    def serve(self, request: Request, respond: Respond) -> "asyncio.Future[Any] | None":
        """Take a whole request through the stages; the answer leaves once what it rests on is committed."""
        context = OperationRequest(request, self._clock.now())
        started = self._clock.monotonic()
        answer: Answer
        if self._loaded.done() or request.path == HEALTH:
            answer = self._answer(context)
        else:
            answer = self._answer_once_loaded(context)
        if isinstance(answer, Response):
            self._finish(context, started, answer, respond)
            return None
        return asyncio.ensure_future(self._answer_later(answer, context, started, respond))

    # --- inside --------------------------------------------------------------------------------------------------

    def _open_to_web(self, context: OperationRequest) -> bool:
        """Tell whether a web page may send this request; before the services are there nobody can tell.

        Such a request is judged again once they are.
        """
        if not self._loaded.done():
            return context.http.path != HEALTH
        try:
            self._choose(context)
        except ServiceError:
            return False
        return isinstance(context.front, WebFront) and context.front.open_to_web(context)

    def _answer(self, context: OperationRequest) -> Answer:
        try:
            return self._run(context)
        except Exception as error:
            return self._failed(error, context)

    async def _answer_later(
        self, answer: Awaitable[Response], context: OperationRequest, started: float, respond: Respond
    ) -> None:
        """Give the answer once it is there, or the one that tells of a failure."""
        try:
            response = await answer
        except asyncio.CancelledError:
            _access.info("%s %s cancelled by the client", context.request_id, context.operation)
            raise
        except Exception as error:
            response = self._failed(error, context)
        self._finish(context, started, response, respond)

    async def _answer_once_loaded(self, context: OperationRequest) -> Response:
        await asyncio.shield(self._loaded)
        context.now = self._clock.now()
        answer = self._answer(context)
        return answer if isinstance(answer, Response) else await answer

    def _run(self, context: OperationRequest) -> Answer:
        for stage in self._stages:
            answer = stage(context)
            if answer is not None:
                return answer
        raise LookupError("no stage answered")

    def _finish(self, context: OperationRequest, started: float, response: Response, respond: Respond) -> None:
        def committed(failure: CommitFailed | None) -> None:
            answer = response if failure is None else self._failed(failure, context)
            respond(answer)
            self._log_line(context, answer, started)

        self._database.after_commit(committed)

    def _failed(self, error: Exception, context: OperationRequest) -> Response:
        if not isinstance(error, ServiceError):
            # not the caller's doing: tell the log everything and the caller nothing
            trace = None if isinstance(error, CommitFailed) else error
            _log.error(
                "request %s (%s) failed inside: %s",
                context.request_id or "-", context.operation, error, exc_info=trace,
            )  # fmt: skip
            error = ServiceError()
        return self._render(error, context)

    def _render(self, error: ServiceError, context: OperationRequest) -> Response:
        if not context.request_id:
            context.request_id = self._ids.uuid()
        if context.front is None or isinstance(error, GatewayError):
            return _plain(error.http_status, error.code, error.message, context.request_id)
        return context.front.render_error(error, context)

    def _log_line(self, context: OperationRequest, response: Response, started: float | None = None) -> None:
        spent_s = self._clock.monotonic() - started if started is not None else 0.0
        service = context.front.name if context.front else "-"
        self._traffic.count(service, context.operation, response.status, spent_s)
        if _access.isEnabledFor(logging.INFO):
            fields: dict[str, object] = {
                "request": context.request_id,
                "service": service,
                "operation": (
                    context.operation if context.operation != "-" else f"{context.http.method} {_safe(context)}"
                ),
                "status": response.status,
                "ms": round(spent_s * 1000, 3),
            }
            if context.about is not None:
                fields |= context.about
            _access.info(_ACCESS_LINE, fields)


def _safe(context: OperationRequest) -> str:
    """Return the path fit for a log line: no query (it can hold signatures and tokens), no control characters."""
    return context.http.path[:200].encode("ascii", "backslashreplace").decode("ascii")


def _plain(status: int, code: str, message: str, request_id: str) -> Response:
    body = json.dumps({"Code": code, "Message": message, "RequestId": request_id})
    return Response(status, body.encode("ascii"), [("Content-Type", "application/json")])
