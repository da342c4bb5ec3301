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


def marker() -> str:
    """Return where the list that is asked for begins."""
    return request.args.get("from", "")


def whole(name: str, low: int, high: int) -> int | None:
    """Return a whole number of the form, None when it is left empty or is not one from *low* to *high*."""
    text = request.form.get(name, "").strip()
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return None
    return min(max(int(text), low), high)
