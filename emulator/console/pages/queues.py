"""Queues: counters, messages in all their states, sending, receiving, moving, purging."""

from flask import Blueprint, render_template, request
from werkzeug.wrappers import Response

from emulator.console.activity import NONE, Activity
from emulator.console.lists import chosen, wanted
from emulator.console.view import PAGE, Row, done, field, marker, view, whole
from emulator.kernel.paging import Page
from emulator.services.mns.queues.message import Property
from emulator.services.mns.queues.model import QueueView

blueprint = Blueprint("queues", __name__, url_prefix="/queues")

_SHOWN = 16
"""The most messages of each state that are shown."""


_LOOKED_AT = 1_000
"""The most messages looked through to find the one that was received."""

_NONE = "none"
"""Stands for an id: there was no visible message."""


_STATES = ("visible", "in flight", "delayed", "failed")
"""The filters of the list: queues with messages in that state, or with a recent error."""


@blueprint.get("")
def index() -> str:
    """List the queues."""
    limits, known = wanted(), view().activities()

    def keep(row: tuple[QueueView, Activity]) -> bool:
        counters = row[0].counters
        return limits.names(row[0].queue.name) and {
            "visible": bool(counters.active),
            "in flight": bool(counters.inactive),
            "delayed": bool(counters.delayed),
            "failed": bool(row[1].error),
        }.get(limits.state, True)

    def read(start: str) -> Page[tuple[QueueView, Activity]]:
        page = view().call(view().messages.queues.page, view().tenant, start=start, limit=PAGE)
        return Page([(each, known.get(("queue", each.queue.name), NONE)) for each in page.items], page.next_marker)

    rows, following = chosen(read, keep, lambda row: row[0].queue.name)
    return render_template(
        "queues.html", queues=rows, following=following, states=_STATES, limited=limits.is_limited or bool(marker())
    )


@blueprint.get("/<name>")
def show(name: str) -> str:
    """Show a queue, its messages and its actions."""
    shown = view().call(view().messages.queues.view, view().tenant, name)
    rows = view().admin("GET", "/messages", queue=name, limit=4 * _SHOWN)["messages"]
    asked = request.args.get("received", "")
    return render_template(
        "queue.html",
        name=name,
        settings=shown.queue.settings,
        counters=shown.counters,
        states={
            state: [row for row in rows if row["State"] == state][:_SHOWN]
            for state in ("active", "inactive", "delayed")
        },
        sent=request.args.get("sent", ""),
        asked=asked,
        received=_message(name, asked) if asked and asked != _NONE else None,
    )


def _message(queue: str, id: str) -> Row | None:
    """Return a message of a queue, None when it is gone."""
    rows: list[Row] = view().admin("GET", "/messages", queue=queue, limit=_LOOKED_AT)["messages"]
    return next((row for row in rows if row["MessageId"] == id), None)


@blueprint.post("/<name>/send")
def send(name: str) -> Response:
    """Send a message, with all attributes of the form."""
    receipt = view().call(
        view().messages.send,
        view().tenant,
        name,
        request.form.get("body", ""),
        delay_s=whole("delay", 0, 604_800),
        priority=whole("priority", 1, 16),
        group_id=field("group") or None,
        user_properties=tuple(_properties(field("properties"))),
    )
    return done("queues.show", name=name, sent=receipt.message_id)


@blueprint.post("/<name>/receive")
def receive(name: str) -> Response:
    """Receive a message, which hides it, and show it."""
    received = view().call(view().messages.receive, view().tenant, name, 1, 0)
    return done("queues.show", name=name, received=received[0].message_id if received else _NONE)


@blueprint.post("/<name>/purge")
def purge(name: str) -> Response:
    """Delete every message."""
    view().admin("POST", "/purge-queue", queue=name)
    return done("queues.show", name=name)


@blueprint.post("/<name>/return")
def give_back(name: str) -> Response:
    """Make a hidden message visible again after one second, the shortest time the service allows."""
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
    """Send messages to another queue, or dead letters back to their source queue."""
    view().admin("POST", "/move-messages", queue=name, to=field("target"), message=field("message"))
    return done("queues.show", name=name)


def _properties(text: str) -> list[Property]:
    """Parse properties, one ``name=value`` per line."""
    pairs = (line.partition("=") for line in text.splitlines())
    return [Property(name.strip(), value.strip(), "STRING") for name, mark, value in pairs if mark and name.strip()]
