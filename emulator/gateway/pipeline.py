"""The way of every request, as one list; errors are caught and answers committed here.

A stage does one thing to a call: it answers, raises, or lets the call go on. The first two find out which front a call
is for; the others have it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

from emulator.auth.policy import Facts, facts_of
from emulator.gateway.admission import Admission
from emulator.gateway.browsers import set_apart
from emulator.gateway.entrance import CONSOLE, HEALTH, LARGE_BODY, Entrance, name_request
from emulator.gateway.errors import GatewayError, plain_error, rendered
from emulator.gateway.traffic import AccessLog, OpenRequests, Traffic
from emulator.http.message import FORM_BYTES, FORM_PAIRS, Request, Respond, Response
from emulator.kernel.clock import Clock
from emulator.kernel.errors import BEGUN_BEFORE, AuthFailure, ServiceError, Unavailable
from emulator.kernel.identity import Demand, Principal
from emulator.kernel.ids import Ids
from emulator.storage.database import CommitFailed, Database, Steps
from emulator.storage.eras import Overtaken
from emulator.storage.steps import stream, writable_soon
from emulator.storage.write_lock import StateLocked
from emulator.wire.multipart import MalformedForm, form_of, is_form
from emulator.wire.request import Answer, Front, GuardedFront, OperationRequest, PreparingFront
from emulator.wire.rpc import RpcFront

_log = logging.getLogger(__name__)

SMALL_BODY = 16 * 1024
"""A body up to this size is read before anything is judged."""

_CANCELLED = Response(499)
"""What the log and the metrics say of a request whose client went away; nobody receives it. nginx uses the number."""

_REASON_CODES = {
    400: "BadRequest", 403: "Forbidden", 407: "ProxyAuthenticationRequired", 408: "RequestTimeout",
    413: "EntityTooLarge", 414: "UriTooLong", 417: "ExpectationFailed", 431: "HeadersTooLarge",
    500: "InternalError", 501: "NotImplemented", 502: "BadGateway", 503: "ServiceUnavailable",
    505: "HttpVersionNotSupported",
}  # fmt: skip

Stage = Callable[[Front, OperationRequest], Answer | None]


def limit_body(front: Front, call: OperationRequest) -> None:
    """Refuse a body over the front's limit and a form too long to be decoded; the head may not have named the front."""
    http = call.http
    size = http.body_size
    if size > front.max_body:
        raise front.too_large(front.max_body)
    if size > FORM_PAIRS and isinstance(front, RpcFront) and http.has_long_form:
        error = front.too_large(FORM_BYTES)
        if size <= FORM_BYTES:
            error.message = f"The request has more than {FORM_PAIRS} parameters."
        raise error


Allows = Callable[[Principal, Demand, Facts], bool]
"""Whether a caller may do what a demand says; the facts are what conditions can be about."""


def authorize(allows: Allows, front: Front, call: OperationRequest) -> None:
    """Refuse a caller without the rights that the request needs; comes after authentication.

    Who needed no signature needs no right either, and the account itself has all of them.
    """
    principal = call.principal
    if principal is None or not principal.access_key_id or principal.arn.endswith(":root"):
        return
    if not isinstance(front, GuardedFront):
        raise GatewayError("Unguarded", service=front.name)
    facts = facts_of(call)
    for demand in front.demands(call):
        if not allows(principal, demand, facts):
            raise front.denied(demand, call)


class Pipeline:
    """The application behind the listening sockets (`emulator.http.message.Application`).

    Without *allows* every caller may do everything.
    """

    def __init__(
        self,
        entrance: Entrance,
        *,
        database: Database,
        clock: Clock,
        ids: Ids,
        allows: Allows | None = None,
        traffic: Traffic | None = None,
        open_requests: OpenRequests | None = None,
    ) -> None:
        self._entrance = entrance
        self._access = AccessLog(clock, traffic or Traffic())
        self._open = open_requests or OpenRequests()
        self._database = database
        self._clock = clock
        self._ids = ids
        self._admission = Admission(entrance, clock=clock, ids=ids, access=self._access)
        self.early = self._admission.early
        self.too_large = self._admission.too_large
        self._stages: tuple[Stage, ...] = (
            # before these: foreign Host names and web pages are refused, and the front is chosen
            name_request,  # from here on every answer carries a request id
            limit_body,  # before anything is computed over the body
            entrance.authenticate,  # who calls, in whose account
            *([partial(authorize, allows)] if allows is not None else []),  # with --enforce-ram: may they
            # what `interfere` is given stands here, and after all of them the front runs the operation
        )
        self._undisturbed = self._stages
        self.record = self._access.record
        """Calls what it is given with each front, call and answer from now on; with None, nothing more."""

    def interfere(self, stage: Stage | None) -> None:
        """Put *stage* between authorization and the operation; with None there is nothing in between."""
        extra = () if stage is None else (stage,)
        self._stages = (*self._undisturbed, *extra)

    def admit(self, request: Request) -> Response | int:
        """Judge a request by its head, before its body is read.

        A small body is not worth judging twice: it is read, and `serve` decides.
        """
        headers = request.headers
        if "transfer-encoding" not in headers and int(headers.get("content-length", "0")) <= SMALL_BODY:
            return SMALL_BODY
        return self._admission.judge(request)

    def malformed(self, status: int, reason: str) -> Response:
        """Return the answer for input that is no HTTP request."""
        return plain_error(status, _REASON_CODES.get(status, "BadRequest"), reason, self._ids.unseeded_uuid())

    def serve(self, request: Request, respond: Respond) -> "asyncio.Future[Any] | None":
        """Take a request through the stages; the answer leaves once what it rests on is committed."""
        started = self._clock.monotonic()
        front: Front | None = None
        if request.admitted is not None:
            front, call = request.admitted
            request.admitted = None  # the call refers to the request: a large body would stay until a collection
            call.body_arrived(self._clock.now())
        else:
            call = OperationRequest(request, self._clock.now())
        if not self._may_enter(call):
            return asyncio.ensure_future(self._serve_after(self._entrance.once_loaded(), front, call, started, respond))
        if front is None and (edits := self._entrance.edits(request)) is not None:
            return asyncio.ensure_future(self._serve_after(edits, None, call, started, respond))
        if request.arriving is None and request.body_size > LARGE_BODY:
            return asyncio.ensure_future(self._serve_prepared(front, call, started, respond))
        return self._serve(front, call, started, respond)

    def _may_enter(self, call: OperationRequest) -> bool:
        """Whether requests are let in; one waits for that again whenever it has waited for something else."""
        return self._entrance.loaded.done() or call.http.path == HEALTH

    def _serve(
        self, front: Front | None, call: OperationRequest, started: float, respond: Respond
    ) -> "asyncio.Future[Any] | None":
        """Take *call* through the stages; without *front* it is chosen first."""
        try:
            if front is None:
                self._entrance.guard(call)
                front = self._entrance.choose(call)
            for stage in self._stages:
                answer = stage(front, call)
                if answer is not None:
                    break
            else:
                try:
                    answer = front.handle(call)
                except StateLocked:  # before it has written anything
                    answer = self._handled_again(front, call)
        except Exception as error:
            answer = self._failed(error, front, call)
        if isinstance(answer, Response):
            self._finish(front, call, started, answer, respond)
            return None
        steps = Steps(self._database, answer, call.writes_on)  # here: it has begun already
        return asyncio.ensure_future(self._answer_later(steps, front, call, started, respond))

    async def _handled_again(self, front: Front, call: OperationRequest) -> Response:
        """Perform, from its beginning, an operation that has met a lock before it had written anything.

        Raises: StateLocked when the lock is held too long.
        """
        await writable_soon(self._database)
        call.now = self._clock.now()
        answer = front.handle(call)
        return answer if isinstance(answer, Response) else await answer

    async def _serve_prepared(
        self, front: Front | None, call: OperationRequest, started: float, respond: Respond
    ) -> None:
        """Serve a call with a large body, which a thread makes ready; *front* is given when the head has named it."""
        self._open.begin(call, front)
        try:
            await asyncio.to_thread(self._prepare, front, call)
        except Exception as error:
            self._finish(front, call, started, self._failed(error, front, call), respond)
            return
        finally:
            self._open.end(call)
        if not self._may_enter(call):
            await self._entrance.once_loaded()
            call.now = self._clock.now()
        later = self._serve(front, call, started, respond)
        if later is not None:
            await later

    def _prepare(self, front: Front | None, call: OperationRequest) -> None:
        _ = call.http.body  # joined here
        if is_form(call.header("content-type")):
            with suppress(MalformedForm):  # reported by the service
                form_of(call.http)
        if front is None:
            return
        try:
            self._entrance.authenticator.check_body(call.http, call.scheme)
        except AuthFailure as failure:
            raise front.auth_error(failure, call) from failure
        if isinstance(front, PreparingFront):
            front.prepare(call)

    async def _serve_after(
        self, ready: Awaitable[None], front: Front | None, call: OperationRequest, started: float, respond: Respond
    ) -> None:
        await ready
        call.now = self._clock.now()
        if call.http.arriving is None:
            await self._serve_prepared(front, call, started, respond)
        elif (later := self._serve(front, call, started, respond)) is not None:
            await later

    async def _answer_later(
        self, steps: Steps[Response], front: Front | None, call: OperationRequest, started: float, respond: Respond
    ) -> None:
        """Give the answer once it is there, or an error."""
        self._open.begin(call, front)
        try:
            try:
                response = await steps
            except StateLocked:
                if front is None or steps.have_waited:
                    raise
                steps = Steps(self._database, self._handled_again(front, call), call.writes_on)
                response = await steps
        except asyncio.CancelledError:
            self._access.answered(front, call, _CANCELLED, started)
            raise
        except Exception as error:
            response = self._failed(error, front, call)
        finally:
            self._open.end(call)
        self._finish(front, call, started, response, respond, steps.era)

    def _finish(
        self,
        front: Front | None,
        call: OperationRequest,
        started: float,
        response: Response,
        respond: Respond,
        era: int | None = None,
    ) -> None:
        """Send *response*, made in *era*, or in this one."""
        if not isinstance(response.body, bytes) and call.writes_on():
            response.body = stream(self._database, response.body, self._database.eras.current if era is None else era)

        def committed(failure: CommitFailed | None) -> None:
            answer = response if failure is None else self._failed(failure, front, call)
            if call.http.is_of_browser and (front is None or front.name != CONSOLE):
                set_apart(answer, call.host)
            respond(answer)
            self._access.answered(front, call, answer, started)

        self._database.after_commit(committed)

    def _failed(self, error: Exception, front: Front | None, call: OperationRequest) -> Response:
        if isinstance(error, StateLocked):
            _log.error("request %s (%s) was given up: %s", call.request_id or "-", call.operation, error)
            error = Unavailable()
        elif isinstance(error, Overtaken):
            _log.info("request %s (%s) was given up: %s", call.request_id or "-", call.operation, error)
            error = Unavailable(BEGUN_BEFORE)
        elif not isinstance(error, ServiceError):
            # not the caller's doing: the log gets everything and the caller nothing
            trace = None if isinstance(error, CommitFailed) else error
            _log.error(
                "request %s (%s) failed inside the emulator: %s",
                call.request_id or "-",
                call.operation,
                error,
                exc_info=trace,
            )
            error = ServiceError()
        return rendered(error, front, call, self._ids)
