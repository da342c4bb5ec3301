"""Topics: subscriptions, every push with its attempts, publishing, delivering again."""

from collections.abc import Awaitable, Callable
from typing import Any

from flask import Blueprint, render_template, request
from werkzeug.wrappers import Response

from emulator.auth.push import SigningFailed, string_to_sign
from emulator.console.pages.shared import done, field, marker, view
from emulator.console.view import PAGE, Row
from emulator.kernel.clock import Millis
from emulator.wire.dates import iso_millis

blueprint = Blueprint("topics", __name__, url_prefix="/topics")

_DELIVERIES = 20
_SUBSCRIPTIONS = 50


@blueprint.get("")
def index() -> str:
    """List the topics."""
    page = view().call(view().messages.topics.page, view().tenant, start=marker(), limit=PAGE)
    rows = [{"name": each.topic.name, "messages": each.message_count} for each in page.items]
    return render_template("topics.html", topics=rows, following=page.next_marker)


@blueprint.get("/<name>")
def show(name: str) -> str:
    """Show a topic, its subscriptions and their deliveries."""
    subscriptions = view().call(view().messages.subscriptions.all, view().tenant, name)
    rows = [
        {
            "name": each.name,
            "endpoint": each.settings.endpoint,
            "strategy": each.settings.strategy.name,
            "filter": each.settings.filter_tag or "",
            "deliveries": _deliveries(name, each.name),
        }
        for each in subscriptions[:_SUBSCRIPTIONS]
    ]
    return render_template("topic.html", topic={"name": name, "subscriptions": rows, "total": len(subscriptions)})


@blueprint.get("/<name>/deliveries/<subscription>/<message>")
def delivery(name: str, subscription: str, message: str) -> str:
    """Show a delivery with request and answer of its attempts, and what the signature of each push covers."""
    deliveries = [each for each in _deliveries(name, subscription, most=100) if each["id"] == message]
    for each in deliveries:
        for one in each["tries"]:
            one["signed"] = view().call(_checked, view().bench.sign, one["request"]) if one["request"] else None
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
    return [
        {
            "id": each["MessageId"],
            "state": each["State"],
            "attempts": each["Attempts"],
            "result": each["LastResult"],
            "next_at": _time(each.get("NextTime")),
            "ended_at": _time(each.get("EndTime")),
            "published_at": _time(each["PublishTime"]),
            "body": each["MessageBody"],
            "tag": each["MessageTag"],
            "endpoint": each["Endpoint"],
            "tries": [
                {
                    "number": one["Number"],
                    "at": _time(one["Time"]),
                    "delivered": one["Delivered"],
                    "result": one["Result"],
                    "request": one.get("Request"),
                    "answer": one.get("Answer"),
                }
                for one in each["Tries"]
            ],
        }
        for each in answer["deliveries"]
    ]


async def _checked(sign: Callable[[str], Awaitable[str]], request: Row) -> Row:
    """Return the text that the signature of a push covers, and whether the signature is that of the text."""
    headers = request["Headers"]
    text = string_to_sign(headers.items(), request["Target"])
    try:
        valid = headers.get("Authorization") == await sign(text)
    except SigningFailed:
        valid = False
    return {"text": text, "valid": valid}


def _time(at: Any) -> str | None:
    return None if at is None else iso_millis(Millis(at))
