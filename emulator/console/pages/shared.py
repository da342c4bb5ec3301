"""What the pages share: the view, going back after a post, paging."""

from typing import Any

from flask import current_app, redirect, request, url_for
from werkzeug.wrappers import Response

from emulator.console.view import View

PAGE = 50
"""Rows of a list."""


def view() -> View:
    """Return the services as this application sees them."""
    found: View = current_app.extensions["view"]
    return found


def done(endpoint: str, **values: Any) -> Response:
    """Go to a page after a change, so that loading it again repeats nothing."""
    return redirect(url_for(endpoint, **values), 303)


def back(path: str) -> Response | None:
    """Go back to a page of the console; None when *path* is no such page's."""
    if not path.startswith("/") or "//" in path or "\\" in path:
        return None
    return redirect(f"{request.script_root}{path}", 303)


def marker() -> str:
    """Return where the list that is asked for begins."""
    return request.args.get("from", "")


def number(name: str) -> int | None:
    """Return a whole number of the address, None when there is none."""
    text = request.args.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def whole(name: str, low: int, high: int) -> int | None:
    """Return a whole number of the form, None when it is left empty or is not one from *low* to *high*."""
    text = request.form.get(name, "").strip()
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return None
    return min(max(int(text), low), high)
