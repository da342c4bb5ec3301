"""Parameters and answers of the management API.

Parameters arrive as text: booleans as ``True`` or ``true``, objects as JSON, lists of tags as ``Tag.1.Key``. An answer
is an envelope around the objects of the API.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from emulator.kernel.digits import read_whole
from emulator.kernel.paging import Range
from emulator.services.mns.codec import unknown_word
from emulator.services.mns.queues.model import QUEUE, RATE_LIMIT, TYPES, QueueView
from emulator.services.mns.topics.model import SUBSCRIPTION, TOPIC, Subscription, TopicView
from emulator.wire.rpc import InvalidParameter, MissingParameter, Reply
from emulator.wire.schema.kinds import Shape
from emulator.wire.schema.texts import Texts, show

Parameters = Mapping[str, str]
Object = dict[str, Any]
T = TypeVar("T")

PAGE_NUMBER = Range(1, 100_000_000, 1)
PAGE_SIZE = Range(10, 50, 10)

_TAG = r"Tag\.(\d{1,4})\.(Key|Value)"
_DONE = "operation success"


def required(parameters: Parameters, name: str) -> str:
    """Return a parameter.

    Raises: MissingParameter.
    """
    value = parameters.get(name, "")
    if not value:
        raise MissingParameter(name=name)
    return value


def read_number(parameters: Parameters, name: str) -> int | None:
    """Return a whole number, or None.

    Raises: InvalidParameter.
    """
    text = parameters.get(name, "").strip()
    return _number(text, name) if text else None


def read_switch(parameters: Parameters, name: str) -> bool | None:
    """Return a boolean, or None.

    Raises: InvalidParameter.
    """
    text = parameters.get(name, "")
    return _switch(text, name) if text else None


def read_json(parameters: Parameters, name: str, kind: type[dict[str, Any]] | type[list[Any]]) -> Any:
    """Return a parameter that is the JSON text of an object or a list, or None.

    Raises: InvalidParameter.
    """
    text = parameters.get(name, "")
    if not text:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, kind):
        raise InvalidParameter(name=name)
    return value


def read_fifo(parameters: Parameters, name: str) -> bool | None:
    """Return whether ``normal`` or ``fifo`` was asked for, or None.

    Raises: InvalidParameter.
    """
    text = parameters.get(name, "")
    if not text:
        return None
    if text.lower() not in TYPES:
        raise InvalidParameter(name=name)
    return TYPES[text.lower()]


def read_tags(parameters: Parameters) -> tuple[tuple[str, str], ...]:
    """Return the resource tags in order.

    Raises: InvalidParameter for a tag without a key.
    """
    by_number: dict[int, dict[str, str]] = {}
    for name, value in parameters.items():
        if match := re.fullmatch(_TAG, name):
            by_number.setdefault(int(match[1]), {})[match[2]] = value
    tags = tuple((by_number[number].get("Key", ""), by_number[number].get("Value", "")) for number in sorted(by_number))
    if not all(key for key, _ in tags):
        raise InvalidParameter(name="Tag")
    return tags


def numbered(parameters: Parameters, name: str) -> list[str]:
    """Return the values of ``name.1``, ``name.2`` ... up to the first that is missing.

    Raises: MissingParameter when there is none.
    """
    values: list[str] = []
    while value := parameters.get(f"{name}.{len(values) + 1}"):
        values.append(value)
    if not values:
        raise MissingParameter(name=name)
    return values


def read_page(parameters: Parameters) -> tuple[int, int]:
    """Return number and size of the page; a value out of range becomes the nearest bound.

    Raises: InvalidParameter for a text that is no number.
    """
    return _bounded(parameters, "PageNum", PAGE_NUMBER), _bounded(parameters, "PageSize", PAGE_SIZE)


def _bounded(parameters: Parameters, name: str, allowed: Range) -> int:
    number = read_number(parameters, name)
    return min(max(allowed.default if number is None else number, allowed.low), allowed.high)


def _switch(value: object, name: str) -> bool:
    text = str(value).strip().lower()
    if text not in {"true", "false"}:
        raise InvalidParameter(name=name)
    return text == "true"


def _number(value: object, name: str) -> int:
    number = None if isinstance(value, bool) else read_whole(str(value).strip(), 15)
    if number is None:
        raise InvalidParameter(name=name)
    return number


PARAMETERS = Texts("rpc", _number, _switch, lambda name: InvalidParameter(name=name), unknown_word)


def success(data: Any = None) -> Reply:
    """Return the envelope around *data*; ``Code`` is a number there and nowhere else."""
    reply: Reply = {"Code": 200, "Status": "Success", "Message": _DONE, "Success": True}
    if data is not None:
        reply["Data"] = data
    return reply


def done() -> Reply:
    """Return the envelope of an operation without a result; it says so once more inside."""
    return success({"Code": 200, "Message": _DONE, "Success": True})


def page(items: Sequence[T], number: int, size: int, shown: Callable[[T], Object]) -> Object:
    """Return one page of all *items*, each as *shown*."""
    return page_of(items[(number - 1) * size : number * size], len(items), number, size, shown)


def page_of(part: Sequence[T], total: int, number: int, size: int, shown: Callable[[T], Object]) -> Object:
    """Return the page *part* of *total* items, each as *shown*."""
    return {
        "PageData": [shown(item) for item in part],
        "PageNum": number,
        "PageSize": size,
        "Pages": -(-total // size),
        "Size": len(part),
        "Total": total,
    }


def queue_object(view: QueueView, *, listed: bool = False) -> Object:
    """Return a queue; one in a list has addresses and no rate limit."""
    first = dict.fromkeys(("QueueName", "QueueType", "CreateTime", "LastModifyTime"))
    return _object(first | _members(QUEUE, view.queue.settings, view, listed=listed))


def topic_object(view: TopicView) -> Object:
    """Return a topic, with the addresses it would have in the cloud."""
    return _object(dict(show(TOPIC, "reply", view.topic.settings, view)))


def subscription_object(subscription: Subscription, *, listed: bool = False) -> Object:
    """Return a subscription; one in a list has an address and no rate limit."""
    return _object(_members(SUBSCRIPTION, subscription.settings, subscription, listed=listed))


def _members(resource: Shape, settings: Any, view: Any, *, listed: bool) -> Object:
    """Return the members of an answer.

    Source: ListQueue and ListSubscriptionByTopic; terraform-provider-alicloud, its data sources of queues and
    subscriptions read the addresses.
    """
    members = dict(show(resource, "reply", settings, view))
    if listed:
        del members[RATE_LIMIT.name]
        members |= show(resource, "listed", settings, view)
    return members


def _object(members: Object) -> Object:
    if "Tags" in members:
        members["Tags"] = [{"TagKey": key, "TagValue": value} for key, value in members["Tags"]]
    return members
