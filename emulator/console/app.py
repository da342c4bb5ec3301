"""The console's Flask application: what all pages share. Imported on the first request for a page.

Pages are modules of `emulator.console.pages`, each a blueprint. A page requested by htmx (header ``HX-Request``) is its
content alone; otherwise the content is in the frame with navigation and search.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

from flask import Flask, current_app, g, redirect, render_template, request
from markupsafe import Markup
from werkzeug.exceptions import HTTPException, NotFound
from werkzeug.test import run_wsgi_app
from werkzeug.wrappers import Response as Answer

from emulator.console.changes import written
from emulator.console.executions import took
from emulator.console.forms import UNITS
from emulator.console.front import Pages, Sessions
from emulator.console.language import COOKIE, LANGUAGES, catalogue, chosen, translated
from emulator.console.life import FORMS, REASONS, STATIONS
from emulator.console.lists import SPANS, turning, wanted
from emulator.console.navigation import GROUPS, NAMES, place_of
from emulator.console.needs import WHATS
from emulator.console.pages import BLUEPRINTS
from emulator.console.refusals import placed_sentence, refusal
from emulator.console.tutorials import TutorialRuns
from emulator.console.values import body, breakable, decoded, quoted, short, tree
from emulator.console.view import View, link, view
from emulator.gateway.errors import GatewayError
from emulator.http.message import Request, Response
from emulator.kernel.clock import Millis
from emulator.kernel.errors import ServiceError
from emulator.kernel.instrumentation import EVENTS, parted
from emulator.wire.dates import iso_millis

SESSION = "localyun.session"
"""Key of the WSGI environment: the session of the request, empty when a page is only checked."""

ERRORS = "localyun.errors"
"""Key of the WSGI environment: a list that the page adds its error to, when it shows one."""


POSTED_BY_SCRIPT = "X-Post"
"""Header of a form that a page's script has sent."""


def run(
    application: Callable[..., Any], request: Request, session: str, prefix: str, extra: Iterable[tuple[str, str]]
) -> Response:
    """Return the answer of the WSGI *application*, with each of the *extra* headers that it lacks.

    Raises: ServiceError when the page shows an error and there is no session.
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
        *("paused", "expired", "not entered", "visible", "in flight"),
    )
} | {"Starting": "Starting", "Stopped": "Stopped", "TimedOut": "Timed out"}
"""The words for states; those of executions already begin with a capital letter."""

FAULT = "This is a bug of the emulator. Its log has the details."

COMING = (
    FAULT,
    *EVENTS,
    *("before", "after", "failure", "next", "continue", "change", "skip"),
    *("flow", "execution", "queue", "topic", "function", "bucket", "trigger", "schedule"),
    *("request", "message", "push", "call", "step", "fault", "choice", "subscription", "role", "alias"),
    *WHATS,
    *STATIONS,
    *FORMS,
    *(text for each in REASONS.values() for text in (each.word, each.sentence)),
    *sorted(NAMES),
    *SPANS.values(),
    *UNITS,
)
"""Texts looked up at run time, for the catalogue: names of the navigation, upcoming events, kinds, units and more."""


def make_application(view: View, sessions: Sessions, tutorials: TutorialRuns) -> Pages:
    """Return the function that answers requests for pages about *view*."""
    app = Flask("emulator.console", static_folder="static", template_folder="templates")
    app.config.update(PROPAGATE_EXCEPTIONS=False, TRAP_HTTP_EXCEPTIONS=False, MAX_CONTENT_LENGTH=8 * 1024 * 1024)
    app.extensions["view"] = view
    app.extensions["sessions"] = sessions
    app.extensions["tutorials"] = tutorials
    app.extensions["held"] = OrderedDict()
    app.jinja_env.add_extension("jinja2.ext.i18n")
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.install_gettext_callables(  # type: ignore[attr-defined]  # added by the extension
        lambda text: translated(g.language, text),
        lambda one, many, count: catalogue(g.language).ngettext(one, many, count),
        newstyle=True,
    )
    app.jinja_env.globals.update(part=part, showing=showing)
    app.jinja_env.filters.update(
        body=body, breakable=breakable, decoded=decoded, iso=_iso, json=tree, quoted=quoted, said=_mistake, short=short
    )
    app.url_defaults(_named_by_content)
    app.before_request(_begin)
    app.after_request(_told)
    app.after_request(_kept)
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


_PART = Markup(
    '<div id="{}" hx-get="" hx-trigger="look consume" hx-swap="innerHTML" hx-sync="this:replace"'
    ' data-shows="{}">{}</div>'
)
"""A part's event has a name of its own: with a common one, the enclosing element would fetch itself as well."""


def part(name: str, *shows: str, caller: Callable[[], str]) -> Markup:
    """Return a part of a page, which reloads itself when one of the names *shows* has changed.

    The content is made only when the whole page or this part is requested; in the latter case `_told` sends it alone.
    """
    id = f"part-{name}"
    if g.part not in ("", id):
        return Markup()
    content = Markup(caller())  # noqa: S704 - a template made it, and escaped what is in it
    if g.part:
        g.content = content
    return _PART.format(id, showing(*shows), content)


def showing(*names: str) -> str:
    """Return the value of ``data-shows``: the names that a part of a page shows."""
    return " ".join(written(each) for each in names)


_KEEP_S = 365 * 24 * 3600


def _named_by_content(endpoint: str, values: dict[str, Any]) -> None:
    """Have the address of a static file change with what is in it, so that a browser need not ask for it again."""
    if endpoint == "static":
        values["v"] = _content(values["filename"])


def _kept(answer: Answer) -> Answer:
    """Let a browser keep a static file whose content has the digest in the address."""
    found = request.endpoint == "static" and answer.status_code in {200, 304}
    if found and request.args.get("v") == _content((request.view_args or {})["filename"]):
        answer.cache_control.no_cache = None
        answer.cache_control.max_age = _KEEP_S
    return answer


def _content(filename: str) -> str:
    path = Path(current_app.static_folder or "", filename)
    return _digest(path, path.stat().st_mtime_ns)


@lru_cache
def _digest(path: Path, _changed_ns: int) -> str:
    return sha256(path.read_bytes()).hexdigest()[:16]


def _begin() -> None:
    g.language = chosen(request.headers.get("Cookie", ""), request.headers.get("Accept-Language", ""))
    theme = request.cookies.get(THEME_COOKIE, "")
    g.theme = theme if theme in THEMES else ""
    g.session = request.environ.get(SESSION, "")
    region = request.cookies.get(REGION_COOKIE, "")
    g.region = region if g.session and region and region in view().regions() else ""
    target = request.headers.get("HX-Target", "")
    g.part, g.content = target if target.startswith("part-") else "", None
    if g.session and "HX-Request" not in request.headers:
        g.changes = current_app.extensions["view"].about()["changes"]  # read before the page's data


def _told(answer: Answer) -> Answer:
    """Adjust an answer for a page's script: a redirect after a posted form becomes a header, so that the page stays.

    When a part of a page is requested, it is sent alone.
    """
    if g.part and answer.status_code == 200:
        answer.set_data(g.content or "")
        answer.status_code = 200 if g.content is not None else 204
    if POSTED_BY_SCRIPT in request.headers and answer.status_code == 303:
        answer.headers["X-Go"] = answer.headers.pop("Location")
        answer.status_code = 200
        answer.set_data(b"")
    return answer


def _common() -> dict[str, Any]:
    sessions: Sessions = current_app.extensions["sessions"]
    return {
        "changes": g.get("changes", ""),
        "csrf": sessions.form_token(g.session) if g.session else "",
        "language": g.language,
        "languages": LANGUAGES,
        "theme": g.theme,
        "state_name": lambda state: translated(g.language, STATES.get(state) or state),
        "fragment": "HX-Request" in request.headers,
        "colon": "：" if g.language == "zh" else ": ",
        "coming": _coming,
        "link": link,
        "moved": view().moved(),
        "navigation": _navigation(),
        "spans": SPANS,
        "took": took,
        "translated": partial(translated, g.language),
        "turning": turning,
        "view": view(),
        "wanted": wanted,
    }


def _navigation() -> dict[str, Any]:
    group, page = place_of(request.endpoint or "", (request.view_args or {}).get("kind", ""))
    return {"groups": GROUPS, "group": group, "page": page}


def _coming(what: str) -> str:
    """Return the translation of a kind of upcoming event or of search result; a name or number may follow the kind."""
    kind, rest = parted(what, COMING)
    return translated(g.language, kind) + rest


def _iso(at: int | str) -> str:
    """Return a time in milliseconds as text; a text stays as it is."""
    return iso_millis(Millis(at)) if isinstance(at, int) else at


def _refused(error: ServiceError) -> Any:
    request.environ[ERRORS].append(error)
    return _error(error.code, refusal(error, partial(translated, g.language)), error.http_status)


def _mistake(text: str) -> str:
    """Return a problem of a file in the functions folder, translated."""
    return placed_sentence(text, partial(translated, g.language))


def _no_page(error: NotFound) -> tuple[str, int]:
    request.environ[ERRORS].append(GatewayError("NotFound", f"The console has no page {request.path}."))
    return render_template("no_page.html"), error.code


def _http_error(error: HTTPException) -> Any:
    return _error(error.name, error.description or "", error.code or 500)


def _failed(error: Exception) -> Any:
    _log.error("the page %s cannot be made", request.path, exc_info=error)
    return _error(type(error).__name__, translated(g.language, FAULT), 500)


def _error(title: str, text: str, status: int) -> Any:
    """Return a page for an error, or a line for the form that a script has posted."""
    if POSTED_BY_SCRIPT in request.headers:
        return f"{title}: {text}", status, {"Content-Type": "text/plain; charset=utf-8"}
    return render_template("error.html", title=title, text=text), status


def _choose(what: str, value: str) -> Any:
    """Keep a choice of the user's in a cookie, and go back to the page."""
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
