"""What the pages share: the view, going back after a post, paging, addresses of what has a page."""

from typing import Any, TypeVar

from flask import current_app, g, redirect, request, url_for
from werkzeug.wrappers import Response

from emulator.console.view import PAGE, View
from emulator.kernel.frozen import replace

T = TypeVar("T")


def view() -> View:
    """Return the services as this application sees them, in the region that the reader has chosen."""
    services: View = current_app.extensions["view"]
    region = g.get("region", "")
    return replace(services, tenant=services.tenant._replace(region=region)) if region else services


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


def paged(rows: list[T]) -> tuple[list[T], int | None]:
    """Return the page of *rows* that is asked for, and the number of rows before the next one, None when it is last."""
    begin = number("from") or 0
    end = begin + PAGE
    return rows[begin:end], end if len(rows) > end else None


def number(name: str) -> int | None:
    """Return a whole number of the address, None when there is none."""
    text = request.args.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def whole(name: str, low: int, high: int) -> int | None:
    """Return a whole number of the form, None when it is left empty or is not one from *low* to *high*."""
    text = field(name)
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return None
    return min(max(int(text), low), high)


def field(name: str) -> str:
    """Return a text of the form without blanks around it, empty when it is not there."""
    return request.form.get(name, "").strip()


def nonempty(**fields: Any) -> dict[str, Any]:
    """Return the fields that have a value: an admin operation has defaults for the others."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}


def link(kind: str, name: str) -> str:
    """Return the address of the page of what is called *name*, empty when there is none."""
    first, slash, rest = str(name).partition("/")
    if not first:
        return ""
    match kind:
        case "flow" | "schedule":
            return url_for("flows.show", name=first)
        case "execution" if slash:
            return url_for("flows.execution", name=first, execution=rest)
        case "execution":
            return url_for("flows.show", name=first)
        case "queue":
            return url_for("queues.show", name=first)
        case "topic" | "push":
            return url_for("topics.show", name=first)
        case "function" | "call" | "trigger" if slash:
            return url_for("functions.show", service=first, name=rest)
        case "function" | "call" | "trigger":
            return url_for("functions.show", name=first)
        case "bucket":
            return url_for("buckets.show", name=first)
        case "request" | "message":
            return url_for("requests.show", id=name)
        case _:
            return ""
