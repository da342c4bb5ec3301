"""The console's Flask application: what all pages share. Imported on the first request for a page.

Pages are modules of `emulator.console.pages`, each a blueprint. A page that htmx asks for (header ``HX-Request``)
answers with its content alone; otherwise the content stands in the frame with navigation and search.
"""

import gettext
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from flask import Flask, current_app, g, redirect, render_template, request
from werkzeug.exceptions import HTTPException

from emulator.console.pages import BLUEPRINTS
from emulator.console.sessions import Sessions
from emulator.console.view import View
from emulator.console.wsgi import SESSION
from emulator.kernel.errors import ServiceError

LANGUAGES = {"en": "English", "zh": "中文"}
LANGUAGE_COOKIE = "localyun_console_language"
THEME_COOKIE = "localyun_console_theme"

STATES = {
    each: each[0].upper() + each[1:]
    for each in (
        *("running", "succeeded", "failed", "caught", "abandoned", "pending", "delivered", "dropped", "dead-lettered"),
        *("cold", "warm", "provisioned"),
    )
} | {"Starting": "Starting", "Stopped": "Stopped", "TimedOut": "Timed out"}
"""States as people read them; those of executions already begin with a capital letter."""

COMING = (
    *("end of a wait", "retry", "time-out of a step", "time-out of the flow", "a message becomes visible", "deadline"),
    *("flow", "execution", "queue", "topic", "function", "request"),
)
"""Kinds of what comes next, whose names follow some of the others, and of what is found."""

_LOCALE = Path(__file__).with_name("locale")


def make_application(view: View, sessions: Sessions) -> Callable[..., Any]:
    """Return the WSGI application over *view*."""
    app = Flask("emulator.console", static_folder="static", template_folder="templates")
    app.config.update(PROPAGATE_EXCEPTIONS=False, TRAP_HTTP_EXCEPTIONS=False, MAX_CONTENT_LENGTH=8 * 1024 * 1024)
    app.extensions["view"] = view
    app.extensions["sessions"] = sessions
    app.jinja_env.add_extension("jinja2.ext.i18n")
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.install_gettext_callables(  # type: ignore[attr-defined]  # added by the extension
        lambda text: _catalogue(g.language).gettext(text),
        lambda one, many, count: _catalogue(g.language).ngettext(one, many, count),
        newstyle=True,
    )
    app.jinja_env.filters["pretty"] = pretty
    app.jinja_env.filters["as_json"] = lambda value: json.dumps(value, indent=2, ensure_ascii=False)
    app.before_request(_begin)
    app.context_processor(_common)
    app.register_error_handler(ServiceError, _refused)
    app.register_error_handler(HTTPException, _http_error)
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    app.add_url_rule("/language/<language>", "language", _set_language, methods=["POST"])
    app.add_url_rule("/theme/<theme>", "theme", _set_theme, methods=["POST"])
    return app


@cache
def _catalogue(language: str) -> gettext.NullTranslations:
    return gettext.translation("console", _LOCALE, [language], fallback=True)


def _begin() -> None:
    chosen = request.cookies.get(LANGUAGE_COOKIE, "")
    g.language = chosen if chosen in LANGUAGES else request.accept_languages.best_match(list(LANGUAGES), "en")
    theme = request.cookies.get(THEME_COOKIE, "")
    g.theme = theme if theme in {"light", "dark"} else ""
    g.session = request.environ.get(SESSION, "")


def _common() -> dict[str, Any]:
    sessions: Sessions = current_app.extensions["sessions"]
    return {
        "csrf": sessions.form_token(g.session) if g.session else "",
        "language": g.language,
        "languages": LANGUAGES,
        "theme": g.theme,
        "state_name": lambda state: _catalogue(g.language).gettext(STATES.get(state) or state),
        "fragment": "HX-Request" in request.headers,
        "coming": lambda what: _catalogue(g.language).gettext(what),
        "view": current_app.extensions["view"],
    }


def _refused(error: ServiceError) -> tuple[str, int]:
    return render_template("error.html", title=error.code, text=error.message), error.http_status


def _http_error(error: HTTPException) -> tuple[str, int]:
    return render_template("error.html", title=error.name, text=error.description or ""), error.code or 500


def _set_language(language: str) -> Any:
    return _kept(LANGUAGE_COOKIE, language if language in LANGUAGES else "en")


def _set_theme(theme: str) -> Any:
    return _kept(THEME_COOKIE, theme if theme in {"light", "dark"} else "")


def _kept(cookie: str, value: str) -> Any:
    back = request.form.get("back", "")
    prefix = request.script_root
    answer = redirect(back if back.startswith(f"{prefix}/") and "//" not in back else f"{prefix}/", 303)
    answer.set_cookie(cookie, value, max_age=365 * 24 * 3600, path=prefix, samesite="Strict", httponly=True)
    return answer


def pretty(value: Any) -> str:
    """Return JSON text, or a value, indented; text that is no JSON as it is."""
    if isinstance(value, str | bytes):
        try:
            value = json.loads(value)
        except ValueError:
            return value if isinstance(value, str) else value.decode("utf-8", "replace")
    return json.dumps(value, indent=2, ensure_ascii=False)
