"""An HTTP request to a trigger: may it, what the function gets, what the client gets.

A handler of 2.0 and every custom runtime serve the request itself; a built-in runtime of 3.0 gets it as a JSON event.

Source: Function Compute, HTTP triggers (limits, header fields left out, statuses).
"""

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TypeVar
from urllib.parse import unquote

from emulator.http.heads import Unsendable, field_name, join_head
from emulator.http.message import Headers, Pairs, Request, Response
from emulator.kernel.clock import Millis
from emulator.kernel.frozen import replace
from emulator.kernel.identity import Principal
from emulator.services.fc import limits
from emulator.services.fc.attributes import is_custom
from emulator.services.fc.errors import BadResponse, EntityTooLarge, FcError, InvalidArgument
from emulator.services.fc.invoke.http_envelope import Answered, Asked, read_result, render_event
from emulator.services.fc.invoke.http_routing import Cors, HttpTarget
from emulator.services.fc.invoke.invoking import Enqueue, FunctionCall, Invoked, Invoker
from emulator.services.fc.invoke.tokens import claims_of, hand_over
from emulator.services.fc.runtime.model import HttpAnswer, HttpCall


def preflight(cors: Cors, request: Request) -> Pairs | None:
    """Return the header fields that answer a preflight, None when *request* is none.

    An origin or method that is not allowed gets an answer that allows nothing.
    """
    method = request.headers.get("access-control-request-method")
    if request.method != "OPTIONS" or not method or "origin" not in request.headers:
        return None
    fields = allowed_fields(cors, request)
    methods = _texts(cors, "allowMethods")
    if not fields or not ("*" in methods or method.upper() in {each.upper() for each in methods}):
        return []
    asked = request.headers.get("access-control-request-headers")
    headers = _texts(cors, "allowHeaders")
    fields.append(("Access-Control-Allow-Methods", method.upper() if "*" in methods else ", ".join(methods)))
    if headers:
        fields.append(("Access-Control-Allow-Headers", (asked or "*") if "*" in headers else ", ".join(headers)))
    if cors.get("maxAge") is not None:
        fields.append(("Access-Control-Max-Age", str(cors["maxAge"])))
    return fields


def allowed_fields(cors: Cors, request: Request) -> Pairs:
    """Return what an answer to the page of *request* carries, nothing when its origin is not allowed."""
    origin = request.headers.get("origin")
    origins = _texts(cors, "allowOrigins")
    if not origin or not any(fnmatchcase(origin, each) for each in origins):
        return []
    credentials = bool(cors.get("allowCredentials"))
    shown = "*" if "*" in origins and not credentials else origin
    fields = [("Access-Control-Allow-Origin", shown), ("Vary", "Origin")]
    if credentials:
        fields.append(("Access-Control-Allow-Credentials", "true"))
    if exposed := _texts(cors, "exposeHeaders"):
        fields.append(("Access-Control-Expose-Headers", ", ".join(exposed)))
    return fields


def with_fields(headers: Pairs, own: Pairs) -> Pairs:
    """Return *headers* of a function's answer with *own* in place of what it says of the same."""
    names = {name.lower() for name, _ in own if name != "Vary"}
    return [pair for pair in headers if pair[0].lower() not in names] + own


def _texts(cors: Cors, name: str) -> Sequence[str]:
    value = cors.get(name)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


T = TypeVar("T")

_NOT_PASSED_IN = frozenset({"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "expect"})
_NOT_PASSED_OUT = frozenset(
    {"connection", "content-length", "date", "keep-alive", "server", "upgrade", "transfer-encoding", "te", "trailer"}
)
_LARGE_BODY = 256 * 1024
"""A body from this size on is written into an envelope, or read out of one, in a thread."""


class HttpInvoker:
    """Serves requests to HTTP triggers."""

    def __init__(self, invoker: Invoker, enqueue: Enqueue) -> None:
        self._invoker = invoker
        self._enqueue = enqueue

    async def serve(
        self, request: Request, target: HttpTarget, principal: Principal, host: str, request_id: str, now: Millis
    ) -> Response:
        """Run the trigger's function for *request*.

        Raises: AccessDenied, InvalidArgument, BadResponse, and what a call raises: `Invoker.check` and `Invoker.run`.
        """
        trigger = target.trigger
        if target.cors and (fields := preflight(target.cors, request)) is not None:
            return Response(204, b"", fields)
        check_allowed(request, target, principal)
        generation = "2.0" if trigger.service else "3.0"
        check_size(request, generation)
        request, target = await _with_claims(request, target, now)
        call = FunctionCall(
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
        chosen = self._invoker.check(target.tenant, call)
        as_event = generation == "3.0" and not is_custom(chosen.image.runtime)
        if as_event:
            call = await self._as_event(call, target, host)
        if generation == "3.0" and request.headers.get("x-fc-invocation-type").lower() == "async":
            # the caller does not want to wait. Source: web function page of 3.0; the answer is assumed
            self._enqueue(target.tenant, call, "")
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

    async def _as_event(self, call: FunctionCall, target: HttpTarget, host: str) -> FunctionCall:
        http = call.http
        assert http is not None
        asked = Asked(
            method=http.method,
            target=target.target,
            headers=http.headers,
            body=call.event,
            account=target.tenant.account,
            host=host,
            client_ip=http.client_ip,
            request_id=call.request_id,
            now=call.now,
        )
        event = await _beside_the_loop(len(asked.body), lambda: render_event(asked))
        return replace(call, event=event, http=None)

    async def _answer(self, invoked: Invoked, request: Request, generation: str, *, as_event: bool) -> Response:
        result = invoked.result
        if as_event:
            answered = await _beside_the_loop(len(result.body), lambda: read_result(result.body))
        else:
            answered = Answered(result.http or HttpAnswer(status=200, headers=()), result.body)
        http = answered.http
        if not 200 <= http.status <= 599:
            raise BadResponse(reason=f"{http.status} is not a status")
        headers = passed_out(http.headers, keep_length=request.method == "HEAD" and not answered.body)
        if generation == "3.0" and _size(headers) > limits.HTTP_RESPONSE_HEADER_BYTES:
            raise BadResponse(reason=f"its headers are larger than {limits.HTTP_RESPONSE_HEADER_BYTES} bytes")
        body = answered.body if result.stream is None else result.stream
        return Response(http.status, body, [*headers, *_own_headers(invoked, request)])


async def _with_claims(request: Request, target: HttpTarget, now: Millis) -> tuple[Request, HttpTarget]:
    """Verify the tokens that *target* asks for, and return request and target with what they tell the function.

    Raises: AccessDenied, InvalidArgument.
    """
    for rules in target.token_rules:
        if not rules.concern(request.decoded_path):
            continue
        handed = hand_over(await claims_of(request, rules, now), rules)
        names = {name.lower() for name, _ in handed.headers if name != "Cookie"}  # nobody else may set these
        pairs = [pair for pair in request.headers.pairs if pair[0].lower() not in names]
        body = request.body
        if handed.form and "x-www-form-urlencoded" in request.headers.get("content-type").lower():
            body += (b"&" if body else b"") + handed.form.encode("ascii")
            pairs = [pair for pair in pairs if pair[0].lower() != "content-length"]
            pairs.append(("Content-Length", str(len(body))))
        if handed.query:
            query = f"{'&' if '?' in target.target else '?'}{handed.query}"
            target = replace(target, target=target.target + query, request_uri=target.request_uri + query)
        request = Request(
            request.method,
            request.target,
            Headers([*pairs, *handed.headers]),
            body,
            scheme=request.scheme,
            remote=request.remote,
            authority=request.authority,
        )
    return request, target


def check_allowed(request: Request, target: HttpTarget, principal: Principal) -> None:
    """Check who asks, and how.

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
    """Check what the platform limits.

    Raises: InvalidArgument.
    """
    parts = (
        ("headers", _size(request.headers.pairs), limits.HTTP_HEADER_BYTES[generation]),
        ("path and query", len(request.target), limits.HTTP_TARGET_BYTES),
        ("body", len(request.body), limits.HTTP_BODY_BYTES[generation]),
    )
    for name, size, limit in parts:
        if size > limit:
            raise InvalidArgument(f"the {name} of the request exceed the maximum allowed size ({limit} bytes)")


def http_call(request: Request, target: HttpTarget, host: str) -> HttpCall:
    """Return the request as the function sees it."""
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
    ]
    if request.headers.get("x-fc-log-type").lower() == "tail":
        own.append(("X-Fc-Log-Result", b64encode(result.log[-limits.LOG_TAIL_BYTES :]).decode("ascii")))
    return own


def _failed(invoked: Invoked, request: Request) -> Response:
    """Return the answer for a function that failed.

    Source: HTTP function FAQ for the status; that it is the same for a time-out and in 3.0 is assumed.
    """
    result = invoked.result
    headers = [("Content-Type", "application/json"), ("X-Fc-Error-Type", str(result.error_type))]
    return Response(502, result.body, [*headers, *_own_headers(invoked, request)])


def _too_large(message: str) -> Response:
    body = json.dumps({"errorMessage": message}, separators=(",", ":")).encode()
    headers = [("Content-Type", "application/json"), ("X-Fc-Error-Type", "UnhandledInvocationError")]
    return Response(502, body, headers)


def _size(headers: list[tuple[str, str]]) -> int:
    return sum(len(name) + len(value) for name, value in headers)


async def _beside_the_loop(size: int, job: Callable[[], T]) -> T:
    return job() if size < _LARGE_BODY else await asyncio.to_thread(job)
