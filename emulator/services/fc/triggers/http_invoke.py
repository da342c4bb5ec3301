"""Serves an HTTP request to a trigger: checks it, calls the function with it, and answers the client.

A handler of 2.0 and every custom runtime serve the request itself; a built-in runtime of 3.0 gets it as a JSON event,
and what it returns is read as an answer (`http_envelope`).

Source: Function Compute, HTTP triggers (limits, header fields left out, statuses).
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeVar
from urllib.parse import unquote

from emulator.http.message import (
    BodyBroken,
    Headers,
    Request,
    Response,
    Unsendable,
    field_name,
    join_head,
)
from emulator.http.switching import Relay, SwitchingProtocols, Upstream, asks_for_websocket
from emulator.kernel.clock import Millis
from emulator.kernel.frozen import replace
from emulator.kernel.identity import Principal
from emulator.kernel.pieces import SentPieces
from emulator.services.fc import limits
from emulator.services.fc.catalog.resolving import Target
from emulator.services.fc.codec import LARGE_BODY
from emulator.services.fc.errors import BadResponse, EntityTooLarge, FcError
from emulator.services.fc.invoke.invoking import Enqueue, FunctionCall, Invoked, Invoker, refusal, too_large
from emulator.services.fc.model import is_custom
from emulator.services.fc.runtime import logs
from emulator.services.fc.runtime.model import HttpAnswer, HttpCall, RequestBroken
from emulator.services.fc.runtime.streaming import RequestPieces, StreamedBody
from emulator.services.fc.sessions.visits import with_field
from emulator.services.fc.triggers.http_access import (
    allowed_fields,
    claims_of,
    fields_of_claims,
    preflight,
    with_fields,
)
from emulator.services.fc.triggers.http_envelope import EnvelopeAnswer, read_result, render_event
from emulator.services.fc.triggers.http_routing import HttpTarget

T = TypeVar("T")

_NOT_PASSED_IN = frozenset({"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "expect"})
_NOT_PASSED_OUT = frozenset(
    {"connection", "content-length", "date", "keep-alive", "server", "upgrade", "transfer-encoding", "te", "trailer"}
)


class HttpInvoker:
    """Serves requests to HTTP triggers."""

    def __init__(self, invoker: Invoker, enqueue: Enqueue) -> None:
        self._invoker = invoker
        self._enqueue = enqueue

    def early(self, request: Request, target: HttpTarget, now: Millis) -> int:
        """Return how many bytes of body the target's function takes as they come; 0 when it gets the request whole.

        Raises: InvalidArgument, and what `Invoker.check` raises.
        """
        call = _call(request, target, "", "", now)
        chosen = self._invoker.check(target.tenant, call)
        return limits.HTTP_BODY_BYTES[_generation(target)] if self._passes_on(call, target, chosen) else 0

    def _passes_on(self, call: FunctionCall, target: HttpTarget, chosen: Target) -> bool:
        """Whether a body is streamed to the function: it serves HTTP itself, and nothing before it reads the body.

        Such readers are mocks, asynchronous calls, tokens and claims in forms, and sessions that a message begins.
        """
        request, http = call.request, call.http
        if request is None or http is None:
            return False
        return (
            is_custom(chosen.image.runtime)
            and not http.websocket
            and not _wants_no_answer(request, target)
            and (chosen.affinity is None or chosen.affinity.has_api)
            and not any(rules.read_form for rules in target.token_rules)
            and self._invoker.is_undisturbed(call)
        )

    async def serve(
        self, request: Request, target: HttpTarget, principal: Principal, host: str, request_id: str, now: Millis
    ) -> Response:
        """Run the trigger's function for *request*.

        Raises: AccessDenied, InvalidArgument, BadResponse, and what a call raises: `Invoker.check` and `Invoker.run`.
        """
        if target.cors and (fields := preflight(target.cors, request)) is not None:
            return Response(204, b"", fields)
        check_allowed(request, target, principal)
        generation = _generation(target)
        check_size(request, generation)
        request, target = await _with_claims(request, target, now)
        call = _call(request, target, host, request_id, now)
        chosen = self._invoker.check(target.tenant, call)
        if request.arriving is not None:
            call = await self._with_body(call, request.arriving, target, chosen)
        as_event = generation == "3.0" and not is_custom(chosen.image.runtime)
        no_answer = _wants_no_answer(request, target)
        if as_event:
            if not no_answer and (field := self._invoker.drawn(call, chosen)) is not None and call.http is not None:
                call = replace(call, http=with_field(call.http, field), session=field)
            event = await _beside_the_loop(len(call.event), partial(render_event, call, target.tenant.account, host))
            call = replace(call, event=event, http=None)
        if no_answer:
            # the caller does not want to wait. Source: web function page of 3.0; the answer is assumed
            self._enqueue(target.tenant, replace(call, version=chosen.version), "")
            return Response(202)
        try:
            invoked = await self._invoker.mocked(call) or await self._invoker.run(target.tenant, call, chosen)
        except EntityTooLarge as error:  # the request's own size has been checked: this is about the function's answer
            return _too_large(error.message)
        if invoked.result.error_type:
            return _failed(invoked, request)
        try:
            response = await self._answer(invoked, request, generation, as_event=as_event)
            if target.cors:
                response.headers = with_fields(response.headers, allowed_fields(target.cors, request))
            return response
        except BadResponse:
            if invoked.result.stream is not None:
                await invoked.result.stream.aclose()
            raise

    async def _with_body(
        self, call: FunctionCall, arriving: SentPieces, target: HttpTarget, chosen: Target
    ) -> FunctionCall:
        """Return *call* with its body that still comes.

        An alias may have chosen another version than when `early` was asked, or a mock come: then it is waited for.

        Raises: InvalidArgument.
        """
        if self._passes_on(call, target, chosen):
            return replace(call, body=RequestPieces(arriving))
        try:
            return replace(call, event=b"".join([piece async for piece in arriving]))
        except BodyBroken as error:
            raise refusal(RequestBroken(str(error), error.limit)) from error

    async def _answer(self, invoked: Invoked, request: Request, generation: str, *, as_event: bool) -> Response:
        result = invoked.result
        if as_event:
            answered = await _beside_the_loop(len(result.body), lambda: read_result(result.body))
        else:
            answered = EnvelopeAnswer(result.http or HttpAnswer(status=200, headers=()), result.body)
        http = answered.http
        if result.stream is not None and result.stream.upstream is not None:
            return _switched(invoked, result.stream, result.stream.upstream, http, request)
        if not 200 <= http.status <= 599:
            raise BadResponse(reason=f"{http.status} is not a status")
        headers = passed_out(http.headers, keep_length=request.method == "HEAD" and not answered.body)
        if generation == "3.0" and _size(headers) > limits.HTTP_RESPONSE_HEADER_BYTES:
            raise BadResponse(reason=f"its headers are larger than {limits.HTTP_RESPONSE_HEADER_BYTES} bytes")
        body = answered.body if result.stream is None else result.stream
        return Response(http.status, body, [*headers, *_own_headers(invoked, request)])


def _generation(target: HttpTarget) -> str:
    return "2.0" if target.trigger.service else "3.0"


def _wants_no_answer(request: Request, target: HttpTarget) -> bool:
    """Whether the caller does not want to wait for the function, which 3.0 knows."""
    return not target.trigger.service and request.headers.get("x-fc-invocation-type").lower() == "async"


def _call(request: Request, target: HttpTarget, host: str, request_id: str, now: Millis) -> FunctionCall:
    """Return *request* as a call of the target's function."""
    trigger = target.trigger
    return FunctionCall(
        service=trigger.service,
        function=trigger.function,
        qualifier=trigger.qualifier,
        event=request.body,
        request_id=request_id,
        now=now,
        tracing=dict(request.headers.starting_with("x-fc-tracing-")),
        http=http_call(request, target, host),
        stream=True,
        request=request,
        origin="trigger",
    )


async def _with_claims(request: Request, target: HttpTarget, now: Millis) -> tuple[Request, HttpTarget]:
    """Verify the tokens that *target* asks for, and return request and target with the claims for the function.

    Raises: AccessDenied, InvalidArgument.
    """
    for rules in target.token_rules:
        if not rules.concern(request.decoded_path):
            continue
        added = fields_of_claims(await claims_of(request, rules, now), rules)
        names = {name.lower() for name, _ in added.headers if name != "Cookie"}  # only a token may set these
        pairs = [pair for pair in request.headers.pairs if pair[0].lower() not in names]
        body = request.body
        if added.form and "x-www-form-urlencoded" in request.headers.get("content-type").lower():
            body += (b"&" if body else b"") + added.form.encode("ascii")
            pairs = [pair for pair in pairs if pair[0].lower() != "content-length"]
            pairs.append(("Content-Length", str(len(body))))
        if added.query:
            query = f"{'&' if '?' in target.target else '?'}{added.query}"
            target = replace(target, target=target.target + query, request_uri=target.request_uri + query)
        arriving = request.arriving
        request = Request(
            request.method,
            request.target,
            Headers([*pairs, *added.headers]),
            body,
            scheme=request.scheme,
            remote=request.remote,
            authority=request.authority,
        )
        request.arriving = arriving
    return request, target


def check_allowed(request: Request, target: HttpTarget, principal: Principal) -> None:
    """Check that the trigger allows the request's address, its sender and its method.

    Raises: AccessDenied.
    """
    trigger = target.trigger
    if trigger.config.get("disableURLInternet") and target.domain is None:
        raise FcError("AccessDenied", f"the default address of the trigger '{trigger.name}' is disabled")
    if "function" in target.auth and principal.account != target.tenant.account:
        raise FcError("AccessDenied", "The service or function doesn't belong to you")
    if request.method not in trigger.config.get("methods", ()):
        raise FcError(
            "AccessDenied", f"the method {request.method[:40]} is not allowed by the trigger '{trigger.name}'"
        )


def check_size(request: Request, generation: str) -> None:
    """Check the size of header fields, of path and query, and of the body unless it is still arriving.

    Raises: InvalidArgument.
    """
    body = 0 if request.arriving is not None else len(request.body)
    parts = (
        ("headers", _size(request.headers.pairs), limits.HTTP_HEADER_BYTES[generation]),
        ("path and query", len(request.target), limits.HTTP_TARGET_BYTES),
        ("body", body, limits.HTTP_BODY_BYTES[generation]),
    )
    for name, size, limit in parts:
        if size > limit:
            raise too_large(name, limit)


def http_call(request: Request, target: HttpTarget, host: str) -> HttpCall:
    """Return the request in the form for the function."""
    headers = tuple(
        (name, value)
        for name, value in request.headers.pairs
        if name.lower() not in _NOT_PASSED_IN and not name.lower().startswith("x-fc-")
    )
    return HttpCall(
        method=request.method,
        path=unquote(target.target.partition("?")[0], errors="surrogateescape"),
        request_uri=target.request_uri,
        base_path=target.base_path,
        client_ip=request.remote,
        host=request.headers.get("host") or host,
        headers=headers,
        websocket=request.method == "GET" and asks_for_websocket(request.headers),
    )


def passed_out(headers: tuple[tuple[str, str], ...], *, keep_length: bool = False) -> list[tuple[str, str]]:
    """Return the header fields of a function's answer that go to the client.

    With *keep_length* Content-Length stays: an answer to HEAD has no body to count.

    Raises: BadResponse for a field that cannot be sent.
    """
    passed = []
    try:
        for name, value in headers:
            key = field_name(name)
            if key.startswith("x-fc-") or (key in _NOT_PASSED_OUT and not (keep_length and key == "content-length")):
                continue
            if key == "content-length" and not (value.isascii() and value.isdigit()):
                continue
            join_head([f"{name}: {value}"])
            passed.append((name, value))
    except Unsendable as error:
        raise BadResponse(reason=str(error)) from error
    return passed


def _own_headers(invoked: Invoked, request: Request) -> list[tuple[str, str]]:
    result = invoked.result
    own = [
        ("X-Fc-Invocation-Duration", str(round(result.duration_ms))),
        ("X-Fc-Max-Memory-Usage", f"{result.max_memory_mb:.2f}"),
        ("X-Fc-Instance-Id", result.instance_id),
        *invoked.fields,
    ]
    if request.headers.get("x-fc-log-type").lower() == "tail":
        own.append(("X-Fc-Log-Result", logs.tail(result.log)))
    return own


def _switched(
    invoked: Invoked, stream: StreamedBody, upstream: Upstream, http: HttpAnswer, request: Request
) -> Response:
    """Return the answer after which client and function speak to each other.

    Source: Function Compute, HTTP triggers and WebSocket; that it names no session has been observed.
    """
    fields = [("Connection", "Upgrade"), ("Upgrade", "websocket"), *passed_out(http.headers)]
    own = _own_headers(invoked._replace(fields=()), request)
    return SwitchingProtocols(Relay(stream, upstream), [*fields, *own], stream)


def _failed(invoked: Invoked, request: Request) -> Response:
    """Return the answer for a function that failed.

    Source: HTTP function FAQ for the status; that it is the same for a time-out and in 3.0 is assumed.
    """
    result = invoked.result
    headers = [("Content-Type", "application/json"), ("X-Fc-Error-Type", str(result.error_type))]
    return Response(502, result.body, [*headers, *_own_headers(invoked, request)])


def _too_large(message: str) -> Response:
    headers = [("Content-Type", "application/json"), ("X-Fc-Error-Type", "UnhandledInvocationError")]
    return Response(502, logs.error_body(message), headers)


def _size(headers: list[tuple[str, str]]) -> int:
    return sum(len(name) + len(value) for name, value in headers)


async def _beside_the_loop(size: int, job: Callable[[], T]) -> T:
    """Write a body of *size* bytes into an envelope, or read one out of it: a large one in a thread."""
    return job() if size < LARGE_BODY else await asyncio.to_thread(job)
