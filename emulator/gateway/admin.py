"""The emulator's own endpoints under ``/_localyun/``: health for everybody, the rest for the admin token's holder.

Figures are for everybody too while only this machine reaches the emulator; they name queues, not what is in them.

The token travels as ``X-Localyun-Token`` or ``Authorization: Bearer``; changes are POST with a JSON body. A browser
cannot send any of that without a preflight, and preflights are refused.
"""

import hmac
import json
from binascii import a2b_base64
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Protocol

from emulator.gateway.errors import AdminBadRequest, AdminForbidden, AdminNotFound, BodyTooLarge
from emulator.gateway.router import ADMIN_PREFIX
from emulator.http.message import Response
from emulator.kernel.errors import AuthFailure, ServiceError
from emulator.kernel.ids import Ids
from emulator.kernel.metrics import CONTENT_TYPE
from emulator.wire.request import Answer, OperationRequest

CERTIFICATE_PAGE = "mns/signing-cert.pem"
"""What ``x-mns-signing-cert-url`` of a push names; receivers have no key, so anybody may read it."""


_MOST_ROWS = 100_000
_LAST_PORT = 65_535


class Controls(Protocol):
    """What the admin endpoints can ask of the running emulator."""

    def health(self) -> dict[str, Any]:
        """Return status, version, services, account, region and the id of the installation."""
        ...

    def status(self) -> dict[str, Any]:
        """Return health and more: process, ports, functions, counts."""
        ...

    def proxy(self) -> dict[str, Any]:
        """Return the addresses of the proxy, which hold the secret of this run."""
        ...

    @property
    def shows_metrics(self) -> bool:
        """Whether anybody who reaches this emulator may read its figures: only while that is nobody from outside."""
        ...

    def metrics(self) -> bytes:
        """Return the emulator's figures in the exposition format of Prometheus."""
        ...

    def trace(self, request: str) -> list[dict[str, Any]]:
        """Return the recent lines of the log that came about through a request, in JSON's terms."""
        ...

    async def reset(self) -> None:
        """Forget everything the services know; functions of the folder stay."""
        ...

    def stop_soon(self) -> None:
        """End the emulator after this answer."""
        ...

    def logs(self, function: str, lines: int, *, follow: bool) -> AsyncIterator[bytes]:
        """Yield the last *lines* of a function's log (all functions when empty), then new ones while following.

        Raises: ServiceError when there is no such function.
        """
        ...

    def code_download(self, token: str) -> bytes | None:
        """Return the zip a GetFunctionCode answer pointed to, or None."""
        ...

    async def signing_certificate(self) -> bytes:
        """Return the certificate that pushes of topics are verified with, as PEM."""
        ...

    async def purge_queue(self, queue: str) -> int:
        """Delete every message a queue holds and return how many there were.

        Raises: ServiceError when there is no such queue.
        """
        ...

    def deliveries(self, topic: str, subscription: str, limit: int) -> list[dict[str, Any]]:
        """Return what became of the messages for a subscription, in JSON's terms.

        Raises: ServiceError when there is no such topic or subscription.
        """
        ...

    def outbox(self, limit: int) -> list[dict[str, Any]]:
        """Return mails and the like that were recorded instead of being sent, newest first, in JSON's terms."""
        ...

    def debug(self, function: str, event: bytes, *, wait: bool, port: int) -> AsyncIterator[dict[str, Any]]:
        """Call a function with a debugger in it and yield what happens, in JSON's terms; closing it ends the call.

        Raises: ServiceError when there is no such function or it cannot be debugged.
        """
        ...

    def triggers(self) -> list[dict[str, Any]]:
        """Return the triggers of all functions, in JSON's terms."""
        ...

    async def fire_trigger(
        self, function: str, trigger: str, payload: str | None, event: bytes | None
    ) -> dict[str, Any]:
        """Call a trigger's function now and return the result in JSON's terms; *function* is ``service/function``.

        Raises: ServiceError when there is no such trigger or its function cannot be called.
        """
        ...


class AdminFront:
    """The front of ``/_localyun/``."""

    name = "admin"
    max_body = 48 * 1024 * 1024  # a debugged call's event is the largest: 32 MiB in base64

    def __init__(self, controls: Controls, token: str, ids: Ids) -> None:
        self._controls = controls
        self._token = token
        self._ids = ids
        self._pages: Mapping[tuple[str, str], Callable[[OperationRequest], Answer]] = {
            ("GET", "status"): self._status,
            ("GET", "metrics"): self._metrics,
            ("GET", "trace"): self._trace,
            ("GET", "proxy"): self._proxy,
            ("GET", "logs"): self._logs,
            ("GET", "deliveries"): self._deliveries,
            ("GET", "outbox"): self._outbox,
            ("GET", "triggers"): self._triggers,
            ("POST", "debug"): self._debug,
            ("POST", "fire-trigger"): self._fire_trigger,
            ("POST", "purge-queue"): self._purge_queue,
            ("POST", "reset"): self._reset,
            ("POST", "stop"): self._stop,
        }

    def new_request_id(self, context: OperationRequest) -> str:
        """Return a UUID."""
        del context
        return self._ids.uuid()

    def allows_anonymous(self, context: OperationRequest) -> bool:
        """No signature here: the pages that need it ask for the token."""
        del context
        return True

    def auth_error(self, failure: AuthFailure, context: OperationRequest) -> ServiceError:
        """Never asked for: nothing here is signed."""
        del failure, context
        return AdminForbidden()

    def too_large(self, limit: int) -> ServiceError:
        """Return the refusal of an oversized body."""
        return BodyTooLarge(limit=limit)

    def render_error(self, error: ServiceError, context: OperationRequest) -> Response:
        """Write an error as JSON."""
        return _json(error.http_status, {"Code": error.code, "Message": error.message, "RequestId": context.request_id})

    def handle(self, context: OperationRequest) -> Answer:
        """Serve one page.

        Raises: AdminNotFound, AdminForbidden, AdminBadRequest.
        """
        request = context.http
        page = request.decoded_path.removeprefix(ADMIN_PREFIX)
        reads = request.method in {"GET", "HEAD"}
        if page == "health" and reads:
            context.operation = "GET health"
            return _json(200, self._controls.health())
        if page.startswith("code/") and request.method in {"GET", "HEAD"}:
            context.operation = "GET code"
            return self._code(page.removeprefix("code/"), context)
        if page == CERTIFICATE_PAGE and reads:
            context.operation = "GET signing certificate"
            return self._certificate()
        found = self._pages.get((request.method, page))
        if found is None:
            raise AdminNotFound(method=request.method, path=request.path)
        context.operation = f"{request.method} {page}"
        if page == "metrics" and self._controls.shows_metrics:
            return found(context)
        given = request.headers.get("x-localyun-token") or request.headers.get("authorization").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode()):
            raise AdminForbidden
        if request.method == "POST":
            _check_json(context)
        return found(context)

    async def _certificate(self) -> Response:
        content = await self._controls.signing_certificate()
        return Response(200, content, [("Content-Type", "application/x-pem-file")])

    def _code(self, token: str, context: OperationRequest) -> Response:
        content = self._controls.code_download(token)
        if content is None:
            raise AdminNotFound(method=context.http.method, path="such code package")
        return Response(200, content, [("Content-Type", "application/zip")])

    def _status(self, context: OperationRequest) -> Response:
        del context
        return _json(200, self._controls.status())

    def _proxy(self, context: OperationRequest) -> Response:
        del context
        return _json(200, self._controls.proxy())

    def _metrics(self, context: OperationRequest) -> Response:
        del context
        return Response(200, self._controls.metrics(), [("Content-Type", CONTENT_TYPE)])

    def _trace(self, context: OperationRequest) -> Response:
        request = dict(context.http.query_pairs).get("request", "")
        return _json(200, {"lines": self._controls.trace(request)})

    def _reset(self, context: OperationRequest) -> Awaitable[Response]:
        del context

        async def reset() -> Response:
            await self._controls.reset()
            return _json(200, {"status": "reset"})

        return reset()

    def _stop(self, context: OperationRequest) -> Response:
        del context
        self._controls.stop_soon()
        return _json(200, {"status": "stopping"})

    def _logs(self, context: OperationRequest) -> Response:
        asked = dict(context.http.query_pairs)
        lines = _number(asked, "lines", 100)
        follow = asked.get("follow", "false").lower() == "true"
        pieces = self._controls.logs(asked.get("function", ""), lines, follow=follow)
        return Response(200, pieces, [("Content-Type", "text/plain; charset=utf-8")])

    def _purge_queue(self, context: OperationRequest) -> Awaitable[Response]:
        queue = dict(context.http.query_pairs).get("queue", "")

        async def purge() -> Response:
            return _json(200, {"queue": queue, "deleted": await self._controls.purge_queue(queue)})

        return purge()

    def _deliveries(self, context: OperationRequest) -> Response:
        asked = dict(context.http.query_pairs)
        limit = _number(asked, "limit", 100)
        found = self._controls.deliveries(asked.get("topic", ""), asked.get("subscription", ""), limit)
        return _json(200, {"deliveries": found})

    def _outbox(self, context: OperationRequest) -> Response:
        limit = _number(dict(context.http.query_pairs), "limit", 100)
        return _json(200, {"entries": self._controls.outbox(limit)})

    def _triggers(self, context: OperationRequest) -> Response:
        del context
        return _json(200, {"triggers": self._controls.triggers()})

    def _debug(self, context: OperationRequest) -> Response:
        """Open a debugger and call a function; the answer is a line of JSON for each step."""
        asked = json.loads(context.http.body or b"{}")
        if not isinstance(asked, dict):
            raise AdminBadRequest("the body must be a JSON object")
        function, event, wait, port = (asked.get(name) for name in ("function", "event", "wait", "port"))
        if not isinstance(function, str) or not isinstance(event, str | None):
            raise AdminBadRequest("function and event must be texts")
        if not isinstance(wait, bool) or type(port) is not int or not 0 <= port <= _LAST_PORT:
            raise AdminBadRequest(f"wait must be a truth value and port a number up to {_LAST_PORT}")
        steps = self._controls.debug(function, _from_base64(event or ""), wait=wait, port=port)
        return Response(200, _lines(steps), [("Content-Type", "application/x-ndjson")])

    def _fire_trigger(self, context: OperationRequest) -> Awaitable[Response]:
        asked = json.loads(context.http.body or b"{}")
        if not isinstance(asked, dict):
            raise AdminBadRequest("the body must be a JSON object")
        texts = {name: asked.get(name) for name in ("function", "trigger", "payload", "event")}
        for name, text in texts.items():
            if not isinstance(text, str) and (text is not None or name in {"function", "trigger"}):
                raise AdminBadRequest(f"{name} must be a text")
        event = texts["event"]

        async def fire() -> Response:
            content = None if event is None else _from_base64(event)
            return _json(
                200,
                await self._controls.fire_trigger(
                    str(texts["function"]), str(texts["trigger"]), texts["payload"], content
                ),
            )

        return fire()


async def _lines(steps: AsyncIterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    async for step in steps:
        yield json.dumps(step).encode("ascii") + b"\n"


def _from_base64(text: str) -> bytes:
    """Return the bytes of an event.

    Raises: AdminBadRequest.
    """
    try:
        return a2b_base64(text, strict_mode=True)
    except ValueError:
        raise AdminBadRequest("event is not valid base64") from None


def _number(asked: Mapping[str, str], name: str, default: int) -> int:
    """Return a number of the query.

    Raises: AdminBadRequest.
    """
    text = asked.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and int(text) <= _MOST_ROWS):
        raise AdminBadRequest(f"{name} must be a number up to {_MOST_ROWS}, not {text!r}")
    return int(text)


def _check_json(context: OperationRequest) -> None:
    request = context.http
    if not request.headers.get("content-type").lower().startswith("application/json"):
        raise AdminBadRequest("the Content-Type must be application/json")
    try:
        json.loads(request.body or b"{}")
    except (ValueError, RecursionError):
        raise AdminBadRequest("the body is not JSON") from None


def _json(status: int, body: dict[str, Any]) -> Response:
    return Response(status, json.dumps(body).encode("ascii"), [("Content-Type", "application/json")])
