"""Flows and their executions: definition, history step by step, starting, stopping, reporting."""

from flask import Blueprint, render_template, request
from werkzeug.wrappers import Response

from emulator.console.executions import Look
from emulator.console.pages.shared import done, marker, number, view

blueprint = Blueprint("flows", __name__, url_prefix="/flows")


@blueprint.get("")
def index() -> str:
    """List the flows."""
    rows, following = view().flows(marker())
    return render_template("flows.html", flows=rows, following=following)


@blueprint.get("/<name>")
def show(name: str) -> str:
    """Show a flow and its executions."""
    return render_template("flow.html", flow=view().flow(name, marker()))


@blueprint.post("/<name>/start")
def start(name: str) -> Response:
    """Start an execution."""
    execution = view().start(name, request.form.get("input", "").strip())
    return done("flows.execution", name=name, execution=execution)


@blueprint.get("/<name>/executions/<execution>")
def execution(name: str, execution: str) -> str:
    """Show an execution: graph, steps, waiting tokens and history, at any of its events."""
    look = Look(
        at=number("at") or None, visit=number("step") or 0, opened=number("open") or 0, offset=number("offset") or 0
    )
    return render_template("execution.html", execution=view().execution(name, execution, look), look=look)


@blueprint.post("/<name>/executions/<execution>/stop")
def stop(name: str, execution: str) -> Response:
    """Stop an execution."""
    view().call(view().workflow.executions.stop, view().tenant, name, execution, "", "stopped by hand")
    return done("flows.execution", name=name, execution=execution)


@blueprint.post("/<name>/executions/<execution>/again")
def again(name: str, execution: str) -> Response:
    """Start another execution with the same input."""
    before = view().call(view().workflow.executions.get, view().tenant, name, execution)
    return done("flows.execution", name=name, execution=view().start(name, before.input))


@blueprint.post("/<name>/executions/<execution>/report")
def report(name: str, execution: str) -> Response:
    """Report the end of a task that waits for its token."""
    token, reports = request.form.get("token", ""), view().workflow.reports
    if request.form.get("outcome") == "failed":
        error, cause = request.form.get("error", "") or "Failed", request.form.get("cause", "")
        view().call(reports.failed, view().tenant, token, error, cause)
    else:
        view().call(reports.succeeded, view().tenant, token, request.form.get("output", "") or "{}")
    return done("flows.execution", name=name, execution=execution)
