"""The first page and the search: what there is, what happens next, where something is."""

from flask import Blueprint, render_template, request

from emulator.console.pages.clock import timed
from emulator.console.pages.shared import view

blueprint = Blueprint("overview", __name__)


@blueprint.get("/")
def overview() -> str:
    """Show what there is and what comes next."""
    return render_template("overview.html", clock=timed(), counts=view().counts(), about=view().about())


@blueprint.get("/search")
def search() -> str:
    """Show what is called like the text, and what has that id."""
    text = request.args.get("q", "").strip()[:200]
    return render_template("search.html", text=text, results=view().search(text) if text else [])
