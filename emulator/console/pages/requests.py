"""Requests: the latest ones of clients, the trace of each, and why one was refused."""

import json
from collections.abc import Callable, Container, Iterator
from itertools import islice
from typing import Any
from urllib.parse import quote

from flask import Blueprint, render_template, request
from werkzeug.wrappers import Response

from emulator.console.activity import is_of_queue
from emulator.console.lists import Wanted, wanted
from emulator.console.needs import OWN, is_poll, runs
from emulator.console.view import PAGE, Row, done, held, hold, number, view
from emulator.console.waterfall import waterfall
from emulator.gateway.journal import Journal
from emulator.kernel.errors import ServiceError
from emulator.wire.dates import iso_millis

blueprint = Blueprint("requests", __name__, url_prefix="/requests")

CAUSES = {
    "clock": "The clock of the client is wrong, or the signed address is too old.",
    "secret": "The client signed with another secret, or the request was changed in an unknown way after signing.",
    "secret-blank": "The client's secret has an extra blank, quote or line break.",
    "key": "The access key does not belong to this installation, or is disabled.",
    "token": "The security token is missing, has expired, or belongs to another key.",
    "nonce": "This signed request was received before: it was sent again without a new signature.",
    "path": "The path was signed in another form: it was encoded or decoded on the way.",
    "query": "The query was signed in another form: it was encoded or decoded on the way.",
    "host": "Another host name was signed: a proxy has changed the Host header, or the client signs the real address.",
    "header": "A header was added, removed or changed after signing, as proxies and libraries do.",
    "method": "Another HTTP method was signed.",
    "body": "The body was changed after signing.",
    "incomplete": "Part of the signature is missing or unreadable.",
    "account": "The access key belongs to another account than the host name.",
    "repeated": "A parameter occurs twice with different values.",
}
"""A sentence about the usual reason for each cause (`emulator.auth.diagnosis.Cause`)."""


@blueprint.get("")
def index() -> str:
    """List the latest requests."""
    limits, skipped, alone = wanted(), number("from") or 0, "each" in request.args
    rows, seen = view().call(_latest, view().journal, limits, skipped, (lambda row: False) if alone else is_poll)
    return render_template(
        "requests.html",
        requests=rows,
        following=None if seen is None else skipped + seen,
        states=("failed",),
        each_alone=alone,
        limited=limits.is_limited or bool(skipped),
    )


def _latest(
    journal: Journal, limits: Wanted, skipped: int, folds: Callable[[Row], bool]
) -> tuple[list[Row], int | None]:
    """Return the requests of a page, and how many rows it covers when there are further ones."""
    since = iso_millis(limits.since) if limits.since is not None else ""
    rows = (row for row in requests_with(journal, limits.text) if row["time"] >= since)
    fitting = (row for row in rows if limits.state != "failed" or has_failed(row))
    return runs(islice(fitting, skipped, None), PAGE, folds)


@blueprint.get("/<path:id>")
def show(id: str) -> str:
    """Show the trace of a request, message or call, and why it was refused."""
    said = held(request.args.get("compared", ""))
    lines = [line_of(each) for each in view().call(view().journal.find, id)]
    refused = _refused(id, said["client"] if said else "")
    if not (lines or refused):
        _check_known(id)
    return render_template(
        "request.html",
        id=id,
        about=next((row for row in view().call(list, requests_with(view().journal, id)) if row["request"] == id), None),
        lines=lines,
        rows=_waterfall(id),
        refused=refused,
    )


def _check_known(id: str) -> None:
    """Check that something of this id has a trace, or is an execution, whose trace may be gone.

    Raises: ServiceError.
    """
    flow, is_execution, execution = id.partition("/")
    if is_execution:
        view().call(view().workflow.executions.get, view().tenant, flow, execution)
    else:
        view().admin("GET", f"/trace/{quote(id, safe='')}")


@blueprint.post("/<path:id>")
def compare(id: str) -> Response:
    """Compare the string to sign that a client says it has signed with the server's."""
    own = request.form.get("client", "").replace("\r\n", "\n")[:100_000]
    return done("requests.show", id=id, compared=hold({"client": own}))


def requests_with(journal: Journal, text: str, quiet: Container[str] = OWN) -> Iterator[Row]:
    """Yield the latest requests that contain *text*, newest first, without those of the services *quiet*."""
    failed = failed_calls(journal)
    for line in journal.latest("emulator.access", lambda said: said.get("service") not in quiet):
        if not text or text.lower() in json.dumps(line, default=str).lower():
            yield request_row(line, failed)


def failed_calls(journal: Journal) -> frozenset[str]:
    """Return the requests answered with 200 although the function failed."""
    lines = journal.latest("emulator.services.fc.invoke.invoking", lambda said: said.get("result") == "failed")
    return frozenset(str(line.get("request")) for line in lines)


def request_row(line: Row, failed: Container[str]) -> Row:
    """Return a line of the access log as lists show it; ``status`` is None where the line has none.

    ``kind`` is that of the ``resource``, empty where it has no page. *failed* are calls whose function has failed.
    """
    status, spent, id = line.get("status"), line.get("ms"), str(line.get("request") or "")
    service, operation = str(line.get("service") or ""), str(line.get("operation") or line.get("message") or "")
    resource = str(line.get("resource") or "")
    return {
        "time": str(line.get("time") or ""),
        "service": service,
        "operation": operation,
        "resource": resource,
        "kind": _kind_of(service, operation, resource),
        "caller": str(line.get("caller") or "").rpartition(":")[2],
        "status": status if isinstance(status, int) else None,
        "error": str(line.get("error") or ""),
        "ms": spent if isinstance(spent, int | float) else None,
        "request": id,
        "function_failed": id in failed,
    }


def _kind_of(service: str, operation: str, resource: str) -> str:
    match service:
        case "mns" | "mns-open":
            return "queue" if is_of_queue(operation) else "topic"
        case "fnf":
            return "execution" if "Execution" in operation else "flow"
        case "fc" if operation == "CreateFunction":
            return ""  # its resource is the service, which has no page
        case "fc" if operation.endswith("Function") and resource.count("/") < 2:
            return "function"
        case "oss":
            return "bucket"
        case _:
            return ""


def has_failed(row: Row) -> bool:
    """Whether a request was refused, or its function has failed."""
    return row["function_failed"] or (row["status"] is not None and row["status"] >= 400)


def line_of(line: Row) -> Row:
    """Return any line of the log as pages show it."""
    return {name: str(line.get(name) or "") for name in ("time", "logger", "message")}


def _asked(path: str, **arguments: Any) -> Any:
    """Return the answer of an admin operation, None when its subject does not exist."""
    try:
        return view().admin("GET", path, **arguments)
    except ServiceError as error:
        if error.http_status == 404:
            return None
        raise


def _waterfall(id: str) -> list[Row]:
    """Return the rows of the trace that an id belongs to, with the choices of a schedule made during it."""
    trace = _asked(f"/trace/{quote(id)}")
    return waterfall(trace["tree"], view().admin("GET", "/schedule")["choices"]) if trace is not None else []


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
