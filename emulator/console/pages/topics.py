"""Topics: subscriptions, every push with its attempts, publishing."""

from flask import Blueprint, render_template, request
from werkzeug.wrappers import Response

from emulator.console.pages.shared import done, marker, view

blueprint = Blueprint("topics", __name__, url_prefix="/topics")


@blueprint.get("")
def index() -> str:
    """List the topics."""
    rows, following = view().topics(marker())
    return render_template("topics.html", topics=rows, following=following)


@blueprint.get("/<name>")
def show(name: str) -> str:
    """Show a topic, its subscriptions and their deliveries."""
    return render_template("topic.html", topic=view().topic(name))


@blueprint.post("/<name>/publish")
def publish(name: str) -> Response:
    """Publish a message."""
    tag = request.form.get("tag", "").strip() or None
    view().call(view().messages.publish, view().tenant, name, request.form.get("body", ""), tag)
    return done("topics.show", name=name)
