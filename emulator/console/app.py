"""The console's Flask application: what all pages share. Imported on the first request for a page.

Pages are modules of `emulator.console.pages`, each a blueprint. A page that htmx asks for (header ``HX-Request``)
answers with its content alone; otherwise the content stands in the frame with navigation and search. Values of users
are shown as folded and coloured JSON, or else as text, and never too much of them.
"""

import json
import logging
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from io import BytesIO
from typing import Any
from zlib import crc32

from flask import Flask, current_app, g, redirect, render_template, request
from markupsafe import Markup, escape
from werkzeug.exceptions import HTTPException, NotFound
from werkzeug.test import run_wsgi_app

from emulator.console.executions import took
from emulator.console.front import Pages, Sessions
from emulator.console.language import COOKIE, LANGUAGES, catalogue, chosen
from emulator.console.pages import BLUEPRINTS
from emulator.console.view import View, link, view
from emulator.gateway.errors import GatewayError
from emulator.http.message import Request, Response
from emulator.kernel.clock import Millis
from emulator.kernel.errors import ServiceError
from emulator.kernel.instrumentation import EVENTS, parted
from emulator.wire.dates import iso_millis

SESSION = "localyun.session"
"""Key of the WSGI environment: the session the request belongs to, empty when a page is made for nobody."""

ERRORS = "localyun.errors"
"""Key of the WSGI environment: a list that gets the error which the page shows, when it shows one."""


def run(
    application: Callable[..., Any], request: Request, session: str, prefix: str, extra: Iterable[tuple[str, str]]
) -> Response:
    """Return the answer of the WSGI *application*, with *extra* headers; static files may be kept by the browser.

    Raises: ServiceError when there is no session to show it to.
    """
    environ = _environment(request, session, prefix)
    content, status, headers = run_wsgi_app(application, environ, buffered=True)
    if not session and environ[ERRORS]:
        raise environ[ERRORS][0]
    pairs = [(name, value) for name, value in headers.items() if name.lower() not in {"content-length", "connection"}]
    names = {name.lower() for name, _ in pairs}
    pairs += [(name, value) for name, value in extra if name.lower() not in names]
    return Response(int(status.partition(" ")[0]), b"".join(content), pairs)


def _environment(request: Request, session: str, prefix: str) -> dict[str, Any]:
    host, _, port = (request.headers.get("host") or "localhost").rpartition(":")
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": prefix,
        "PATH_INFO": request.decoded_path.removeprefix(prefix).encode("utf-8", "surrogateescape").decode("latin-1"),
        "QUERY_STRING": request.query or "",
        "SERVER_NAME": host or "localhost",
        "SERVER_PORT": port if port.isdigit() else "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "CONTENT_TYPE": request.headers.get("content-type"),
        "CONTENT_LENGTH": str(len(request.body)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": request.scheme,
        "wsgi.input": BytesIO(request.body),
        "wsgi.errors": BytesIO(),
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        SESSION: session,
        ERRORS: [],
    }
    for name, value in request.headers.pairs:
        key = name.upper().replace("-", "_")
        if key not in {"CONTENT_TYPE", "CONTENT_LENGTH"}:
            environ.setdefault(f"HTTP_{key}", value)
    return environ


_log = logging.getLogger(__name__)

THEME_COOKIE = "localyun_console_theme"
REGION_COOKIE = "localyun_console_region"
THEMES = frozenset({"light", "dark"})

STATES = {
    each: each[0].upper() + each[1:]
    for each in (
        *("running", "succeeded", "failed", "caught", "abandoned", "pending", "delivered", "dropped", "dead-lettered"),
        *("cold", "warm", "provisioned", "active", "inactive", "delayed", "idle", "busy", "starting", "stopping"),
    )
} | {"Starting": "Starting", "Stopped": "Stopped", "TimedOut": "Timed out"}
"""States as people read them; those of executions already begin with a capital letter."""

COMING = (
    *EVENTS,
    *("before", "after", "failure", "next", "continue", "change", "skip"),
    *("flow", "execution", "queue", "topic", "function", "bucket", "trigger"),
    *("request", "message", "push", "call", "step"),
)
"""Kinds of what comes next, some with a name or number behind, and of what is found."""


def make_application(view: View, sessions: Sessions) -> Pages:
    """Return what answers requests for pages about *view*."""
    app = Flask("emulator.console", static_folder="static", template_folder="templates")
    app.config.update(PROPAGATE_EXCEPTIONS=False, TRAP_HTTP_EXCEPTIONS=False, MAX_CONTENT_LENGTH=8 * 1024 * 1024)
    app.extensions["view"] = view
    app.extensions["sessions"] = sessions
    app.jinja_env.add_extension("jinja2.ext.i18n")
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.install_gettext_callables(  # type: ignore[attr-defined]  # added by the extension
        lambda text: catalogue(g.language).gettext(text),
        lambda one, many, count: catalogue(g.language).ngettext(one, many, count),
        newstyle=True,
    )
    app.jinja_env.filters.update(body=body, decoded=decoded, iso=_iso, json=tree)
    app.before_request(_begin)
    app.context_processor(_common)
    app.register_error_handler(ServiceError, _refused)
    app.register_error_handler(NotFound, _no_page)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _failed)
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    for name in ("language", "theme", "region"):
        app.add_url_rule(f"/{name}/<value>", name, partial(_choose, name), methods=["POST"])
    return partial(run, app)


def _begin() -> None:
    g.language = chosen(request.headers.get("Cookie", ""), request.headers.get("Accept-Language", ""))
    theme = request.cookies.get(THEME_COOKIE, "")
    g.theme = theme if theme in THEMES else ""
    g.session = request.environ.get(SESSION, "")
    region = request.cookies.get(REGION_COOKIE, "")
    g.region = region if g.session and region and region in view().regions() else ""
    if g.session and "HX-Request" not in request.headers:
        g.commits = current_app.extensions["view"].about()["commits"]  # before anything is read for the page


def _common() -> dict[str, Any]:
    sessions: Sessions = current_app.extensions["sessions"]
    return {
        "commits": g.get("commits", 0),
        "csrf": sessions.form_token(g.session) if g.session else "",
        "language": g.language,
        "languages": LANGUAGES,
        "theme": g.theme,
        "state_name": lambda state: catalogue(g.language).gettext(STATES.get(state) or state),
        "fragment": "HX-Request" in request.headers,
        "coming": _coming,
        "link": link,
        "took": took,
        "view": view(),
    }


def _coming(what: str) -> str:
    """Return a kind of what comes or is found, or a sentence, translated; a name or number may follow the kind."""
    kind, rest = parted(what, COMING)
    return catalogue(g.language).gettext(kind) + rest


def _iso(at: int | str) -> str:
    """Return a time in milliseconds as text; a text stays as it is."""
    return iso_millis(Millis(at)) if isinstance(at, int) else at


def _refused(error: ServiceError) -> tuple[str, int]:
    request.environ[ERRORS].append(error)
    return render_template("error.html", title=error.code, text=error.message), error.http_status


def _no_page(error: NotFound) -> tuple[str, int]:
    request.environ[ERRORS].append(GatewayError("NotFound", f"The console has no page {request.path}."))
    return render_template("no_page.html"), error.code


def _http_error(error: HTTPException) -> tuple[str, int]:
    return render_template("error.html", title=error.name, text=error.description or ""), error.code or 500


def _failed(error: Exception) -> tuple[str, int]:
    _log.error("the page %s cannot be made", request.path, exc_info=error)
    return render_template("error.html", title=type(error).__name__, text=""), 500


def _choose(what: str, value: str) -> Any:
    """Keep a choice of the reader's in a cookie, and go back to the page."""
    match what:
        case "language":
            cookie, kept = COOKIE, value if value in LANGUAGES else "en"
        case "theme":
            cookie, kept = THEME_COOKIE, value if value in THEMES else ""
        case _:
            cookie, kept = REGION_COOKIE, value if value in view().regions() else ""
    back = request.form.get("back", "")
    prefix = request.script_root
    answer = redirect(back if back.startswith(f"{prefix}/") and "//" not in back else f"{prefix}/", 303)
    answer.set_cookie(cookie, kept, max_age=365 * 24 * 3600, path=prefix, samesite="Strict", httponly=True)
    return answer


_LONGEST = 20_000
"""Characters of a text, and of the texts in a value together."""

_NODES = 1_000
"""Members and elements of a value that are shown."""

_OPEN = 12
"""Objects and lists with more members begin folded, as do those below the second level."""


def body(text: str | bytes) -> Markup:
    """Return a text for pages: folded when it is a JSON object or list, else as it is, up to a length."""
    shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    if shown[:1] in {"{", "["} or shown.lstrip()[:1] in {"{", "["}:
        try:
            return tree(json.loads(shown))
        except (ValueError, RecursionError):
            pass
    rest = "" if len(shown) <= _LONGEST else Markup('<p class="quiet">… {} / {}</p>').format(_LONGEST, len(shown))
    return Markup('<pre class="body" tabindex="0">{}</pre>{}').format(shown[:_LONGEST], rest)


def tree(value: Any) -> Markup:
    """Return a JSON value as nested lists that fold; what is beyond a thousand members is counted only."""
    key = crc32(repr(value)[:_LONGEST].encode("utf-8", "replace"))
    room = _Room()
    return Markup('<div class="json" tabindex="0" role="group">{}</div>').format(
        Markup("").join(_shown(value, room, f"{key:x}", 0))
    )


class _Room:
    """What may still be shown of one value."""

    def __init__(self) -> None:
        self.nodes = _NODES
        self.characters = _LONGEST


def _shown(value: Any, room: _Room, path: str, depth: int) -> Iterator[Markup]:
    room.nodes -= 1
    if isinstance(value, dict):
        pairs = [
            (Markup('<span class="key">{}</span>: ').format(_cut(str(name), room)), each)
            for name, each in value.items()
        ]
        yield from _folding(pairs, "{}", room, path, depth)
    elif isinstance(value, list):
        yield from _folding([(Markup(""), each) for each in value], "[]", room, path, depth)
    elif isinstance(value, str):
        yield Markup('<span class="string">{}</span>').format(_cut(json.dumps(value, ensure_ascii=False), room))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield Markup('<span class="number">{}</span>').format(json.dumps(value))
    else:
        yield Markup('<span class="word">{}</span>').format(json.dumps(value))


def _folding(pairs: list[tuple[Markup, Any]], marks: str, room: _Room, path: str, depth: int) -> Iterator[Markup]:
    if not pairs:
        yield escape(marks)
        return
    is_open = Markup(" open") if len(pairs) <= _OPEN and depth < 2 else ""
    yield Markup('<details data-keep="{}"{}><summary>{} {} {}</summary><ul>').format(
        path, is_open, marks[0], len(pairs), marks[1]
    )
    for number, (name, value) in enumerate(pairs):
        if room.nodes <= 0 or room.characters <= 0 or depth > 40:
            yield Markup("<li>… {}</li>").format(len(pairs) - number)
            break
        yield Markup("<li>{}{}</li>").format(name, Markup("").join(_shown(value, room, f"{path}.{number}", depth + 1)))
    yield Markup("</ul></details>")


def _cut(text: str, room: _Room) -> str:
    shown = text if len(text) <= max(room.characters, 100) else f"{text[: max(room.characters, 100)]}…"
    room.characters -= len(shown)
    return shown


def decoded(body: str) -> str:
    """Return the text behind Base64, empty when *body* is none."""
    try:
        text = b64decode(body.encode("ascii"), validate=True).decode() if len(body) % 4 == 0 and len(body) > 7 else ""
    except ValueError:
        return ""
    return text if text.isprintable() or "\n" in text else ""
