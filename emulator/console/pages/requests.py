"""Requests: what clients have asked, all that each has caused, and why one was refused."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any
from urllib.parse import quote

from flask import Blueprint, render_template, request

from emulator.console.view import PAGE, Row, number, view
from emulator.gateway.journal import Journal
from emulator.kernel.errors import ServiceError

blueprint = Blueprint("requests", __name__, url_prefix="/requests")

_OWN = frozenset({"console", "admin"})

CAUSES = {
    "clock": "The clock of the client is wrong, or the signed address is too old.",
    "secret": "The secret is another one, or something was changed that could not be guessed.",
    "secret-blank": "The secret of the client has a blank, a quote or a line break too many.",
    "key": "The access key is not one of this installation, or it is switched off.",
    "token": "The security token is missing, has expired, or belongs to another key.",
    "nonce": "The same signed request has come before: it was sent again without being signed anew.",
    "path": "The path was signed in another form: encoded or decoded on the way.",
    "query": "The query was signed in another form: encoded or decoded on the way.",
    "host": "Another host name was signed: a proxy has changed the Host header, or the client signs the real address.",
    "header": "A header was added, removed or changed after signing, as proxies and libraries do.",
    "method": "Another method was signed.",
    "body": "The body is not the one that the signature speaks of: something on the way has changed it.",
    "incomplete": "Something of the signature is missing or cannot be read.",
    "account": "The key belongs to another account than the host name.",
    "repeated": "A parameter comes twice with different values.",
}
"""The usual cause of each thing that is found (`emulator.auth.diagnosis.Cause`), a sentence each."""


@blueprint.get("")
def index() -> str:
    """List the latest requests."""
    text, skipped = request.args.get("q", "").strip()[:200], number("from") or 0
    rows = view().call(lambda: list(islice(requests_with(view().journal, text), skipped, skipped + PAGE + 1)))
    following = skipped + PAGE if len(rows) > PAGE else None
    return render_template("requests.html", requests=rows[:PAGE], text=text, following=following, skipped=skipped)


@blueprint.get("/<path:id>")
def show(id: str) -> str:
    """Show what a request, message or call was about and has caused, and why it was refused."""
    lines = [line_of(each) for each in view().call(view().journal.find, id)]
    return render_template("request.html", id=id, lines=lines, tree=_asked(f"/trace/{quote(id)}"), refused=_refused(id))


@blueprint.post("/<path:id>")
def compare(id: str) -> str:
    """Compare the text that a client says it has signed with the one that was signed here."""
    own = request.form.get("client", "").replace("\r\n", "\n")[:100_000]
    refused = _refused(id, own)
    return render_template("request.html", id=id, lines=[], tree=None, refused=refused)


def requests_with(journal: Journal, text: str) -> Iterator[Row]:
    """Yield the latest requests of clients that have *text* in them, newest first."""
    for line in journal.latest("emulator.access"):
        if line.get("service") not in _OWN and text.lower() in json.dumps(line, default=str).lower():
            yield request_row(line)


def request_row(line: Row) -> Row:
    """Return a line of the access log as the list shows it; ``status`` is None where the line has none."""
    status, spent = line.get("status"), line.get("ms")
    return {
        "time": str(line.get("time") or ""),
        "service": str(line.get("service") or ""),
        "operation": str(line.get("operation") or line.get("message") or ""),
        "status": status if isinstance(status, int) else None,
        "ms": spent if isinstance(spent, int | float) else None,
        "request": str(line.get("request") or ""),
    }


def line_of(line: Row) -> Row:
    """Return a line of any log as pages show it."""
    return {name: str(line.get(name) or "") for name in ("time", "logger", "message")}


def _asked(path: str, **arguments: Any) -> Any:
    """Return what an admin operation answers, None when it knows of nothing."""
    try:
        return view().admin("GET", path, **arguments)
    except ServiceError as error:
        if error.http_status == 404:
            return None
        raise


def _refused(id: str, client: str = "") -> Row | None:
    """Return why a request was refused, with both texts in three parts: before, at and after the first difference."""
    refusal = _asked(f"/refused/{quote(id, safe='')}", client=client)
    if refusal is None:
        return None
    at = len(refusal["server"]) if refusal["differs_at"] is None else refusal["differs_at"]
    texts = {
        side: (refusal[side][:at], refusal[side][at : at + 1], refusal[side][at + 1 :]) for side in ("server", "client")
    }
    return {**refusal, "sentence": CAUSES.get(refusal["cause"], ""), "texts": texts}
