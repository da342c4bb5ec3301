"""Topics: subscriptions, deliveries with their attempts, publishing, delivering again."""

from collections.abc import Awaitable, Callable

from flask import Blueprint, render_template, request
from werkzeug.wrappers import Response

from emulator.auth.push import SigningFailed, string_to_sign
from emulator.console.activity import NONE, Activity
from emulator.console.lists import chosen, wanted
from emulator.console.view import PAGE, Row, done, field, view
from emulator.kernel.paging import Page
from emulator.services.mns.topics.model import TopicView

blueprint = Blueprint("topics", __name__, url_prefix="/topics")

_DELIVERIES = 20
_SUBSCRIPTIONS = 50


@blueprint.get("")
def index() -> str:
    """List the topics."""
    limits, known = wanted(), view().activities()

    def keep(row: tuple[TopicView, Activity]) -> bool:
        return limits.names(row[0].topic.name) and limits.state in {"", row[1].state}

    def read(start: str) -> Page[tuple[TopicView, Activity]]:
        page = view().call(view().messages.topics.page, view().tenant, start=start, limit=PAGE)
        return Page([(each, known.get(("topic", each.topic.name), NONE)) for each in page.items], page.next_marker)

    rows, following = chosen(read, keep, lambda row: row[0].topic.name)
    return render_template(
        "topics.html", topics=rows, following=following, states=("delivered", "failed"), limited=limits.is_limited
    )


@blueprint.get("/<name>")
def show(name: str) -> str:
    """Show a topic, its subscriptions and their deliveries."""
    subscriptions = view().call(view().messages.subscriptions.all, view().tenant, name)
    shown = [(each, _deliveries(name, each.name)) for each in subscriptions[:_SUBSCRIPTIONS]]
    return render_template("topic.html", name=name, subscriptions=shown, total=len(subscriptions))


@blueprint.get("/<name>/deliveries/<subscription>/<message>")
def delivery(name: str, subscription: str, message: str) -> str:
    """Show a delivery with request and answer of each attempt, and the string to sign of each push."""
    deliveries = [each for each in _deliveries(name, subscription, most=100) if each["MessageId"] == message]
    for each in deliveries:
        for one in each["Tries"]:
            one["signed"] = view().call(_checked, view().bench.sign, one["Request"]) if "Request" in one else None
    return render_template("delivery.html", topic=name, subscription=subscription, id=message, deliveries=deliveries)


@blueprint.post("/<name>/publish")
def publish(name: str) -> Response:
    """Publish a message."""
    view().call(view().messages.publish, view().tenant, name, request.form.get("body", ""), field("tag") or None)
    return done("topics.show", name=name)


@blueprint.post("/<name>/redeliver")
def redeliver(name: str) -> Response:
    """Deliver a message to a subscriber now."""
    subscription, message = field("subscription"), field("message")
    view().admin("POST", "/redeliver", topic=name, subscription=subscription, message=message)
    return done("topics.show", name=name)


def _deliveries(topic: str, subscription: str, most: int = _DELIVERIES) -> list[Row]:
    answer = view().admin("GET", "/deliveries", topic=topic, subscription=subscription, limit=most)
    deliveries: list[Row] = answer["deliveries"]
    return deliveries


async def _checked(sign: Callable[[str], Awaitable[str]], request: Row) -> Row:
    """Return the string to sign of a push, and whether the signature is valid."""
    headers = request["Headers"]
    text = string_to_sign(headers.items(), request["Target"])
    try:
        valid = headers.get("Authorization") == await sign(text)
    except SigningFailed:
        valid = False
    return {"text": text, "valid": valid}
