"""The first page: what there is, and what happens next."""

from flask import Blueprint, current_app, render_template

blueprint = Blueprint("overview", __name__)


@blueprint.get("/")
def overview() -> str:
    """Show what there is and what comes next."""
    view = current_app.extensions["view"]
    return render_template("overview.html", clock=view.clock())
