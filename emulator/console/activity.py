"""The recent activity of queues, topics, functions and flows: rates, the last state and the last error.

It is counted from the kept lines of the log and the recorded calls, so nothing is stored for it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from emulator.console.life import error_of
from emulator.kernel.clock import Millis
from emulator.lab.mocks import Recorded

WINDOW_MS = 5 * 60_000
"""The time, by the emulator's clock, over which rates are counted."""

_LONGEST_ERROR = 160

_NOTHING_THERE = "MessageNotExist"
"""The answer to a client that polls an empty queue, which does not count as an error."""

_QUEUE = {"SendMessage": "in", "BatchSendMessage": "in", "ReceiveMessage": "out", "BatchReceiveMessage": "out"}


class Activity:
    """The activity of one resource: counts of ``in`` and ``out`` within the window, the last state and the last error.

    In are messages sent or published, calls, started executions; out are messages received or delivered.
    """

    __slots__ = ("counts", "error", "error_at", "request", "state")

    def __init__(self) -> None:
        self.counts = {"in": 0, "out": 0}
        self.state = ""
        self.error = ""
        self.error_at: int | None = None
        self.request = ""

    def per_minute(self, side: str = "in") -> float:
        """Return how many of one *side* there were per minute, to one decimal."""
        return round(self.counts[side] * 60_000 / WINDOW_MS, 1)

    def failed(self, text: str, at: int, request: str = "") -> None:
        """Record an error as the latest, with the id of the request, message or execution it belongs to."""
        self.error, self.error_at, self.request = text[:_LONGEST_ERROR], at, request


NONE = Activity()
"""The activity of a resource without any."""

Activities = dict[tuple[str, str], Activity]
"""Activities by kind and name of the resource."""


def activities(
    lines: Iterable[tuple[int, str, str, Mapping[str, Any]]], calls: Iterable[Recorded], now: Millis
) -> Activities:
    """Return the activities in *lines*, the journal's effects, and in the recorded *calls*."""
    found: Activities = {}
    since = now - WINDOW_MS
    for at, _, _, fields in lines:
        if "operation" in fields:
            if fields.get("service") == "mns":
                _client(found, fields, at, since)
        elif "subscription" in fields:
            _push(found, fields, at, since)
        elif "queue" in fields:
            _count(_of(found, "queue", str(fields["queue"])), "in", at, since)
        elif "flow" in fields and "step" not in fields and "status" not in fields:
            _count(_of(found, "flow", str(fields["flow"])), "in", at, since)
    for call in calls:
        _call(found, call, since)
    return found


def _of(found: Activities, kind: str, name: str) -> Activity:
    return found.setdefault((kind, name), Activity())


def _count(activity: Activity, side: str, at: int, since: int, number: int = 1) -> None:
    if at >= since:
        activity.counts[side] += number


def _client(found: Activities, fields: Mapping[str, Any], at: int, since: int) -> None:
    """Count a request of a client of the message service."""
    name, operation = str(fields.get("resource") or "").partition("/")[0], str(fields["operation"])
    if not name:
        return
    activity = _of(found, "queue" if is_of_queue(operation) else "topic", name)
    error = str(fields.get("error") or "")
    if error and error != _NOTHING_THERE:
        activity.failed(f"{operation}: {error}", at, str(fields.get("request") or ""))
    elif not error:
        number = len(fields.get("message_ids") or ()) or 1
        if operation in _QUEUE:
            _count(activity, _QUEUE[operation], at, since, number)
        elif operation == "PublishMessage":
            _count(activity, "in", at, since)


def is_of_queue(operation: str) -> bool:
    """Whether an operation of the message service is about a queue, and not about a topic or a subscription."""
    return "Topic" not in operation and "ubscri" not in operation and operation != "PublishMessage"


def _push(found: Activities, fields: Mapping[str, Any], at: int, since: int) -> None:
    activity = _of(found, "topic", str(fields.get("topic")))
    if fields.get("result") == "delivered":
        activity.state = "delivered"
        _count(activity, "out", at, since)
    else:
        activity.state = "failed"
        text = f"{fields['subscription']}: {fields.get('detail') or fields.get('result')}"
        activity.failed(text, at, str(fields.get("message_id") or ""))


def _call(found: Activities, call: Recorded, since: int) -> None:
    activity = _of(found, "function", call.name)
    _count(activity, "in", call.at, since)
    activity.state = "failed" if call.error_type else "succeeded"
    if call.error_type:
        activity.failed(error_of(call, call.error_type), call.at, call.request_id)
