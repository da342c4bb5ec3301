"""Queues: counters, messages in all their states, sending, receiving, moving, purging."""

from typing import Any

from flask import Blueprint, render_template, request
from werkzeug.wrappers import Response

from emulator.console.view import PAGE, done, field, marker, view, whole
from emulator.services.mns.admin import message_object
from emulator.services.mns.queues.model import Draft, Property

blueprint = Blueprint("queues", __name__, url_prefix="/queues")

_SHOWN = 16
"""So many messages of each state are shown, and of visible and hidden ones looked at."""


@blueprint.get("")
def index() -> str:
    """List the queues."""
    page = view().call(view().messages.queues.page, view().tenant, start=marker(), limit=PAGE)
    return render_template("queues.html", queues=page.items, following=page.next_marker)


@blueprint.get("/<name>")
def show(name: str, **more: Any) -> str:
    """Show a queue, its messages and what can be done with it."""
    shown = view().call(view().messages.queues.view, view().tenant, name)
    rows = view().admin("GET", "/messages", queue=name, limit=4 * _SHOWN)["messages"]
    return render_template(
        "queue.html",
        name=name,
        settings=shown.queue.settings,
        counters=shown.counters,
        states={
            state: [row for row in rows if row["State"] == state][:_SHOWN]
            for state in ("active", "inactive", "delayed")
        },
        **more,
    )


@blueprint.post("/<name>/send")
def send(name: str) -> Response:
    """Send a message with all that a sender can say of it."""
    draft = Draft(
        body=request.form.get("body", ""),
        delay_s=whole("delay", 0, 604_800),
        priority=whole("priority", 1, 16),
        group_id=field("group") or None,
        user_properties=tuple(_properties(field("properties"))),
    )
    messages = view().messages
    view().call(lambda: messages.messages.send(messages.find(view().tenant, name), draft))
    return done("queues.show", name=name)


@blueprint.post("/<name>/receive")
def receive(name: str) -> str:
    """Receive a message, which hides it, and show it."""
    received = view().call(view().messages.receive, view().tenant, name, 1, 0)
    shown = message_object(received[0], view().now()) if received else None
    return show(name, received=shown, asked=True)


@blueprint.post("/<name>/purge")
def purge(name: str) -> Response:
    """Delete every message."""
    view().admin("POST", "/purge-queue", queue=name)
    return done("queues.show", name=name)


@blueprint.post("/<name>/return")
def give_back(name: str) -> Response:
    """Make a hidden message visible again after the shortest time the service knows, a second."""
    messages, handle = view().messages, request.form.get("handle", "")
    view().call(lambda: messages.messages.change_visibility(messages.find(view().tenant, name), handle, 1))
    return done("queues.show", name=name)


@blueprint.post("/<name>/delete")
def delete(name: str) -> Response:
    """Delete a received message."""
    messages, handle = view().messages, request.form.get("handle", "")
    view().call(lambda: messages.messages.delete(messages.find(view().tenant, name), handle))
    return done("queues.show", name=name)


@blueprint.post("/<name>/move")
def move(name: str) -> Response:
    """Send messages to another queue, or dead letters to where they come from."""
    view().admin("POST", "/move-messages", queue=name, to=field("target"), message=field("message"))
    return done("queues.show", name=name)


def _properties(text: str) -> list[Property]:
    """Read properties written a line each, ``name=value``."""
    pairs = (line.partition("=") for line in text.splitlines())
    return [Property(name.strip(), value.strip(), "STRING") for name, mark, value in pairs if mark and name.strip()]
