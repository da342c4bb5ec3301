"""Triggers of functions and schedules of flows: their next runs, and firing them manually."""

from base64 import b64decode

from flask import Blueprint, render_template, request
from werkzeug.wrappers import Response

from emulator.console.view import PAGE, done, field, held, hold, marker, nonempty, number, view

blueprint = Blueprint("triggers", __name__)


@blueprint.get("/triggers")
def index() -> str:
    """List the triggers, timers with their next run, and problems of files in the functions folder."""
    admin, begin = view().function_admin, number("from") or 0
    shown = view().call(admin.triggers, begin, PAGE + 1)
    coming = {
        (event["resource"], event["what"].removeprefix("timer trigger ")): event["at"]
        for event in view().clock()["next"]
        if event["what"].startswith("timer trigger ")
    }
    following = begin + PAGE if len(shown) > PAGE else None
    for row in shown:
        row["next_at"] = coming.get((row["function"], row["trigger"]))
    return render_template(
        "triggers.html",
        triggers=shown[:PAGE],
        following=following,
        problems=view().call(admin.problems),
        fired=held(request.args.get("fired", "")),
    )


@blueprint.post("/triggers/fire")
def fire() -> Response:
    """Call a trigger's function as the trigger would, and show the result."""
    named = {"function": field("function"), "trigger": field("trigger")}
    fired = view().admin("POST", "/fire-trigger", **named, **nonempty(payload=field("payload")))
    fired["body"] = b64decode(fired["body"]).decode("utf-8", "replace")
    return done("triggers.index", fired=hold(fired | named))


@blueprint.get("/schedules")
def schedules() -> str:
    """List the schedules of all flows with their next runs."""
    page = view().call(view().workflow.schedules.all, view().tenant, PAGE, marker())
    return render_template("schedules.html", schedules=page.items, following=page.next_marker)


@blueprint.post("/schedules/run")
def run() -> Response:
    """Start an execution as a schedule would."""
    record = view().call(view().workflow.schedules.get, view().tenant, field("flow"), field("name"))
    started = view().call(
        view().workflow.executions.start, view().tenant, field("flow"), None, record.settings.payload or "{}"
    )
    return done("flows.execution", name=field("flow"), execution=started.name)
