"""Requests: what clients have asked, and all that each has caused."""

from flask import Blueprint, render_template, request

from emulator.console.pages.shared import view

blueprint = Blueprint("requests", __name__, url_prefix="/requests")


@blueprint.get("")
def index() -> str:
    """List the latest requests."""
    text = request.args.get("q", "").strip()[:200]
    return render_template("requests.html", requests=view().requests(text), text=text)


@blueprint.get("/<id>")
def show(id: str) -> str:
    """Show what the log knows of a request and of what it caused."""
    return render_template("request.html", id=id, lines=view().lines(id))
