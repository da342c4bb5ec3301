"""The front of the console: sessions, and requests passed on to the pages.

Pages are made by a Flask application in a thread of its own, imported on the first request for one. All its reads and
changes are calls on the loop (`Bridge`). Live updates are a stream of events made on the loop itself: ``change`` with
the names of what has changed (`emulator.console.changes`), at most five times a second.

A browser logs in by a link that works once and for a minute; then a cookie identifies it, and every form carries a
token. The cookie is signed with a key of the installation, so an open page still works after the emulator was
restarted.
"""

import asyncio
import hmac
import logging
from base64 import b32encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from emulator.console.changes import Changes, written
from emulator.gateway.browsers import origin_of, own_origin
from emulator.gateway.errors import UnsignedFront
from emulator.http.message import Following, Headers, Request, Response
from emulator.kernel.clock import Clock
from emulator.kernel.digits import read_digits
from emulator.kernel.errors import BEGUN_BEFORE, ServiceError, Unavailable
from emulator.kernel.ids import Ids
from emulator.storage.eras import Overtaken
from emulator.storage.write_lock import StateLocked
from emulator.wire.operation import operation
from emulator.wire.request import Answer, OperationRequest
from emulator.wire.schema.kinds import FLAG, argument
from emulator.wire.xml import escape

LINK_S = 60
"""Seconds for which a link works."""

SESSION_S = 7 * 24 * 3600
"""Seconds for which a cookie is valid."""

_KEY_BYTES = 16

_OF_ADDRESSES = "/%?=&"
"""Characters that the address of a page may have besides those of names."""


class Sessions:
    """Links and cookies; nothing of them is stored. Times are real, not the emulator's.

    A cookie is valid in every run of the same *installation*, or, if that is empty, in this run only.
    """

    def __init__(self, clock: Clock, ids: Ids, port: int, installation: str = "") -> None:
        self._clock = clock
        self._ids = ids
        key = f"localyun console {installation}".encode()
        self._secret = sha256(key).digest() if installation else ids.secret(32)
        self._links: dict[str, tuple[float, str]] = {}
        self.cookie_name = f"localyun_console_{port}"
        """Cookies do not tell ports apart, so two emulators on one machine need two names."""

    def new_link(self, page: str = "/") -> str:
        """Return the key of a link that opens the console once, at *page*; short, as people copy the link."""
        now = self._clock.monotonic()
        self._links = {key: link for key, link in self._links.items() if link[0] > now}
        key = b32encode(self._ids.secret(_KEY_BYTES)).decode().rstrip("=").lower()
        self._links[key] = (now + LINK_S, page)
        return key

    def enter(self, key: str) -> tuple[str, str] | None:
        """Use up a link; return the value of a new cookie and the page, None for an unknown, used or expired link."""
        now = self._clock.monotonic()
        until, page = self._links.pop(key, (0.0, "/"))
        if until <= now:
            return None
        value = f"{self._ids.secret(16).hex()}.{self._clock.system() // 1000 + SESSION_S}"
        return f"{value}.{self._signed(value)}", page

    def is_open(self, cookies: str) -> str | None:
        """Return the valid session that a Cookie header names, None without one."""
        for part in cookies.split(";"):
            name, _, value = part.strip().partition("=")
            if name == self.cookie_name and self._is_good(value):
                return value
        return None

    def _is_good(self, value: str) -> bool:
        said, _, signature = value.rpartition(".")
        until = said.rpartition(".")[2]
        if not hmac.compare_digest(self._signed(said).encode(), signature.encode("utf-8", "replace")):
            return False
        return int(until) * 1000 > self._clock.system()

    def _signed(self, value: str) -> str:
        return hmac.new(self._secret, b"cookie " + value.encode("utf-8", "replace"), sha256).hexdigest()

    def form_token(self, session: str) -> str:
        """Return the token of a session's forms, against posts from other sites."""
        return hmac.new(self._secret, b"form " + session.encode(), sha256).hexdigest()

    def is_form_token(self, session: str, token: str) -> bool:
        """Whether *token* is that of *session*."""
        return hmac.compare_digest(self.form_token(session).encode(), token.encode("utf-8", "replace"))


_log = logging.getLogger(__name__)

PREFIX = "/_localyun/console"

_PAGE_S = 30.0
_HEARTBEAT_S = 15.0

_HEADERS = (
    ("Cache-Control", "no-store"),
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    ("Referrer-Policy", "same-origin"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)


Pages = Callable[[Request, str, str, Iterable[tuple[str, str]]], Response]
"""(request, session, path prefix, further headers) -> answer."""


Perform = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Calls a function on the loop and returns its result, awaited if need be."""


class Bridge:
    """Calls from the console's thread to the loop's, for one page after the other; *perform* is that of the page."""

    def __init__(self, loop: asyncio.AbstractEventLoop, perform: Perform) -> None:
        self._loop = loop
        self.perform = perform

    def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Perform *function* on the loop, as an operation of a service is, and return its result.

        Raises: what the function raises; TimeoutError.
        """
        perform = self.perform

        async def run() -> Any:
            try:
                return await perform(lambda: function(*arguments, **named))
            except StateLocked as error:
                raise Unavailable from error
            except Overtaken as error:
                raise Unavailable(BEGUN_BEFORE) from error

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(_PAGE_S)


class ConsoleFront(UnsignedFront):
    """Serves ``/_localyun/console/``.

    *load* makes the pages, in the console's thread, at the first request for one; *performer* returns what calls a
    function on the loop as an operation, which waits for a lock on the state; *changes* are sent to open pages; *log*
    yields the end of the log of a function in a region, and then what is added.
    """

    name = "console"
    max_body = 8 * 1024 * 1024

    def __init__(
        self,
        ids: Ids,
        sessions: Sessions,
        load: Callable[[Bridge], Pages],
        changes: Changes,
        log: Callable[[str, str], AsyncIterator[bytes]],
        performer: Callable[[], Perform],
    ) -> None:
        super().__init__(ids)
        self.sessions = sessions
        self._load = load
        self._performer = performer
        self._bridge: Bridge | None = None
        self._changes = changes
        self._log = log
        self._application: Pages | None = None
        self._thread: ThreadPoolExecutor | None = None

    def close(self) -> None:
        """End the thread and stop watching for changes."""
        self._changes.close()
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)

    def open_to_web(self, call: OperationRequest) -> bool:
        """Whether the request comes from one of the console's own pages, or from the address bar."""
        headers = call.http.headers
        if call.http.method not in {"GET", "HEAD", "POST"}:
            return False
        if headers.get("sec-fetch-site", "none").lower() not in {"none", "same-origin"}:
            return False
        own = own_origin(call.http)
        return all(origin_of(headers.get(name)) == own for name in ("origin", "referer") if name in headers)

    def render_error(self, error: ServiceError, call: OperationRequest) -> Response:
        """Write an error as a plain page."""
        return _page(error.http_status, error.code, error.message, call.http)

    def handle(self, call: OperationRequest) -> Answer:
        """Serve a page, a static file or the stream of changes."""
        request = call.http
        path = request.decoded_path.removeprefix(PREFIX)
        call.operation = f"{request.method} {path.partition('/static/')[0] or '/'}"[:80]
        if not request.path.startswith(PREFIX + "/"):
            return _redirect(PREFIX + "/")
        if path == "/login" and request.method == "GET":
            return self._login(call)
        if path.startswith("/static/"):
            return self._from_application(request, "")
        session = self.sessions.is_open(request.headers.get("cookie"))
        if session is None:
            _ = _words(request)
            return _page(401, "localyun console", _("Open the console with the command: localyun console"), request)
        if request.method == "POST":
            token = request.headers.get("x-csrf") or dict(request.form_pairs).get("csrf", "")
            if not self.sessions.is_form_token(session, token):
                _ = _words(request)
                return _page(403, _("Refused"), _("This form belongs to another session. Reload the page."), request)
        if path in {"/changes", "/log"} and request.method == "GET":
            headers = [("Content-Type", "text/event-stream"), *_HEADERS]
            if path == "/changes":
                events = self._events(request.headers.get("last-event-id") or call.query.get("since", ""))
            else:
                events = self._lines(self._log(call.query.get("function", ""), call.query.get("region", "")))
            call.parked = True
            return Following(200, events, headers)
        return self._from_application(request, session)

    def _login(self, call: OperationRequest) -> Response:
        entered = self.sessions.enter(call.query.get("key", ""))
        if entered is None:
            _ = _words(call.http)
            text = _("This link was already used or is older than {seconds} s. Get a new one: localyun console")
            return _page(403, "localyun console", text.format(seconds=LINK_S), call.http)
        cookie, page = entered
        response = _redirect(PREFIX + _page_of(call.query.get("to", page)))
        secure = "; Secure" if call.http.scheme == "https" else ""
        value = f"{self.sessions.cookie_name}={cookie}; Path={PREFIX}; HttpOnly; SameSite=Strict{secure}"
        response.headers.append(("Set-Cookie", value))
        return response

    async def check(self, page: str) -> None:
        """Make a page without a session, to check that it exists.

        Raises: ServiceError when there is no such page, or nothing that it could show.
        """
        await self._from_application(Request("GET", PREFIX + page, Headers()), "")

    async def _from_application(self, request: Request, session: str) -> Response:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="console")
        loop = asyncio.get_running_loop()
        run = copy_context().run  # effects of a page's calls have the page's request as their cause
        return await loop.run_in_executor(self._thread, run, self._run, loop, self._performer(), request, session)

    def _run(self, loop: asyncio.AbstractEventLoop, perform: Perform, request: Request, session: str) -> Response:
        """Make a page; in the console's thread, which makes one at a time."""
        if self._bridge is None:
            self._bridge = Bridge(loop, perform)
        self._bridge.perform = perform
        if self._application is None:
            self._application = self._load(self._bridge)
        return self._application(request, session, PREFIX, _HEADERS)

    async def _events(self, since: str) -> AsyncIterator[bytes]:
        """Yield an event for each change after *since*, the number of the latest that the page has seen."""
        seen = read_digits(since)
        yield b"retry: 1000\n\n"
        async for number, names in self._changes.listen(-1 if seen is None else seen, _HEARTBEAT_S):
            if names:
                lines = "".join(f"data: {written(name)}\n" for name in names)
                yield f"id: {number}\nevent: change\n{lines}\n".encode()
            else:
                yield b": still there\n\n"

    async def _lines(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Yield an event ``log`` for each piece of a log; no line of it can end an event."""
        yield b": begins\n\n"
        async for piece in pieces:
            text = piece.decode("utf-8", "replace").replace("\r", "")
            data = "".join(f"data: {line}\n" for line in text.removesuffix("\n").split("\n"))
            yield f"event: log\n{data}data:\n\n".encode()


@operation(
    "console-link",
    "POST /console-link",
    argument("page", about="The page to open, such as flows/NAME/executions/EXECUTION.", default=""),
    argument("check", FLAG, about="Refuse a page that does not exist.", default=False),
)
async def console_link(front: ConsoleFront, call: OperationRequest) -> dict[str, Any]:
    """A link that opens the console in a browser; it works once, within a minute."""
    page = _page_of(quote("/" + call.arguments["page"].lstrip("/"), safe=_OF_ADDRESSES))
    if call.arguments["check"]:
        await front.check(page)
    return {"path": f"{PREFIX}/login?key={front.sessions.new_link(page)}", "seconds": LINK_S}


def _page_of(path: str) -> str:
    """Return *path* when it can only be one of the console, else its first page."""
    return path if path.startswith("/") and "//" not in path else "/"


def _redirect(target: str) -> Response:
    return Response(303, b"", [("Location", target), *_HEADERS])


def _language(request: Request) -> str:
    from emulator.console import language  # only needed for pages

    return language.chosen(request.headers.get("cookie"), request.headers.get("accept-language"))


def _words(request: Request) -> Callable[[str], str]:
    """Return the function that translates texts into the browser's language."""
    from emulator.console import language  # only needed for pages

    return language.catalogue(_language(request)).gettext


def _page(status: int, title: str, text: str, request: Request) -> Response:
    body = (
        f'<!doctype html><html lang="{_language(request)}"><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<link rel="stylesheet" href="{PREFIX}/static/console.css">'
        f'<main id="main"><h1>{escape(title)}</h1><p>{escape(text)}</p></main>'
    )
    return Response(status, body.encode("utf-8", "replace"), [("Content-Type", "text/html; charset=utf-8"), *_HEADERS])
