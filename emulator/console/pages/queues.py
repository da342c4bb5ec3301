"""Queues: counters, messages, sending, receiving, purging."""

from flask import Blueprint, render_template, request
from werkzeug.wrappers import Response

from emulator.console.pages.shared import done, marker, view, whole

blueprint = Blueprint("queues", __name__, url_prefix="/queues")


@blueprint.get("")
def index() -> str:
    """List the queues."""
    rows, following = view().queues(marker())
    return render_template("queues.html", queues=rows, following=following)


@blueprint.get("/<name>")
def show(name: str) -> str:
    """Show a queue, its messages and what can be done with it."""
    return render_template("queue.html", queue=view().queue(name))


@blueprint.post("/<name>/send")
def send(name: str) -> Response:
    """Send a message."""
    delay_s, priority = whole("delay", 0, 604_800), whole("priority", 1, 16)
    messages = view().messages
    view().call(messages.send, view().tenant, name, request.form.get("body", ""), delay_s, priority)
    return done("queues.show", name=name)


@blueprint.post("/<name>/receive")
def receive(name: str) -> str:
    """Receive a message, which hides it, and show it."""
    received = view().call(view().messages.receive, view().tenant, name, 1, 0)
    return render_template(
        "queue.html", queue=view().queue(name), received=view().message(received[0]) if received else None, asked=True
    )


@blueprint.post("/<name>/purge")
def purge(name: str) -> Response:
    """Delete every message."""
    view().call(view().messages.purge, view().tenant, name)
    return done("queues.show", name=name)


@blueprint.post("/<name>/return")
def give_back(name: str) -> Response:
    """Give a received message back, which makes it visible again."""
    view().give_back(name, request.form.get("handle", ""))
    return done("queues.show", name=name)


@blueprint.post("/<name>/delete")
def delete(name: str) -> Response:
    """Delete a received message."""
    view().delete(name, request.form.get("handle", ""))
    return done("queues.show", name=name)


@blueprint.post("/<name>/move")
def move(name: str) -> Response:
    """Send the visible messages to another queue: what dead letters are sent back by."""
    view().move(name, request.form.get("target", "").strip())
    return done("queues.show", name=name)
