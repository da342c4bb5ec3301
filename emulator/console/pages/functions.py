"""Functions: configuration, versions, calling, logs."""

from flask import Blueprint, render_template, request

from emulator.console.pages.shared import marker, view

blueprint = Blueprint("functions", __name__, url_prefix="/functions")


@blueprint.get("")
def index() -> str:
    """List the functions."""
    rows, following = view().functions_listed(marker())
    return render_template("functions.html", functions=rows, following=following)


@blueprint.get("/<name>", defaults={"service": ""})
@blueprint.get("/<service>/<name>")
def show(service: str, name: str) -> str:
    """Show a function and the end of its log."""
    return render_template("function.html", function=view().function(service, name))


@blueprint.post("/<name>/call", defaults={"service": ""})
@blueprint.post("/<service>/<name>/call")
def call(service: str, name: str) -> str:
    """Call a function and show how it ended."""
    event = request.form.get("event", "").encode()
    qualifier = request.form.get("qualifier", "").strip() or None
    result = view().invoke(service, name, qualifier, event)
    return render_template(
        "function.html", function=view().function(service, name), result=result, event=event.decode()
    )
