"""The way of every request, as one list; errors are caught and answers committed here.

A stage does one thing to a call: it answers, raises, or lets the call go on. The first two find out which front a call
is for; the others have it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from emulator.auth.authenticator import Authenticator, scheme_of
from emulator.auth.policy import Facts, facts_of
from emulator.gateway.browsers import TRACES, browser_trace, is_console_host, set_apart
from emulator.gateway.errors import GatewayError, Refusals, json_response
from emulator.gateway.hosts import HostPolicy, host_of, is_loopback
from emulator.gateway.router import CONSOLE, HEALTH, UNKNOWN_RPC, choose
from emulator.gateway.traffic import AccessLog, OpenRequests, Traffic
from emulator.http.message import FORM_BYTES, FORM_PAIRS, Request, Respond, Response
from emulator.kernel.clock import Clock
from emulator.kernel.errors import AuthFailure, ServiceError, Unavailable
from emulator.kernel.identity import AccountId, Demand, Principal, Region
from emulator.kernel.ids import Ids
from emulator.kernel.tracing import begin
from emulator.storage.database import CommitFailed, Database, Steps
from emulator.storage.steps import stream, writable_soon
from emulator.storage.write_lock import StateLocked
from emulator.wire.multipart import MalformedForm, form_of, is_form
from emulator.wire.request import Answer, EarlyFront, Front, GuardedFront, OperationRequest, PreparingFront, WebFront
from emulator.wire.rpc import RpcFront

_log = logging.getLogger(__name__)

LARGEST_BODY = 140 * 1024 * 1024
"""Bytes read before the front is known; the front's own limit is checked again after. The largest is a code package."""

SMALL_BODY = 16 * 1024
"""A body up to this size is read before anything is judged."""

LARGE_BODY = 256 * 1024
"""A larger body is digested and decoded in a thread; smaller ones take a few milliseconds."""

_CANCELLED = Response(499)
"""What the log and the metrics say of a request whose client went away; nobody receives it. nginx uses the number."""

_REASON_CODES = {
    400: "BadRequest", 403: "Forbidden", 407: "ProxyAuthenticationRequired", 408: "RequestTimeout",
    413: "EntityTooLarge", 414: "UriTooLong", 417: "ExpectationFailed", 431: "HeadersTooLarge",
    500: "InternalError", 501: "NotImplemented", 502: "BadGateway", 503: "ServiceUnavailable",
    505: "HttpVersionNotSupported",
}  # fmt: skip

Stage = Callable[[Front, OperationRequest], Answer | None]


def name_request(front: Front, call: OperationRequest) -> None:
    """Give the call its request id, in the form of its dialect."""
    if not call.request_id:
        call.request_id = front.new_request_id(call)
    begin(call.request_id)


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


Edits = Callable[[Request], Awaitable[None] | None]
"""What a request waits for because the user has edited files that its answer may rest on; None as a rule."""


def _no_edits(_: Request) -> None:
    """Return None: before the services are loaded there are no files."""


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

    The admin front must be in *fronts* from the beginning; the others are added before *loaded* is done, and calls
    that come earlier wait for that. Without *allows* every caller may do everything.
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
        allows: Allows | None = None,
        traffic: Traffic | None = None,
        open_requests: OpenRequests | None = None,
    ) -> None:
        self._access = AccessLog(clock, traffic or Traffic())
        self._open = open_requests or OpenRequests()
        self._database = database
        self._clock = clock
        self._ids = ids
        self._loaded = loaded
        self._policy = policy
        self._fronts = fronts
        self._account = account
        self._region = region
        self._authenticator = authenticator
        self.refusals = Refusals(authenticator)
        self._stages: tuple[Stage, ...] = (
            # before these: foreign Host names and web pages are refused, and the front is chosen
            name_request,  # from here on every answer carries a request id
            limit_body,  # before anything is computed over the body
            self._authenticate,  # who calls, in whose account
            *([partial(authorize, allows)] if allows is not None else []),  # with --enforce-ram: may they
            # what `interfere` is given stands here, and after all of them the front runs the operation
        )
        self._undisturbed = self._stages
        self._edits: Edits = _no_edits
        self.record = self._access.record
        """Calls what it is given with each front, call and answer from now on; with None, nothing more."""

    def follow(self, edits: Edits) -> None:
        """Make every request wait first for what *edits* returns."""
        self._edits = edits

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Make new requests wait while the context lasts, as they do before the services are loaded."""
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._loaded = opened
        try:
            yield
        finally:
            opened.set_result(None)

    def interfere(self, stage: Stage | None) -> None:
        """Put *stage* between authorization and the operation; with None there is nothing in between."""
        extra = () if stage is None else (stage,)
        self._stages = (*self._undisturbed, *extra)

    def admit(self, request: Request) -> Response | int:
        """Judge a request by its head, before its body is read.

        A small body is not worth judging twice: it is read, and `serve` decides. For a large one the caller has to be
        known first, unless a signature covers the body or the service has calls without one. A form is never large.
        """
        headers = request.headers
        if "transfer-encoding" not in headers and int(headers.get("content-length", "0")) <= SMALL_BODY:
            return SMALL_BODY
        call = OperationRequest(request, self._clock.now())
        front: Front | None = None
        try:
            self._guard(call)
            if (not self._loaded.done() and request.path != HEALTH) or self._edits(request) is not None:
                return LARGEST_BODY if not request.has_form else FORM_BYTES
            try:
                front = self._choose(call)
            except GatewayError:
                if not request.has_form:
                    raise
                return FORM_BYTES  # which names the service
            if call.scheme is not None and not call.scheme.covers_head(request):
                return front.max_body if not request.has_form else FORM_BYTES
            if call.scheme is None and request.has_form and isinstance(front, RpcFront):
                return FORM_BYTES  # with the signature in it
            name_request(front, call)
            self._authenticate(front, call, head_only=True)
        except ServiceError as error:
            response = self._render(error, front, call)
            self._access.answered(front, call, response)
            return response
        request.admitted = (front, call)
        request.trusted = call.principal is not None and bool(call.principal.access_key_id)
        return front.max_body

    def early(self, request: Request) -> "int | asyncio.Future[Any]":
        """Return how large a body may be that its front takes as it comes; 0 when it has to be whole.

        Whole it has to be when a digest of it is signed, when it may name the service, and for a recording. The head of
        a small body has not been judged before; where that goes wrong, `serve` says so. It is not known yet while the
        services are loaded, or files that were edited.
        """
        if request.has_form or self._access.records:
            return 0
        if request.admitted is None:
            if not self._loaded.done():
                return asyncio.ensure_future(self._once_loaded())
            if (edits := self._edits(request)) is not None:
                return asyncio.ensure_future(edits)
            request.admitted = self._judged_early(request)
        if request.admitted is None:
            return 0
        front, call = request.admitted
        if not isinstance(front, EarlyFront) or self._authenticator.covers_body(request, call.scheme):
            return 0
        return front.early(call)

    def _judged_early(self, request: Request) -> tuple[Front, OperationRequest] | None:
        """Return the front and the call of a request whose front may serve it early, None for every other."""
        call = OperationRequest(request, self._clock.now())
        try:
            self._guard(call)
            front = self._choose(call)
            if not isinstance(front, EarlyFront) or not front.may_be_early(call):
                return None
            name_request(front, call)
            self._authenticate(front, call, head_only=True, counted=False)
        except ServiceError:
            return None
        return front, call

    def too_large(self, request: Request, limit: int) -> Response:
        """Return the answer for a body that outgrew *limit* bytes."""
        call = OperationRequest(request, self._clock.now())
        front: Front | None = None
        try:
            self._guard(call)
            front = self._choose(call)
            name_request(front, call)
            error = front.too_large(limit)
        except ServiceError:
            front = self._fronts.get(UNKNOWN_RPC) if request.has_form else None
            error = front.too_large(limit) if front is not None else GatewayError("BodyTooLarge", limit=limit)
        response = self._render(error, front, call)
        self._access.answered(front, call, response)
        return response

    def malformed(self, status: int, reason: str) -> Response:
        """Return the answer for input that is no HTTP request."""
        return _plain(status, _REASON_CODES.get(status, "BadRequest"), reason, self._ids.unseeded_uuid())

    def serve(self, request: Request, respond: Respond) -> "asyncio.Future[Any] | None":
        """Take a request through the stages; the answer leaves once what it rests on is committed."""
        started = self._clock.monotonic()
        if request.admitted is not None:
            front, call = request.admitted
            request.admitted = None  # the call refers to the request: a large body would stay until a collection
            call.body_arrived(self._clock.now())
            if request.arriving is None and request.body_size > LARGE_BODY:
                return asyncio.ensure_future(self._serve_prepared(front, call, started, respond))
            return self._serve(front, call, started, respond)
        call = OperationRequest(request, self._clock.now())
        if not self._loaded.done() and request.path != HEALTH:
            return asyncio.ensure_future(self._serve_after(self._once_loaded(), call, started, respond))
        if (edits := self._edits(request)) is not None:
            return asyncio.ensure_future(self._serve_after(edits, call, started, respond))
        if request.body_size > LARGE_BODY:
            return asyncio.ensure_future(self._serve_prepared(None, call, started, respond))
        return self._serve(None, call, started, respond)

    def _serve(
        self, front: Front | None, call: OperationRequest, started: float, respond: Respond
    ) -> "asyncio.Future[Any] | None":
        """Take *call* through the stages; without *front* it is chosen first."""
        try:
            if front is None:
                self._guard(call)
                front = self._choose(call)
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
        return asyncio.ensure_future(self._answer_later(answer, front, call, started, respond))

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
            self._authenticator.check_body(call.http, call.scheme)
        except AuthFailure as failure:
            raise front.auth_error(failure, call) from failure
        if isinstance(front, PreparingFront):
            front.prepare(call)

    async def _once_loaded(self) -> None:
        while not self._loaded.done():  # the door may have been closed again meanwhile
            await asyncio.shield(self._loaded)

    async def _serve_after(
        self, ready: Awaitable[None], call: OperationRequest, started: float, respond: Respond
    ) -> None:
        await ready
        call.now = self._clock.now()
        await self._serve_prepared(None, call, started, respond)

    async def _answer_later(
        self, answer: Awaitable[Response], front: Front | None, call: OperationRequest, started: float, respond: Respond
    ) -> None:
        """Give the answer once it is there, or an error."""
        self._open.begin(call, front)
        steps = Steps(self._database, answer, call.writes_on)
        try:
            try:
                response = await steps
            except StateLocked:
                if front is None or steps.have_waited:
                    raise
                response = await Steps(self._database, self._handled_again(front, call), call.writes_on)
        except asyncio.CancelledError:
            self._access.answered(front, call, _CANCELLED, started)
            raise
        except Exception as error:
            response = self._failed(error, front, call)
        finally:
            self._open.end(call)
        self._finish(front, call, started, response, respond)

    def _guard(self, call: OperationRequest) -> None:
        """Refuse foreign Host names and, but for what its front opens to them, requests of web pages; on every path."""
        call.host = host_of(call.http)
        if not self._policy.allows(call.host):
            raise GatewayError("ForbiddenHost", host=call.host)
        if call.http.headers.has_any(TRACES):  # few requests of SDKs
            trace = browser_trace(call.http)
            if trace is not None and not self._open_to_web(call):
                raise GatewayError("ForbiddenOrigin", header=trace)

    def _choose(self, call: OperationRequest) -> Front:
        """Return the front of a call, and fill in what routing finds out on the way.

        The region is the one in the host name. A loopback address has none: then it is this installation's region,
        whatever region the client was configured with, so that clients of different services meet in one tenant.
        """
        host = call.host
        call.scheme = scheme_of(call.http)
        owner = self._policy.front_of(host)
        route = choose(call, loopback=is_loopback(host) and not owner, console=is_console_host(host), owner=owner)
        front = self._fronts.get(route.front)
        if front is None:
            raise GatewayError("NoSuchService", method=call.http.method, path=call.http.path)
        call.region = Region(route.host.region) if route.host.region else self._region
        call.host_account = AccountId(route.host.account) if route.host.account else None
        return front

    def _authenticate(
        self, front: Front, call: OperationRequest, *, head_only: bool = False, counted: bool = True
    ) -> None:
        """Find out who calls; unsigned requests pass only where the front allows it.

        With *head_only* the body has not come yet. A refusal is *counted* unless there will be another.
        """
        try:
            if call.principal is not None:  # by its head; a large body has been checked in a thread
                if call.http.body_size <= LARGE_BODY:
                    self._authenticator.check_body(call.http, call.scheme)
            elif front.allows_anonymous(call):
                account = call.host_account or self._account
                call.principal = Principal(account, "", f"acs:ram::{account}:anonymous")
            else:
                call.principal = self._authenticator.authenticate(
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
        """Whether a web page may send this request; before the services are loaded that is left open.

        Such a request is judged again once they are.
        """
        if not self._loaded.done():
            return call.http.path != HEALTH
        try:
            front = self._choose(call)
        except ServiceError:
            return False
        return isinstance(front, WebFront) and front.open_to_web(call)

    def _finish(
        self, front: Front | None, call: OperationRequest, started: float, response: Response, respond: Respond
    ) -> None:
        if not isinstance(response.body, bytes) and call.writes_on():
            response.body = stream(self._database, response.body)

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
        return self._render(error, front, call)

    def _render(self, error: ServiceError, front: Front | None, call: OperationRequest) -> Response:
        if not call.request_id:
            call.request_id = self._ids.uuid()
        call.about = {**(call.about or {}), "error": error.code}
        if front is None or isinstance(error, GatewayError):
            return _plain(error.http_status, error.code, error.message, call.request_id)
        return front.render_error(error, call)


def _plain(status: int, code: str, message: str, request_id: str) -> Response:
    return json_response(status, {"Code": code, "Message": message, "RequestId": request_id})
