"""Faults, mocks, checkpoints and accounts, through the admin API."""

from typing import Any, get_args
from urllib.parse import quote

from flask import Blueprint, render_template, request
from werkzeug.wrappers import Response

from emulator.console.forms import FormRefused
from emulator.console.view import done, field, nonempty, paged, view, whole
from emulator.lab.faults import FUNCTION_FAULTS, ORIGINS, SERVICES
from emulator.wire import large_json
from emulator.wire.answers import Then, typed_value

blueprint = Blueprint("lab", __name__)

EFFECTS = ("error", "delay", "throttle", "drop", "function")


@blueprint.get("/faults")
def faults() -> str:
    """List the faults."""
    rows, following = paged(view().admin("GET", "/faults")["faults"])
    choices = {"services": SERVICES, "effects": EFFECTS, "origins": ORIGINS, "failures": FUNCTION_FAULTS}
    return render_template("faults.html", faults=rows, following=following, **choices)


@blueprint.post("/faults")
def add_fault() -> Response:
    """Inject a fault."""
    effect: dict[str, Any] = {
        "error": nonempty(error=field("code"), status=whole("status", 100, 599)),
        "delay": {"delay": field("delay")},
        "throttle": {"throttle": True},
        "drop": {"drop": True},
        "function": {"function": field("failure")},
    }.get(field("effect"), {})
    match = {"service": field("service"), "operation": field("operation"), "resource": field("resource")}
    match["from"] = field("from")
    view().admin("POST", "/faults", **nonempty(match=nonempty(**match), times=whole("times", 1, 1_000_000)), do=effect)
    return done("lab.faults")


@blueprint.post("/faults/remove")
def remove_fault() -> Response:
    """Remove a fault, or all of them."""
    view().admin("DELETE", f"/faults/{field('id')}" if field("id") else "/faults")
    return done("lab.faults")


@blueprint.get("/mocks")
def mocks() -> str:
    """List the mocks, each with its latest calls."""
    rows, following = paged(view().admin("GET", "/mocks")["mocks"])
    for row in rows:
        row["latest"] = view().admin("GET", f"/mocks/{row['id']}/calls")["calls"][-5:]
    return render_template("mocks.html", mocks=rows, following=following, afterwards=get_args(Then))


@blueprint.post("/mocks")
def add_mock() -> Response:
    """Mock a function."""
    text = request.form.get("answer", "").strip()
    answer = {"error": {"errorType": field("error"), "errorMessage": text}} if field("error") else _returned(text)
    answers = [answer | nonempty(delay=field("delay"))]
    view().admin("POST", "/mocks", function=field("function"), answers=answers, then=field("then") or "repeat")
    return done("lab.mocks")


def _returned(text: str) -> dict[str, Any]:
    try:
        return {"return": typed_value(text, _decoded) if text else None}
    except (ValueError, RecursionError) as error:
        raise FormRefused("{name} is not JSON: {error}", name="answer", error=error) from None


def _decoded(text: str) -> Any:
    return large_json.loads(text.encode("utf-8", "replace"))


@blueprint.post("/mocks/remove")
def remove_mock() -> Response:
    """Remove a mock, so that the function runs again."""
    view().admin("DELETE", f"/mocks/{field('id')}")
    return done("lab.mocks")


@blueprint.get("/checkpoints")
def checkpoints() -> str:
    """List the checkpoints."""
    rows, following = paged(view().admin("GET", "/checkpoints")["checkpoints"])
    return render_template("checkpoints.html", checkpoints=rows, following=following)


@blueprint.post("/checkpoints")
def change_checkpoint() -> Response:
    """Save, restore or delete a checkpoint."""
    name = quote(field("name"), safe="")
    match field("action"):
        case "restore":
            view().admin("POST", f"/checkpoints/{name}/restore")
        case "delete":
            view().admin("DELETE", f"/checkpoints/{name}")
        case _:
            view().admin("POST", f"/checkpoints/{name}")
    return done("lab.checkpoints")


@blueprint.get("/accounts")
def accounts() -> str:
    """List the accounts beside the installation's own."""
    rows, following = paged(view().admin("GET", "/accounts")["accounts"])
    return render_template("accounts.html", accounts=rows, following=following)


@blueprint.post("/accounts")
def change_account() -> Response:
    """Add or remove an account."""
    if field("remove"):
        view().admin("DELETE", f"/accounts/{field('remove')}")
    else:
        view().admin("POST", "/accounts", accountId=field("account"))
    return done("lab.accounts")
