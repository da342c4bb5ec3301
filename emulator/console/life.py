"""The life of a message: its stations in order, and why it has not arrived.

The past is in the effect log, as a tree (`emulator.lab.traces`) in which copies in queues, dead letters, pushes and
calls are below the message. The present is asked of the services by `emulator.console.pages.lives`, which turns it into
`Reason`s; their words and sentences are here.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, assert_never

from emulator.console.values import decoded
from emulator.drawing.execution_tree import duration
from emulator.kernel.frozen import frozen
from emulator.lab.mocks import Recorded
from emulator.lab.traces import Effect, NodeKind, delivered

Row = dict[str, Any]
Tone = Literal["succeeded", "pending", "running", "failed"]
TONES = ("failed", "pending", "running", "succeeded")
"""The colours of reasons, the most severe first."""


class Words(NamedTuple):
    """A reason as a word, as a sentence, and its colour."""

    word: str
    sentence: str
    tone: Tone


REASONS = {
    "arrived": Words("arrived", "It has arrived.", "succeeded"),
    "delayed": Words("delayed", "It was sent with a delay and is not visible yet.", "pending"),
    "in flight": Words(
        "in flight",
        "A consumer has received it and not deleted it. Others cannot receive it until the visibility timeout ends.",
        "running",
    ),
    "held": Words("held", "It waits for an earlier message of its group.", "pending"),
    "visible": Words("waits", "It is in the queue, and no consumer has received it yet.", "pending"),
    "visible again": Words(
        "waits again", "It was received and not deleted in time, so it is in the queue again.", "pending"
    ),
    "gone": Words(
        "gone", "It is no longer in the queue: it has expired, was moved or purged, or its log is gone.", "pending"
    ),
    "dead letter": Words(
        "dead letter",
        "It was received too often without being deleted, and was moved to the dead-letter queue.",
        "failed",
    ),
    "under way": Words("under way", "It is being delivered.", "running"),
    "push refused": Words("refused", "The subscriber refused it. The push is retried.", "failed"),
    "push given up": Words("given up", "The subscriber refused it. The push is not retried any more.", "failed"),
    "no subscriber": Words("no subscriber", "The topic has no subscription.", "failed"),
    "filter tag": Words("filtered", "The subscription's filter tag is not the tag of the message.", "failed"),
    "not wanted": Words("filtered", "The trigger's pattern does not match it.", "failed"),
    "function raised": Words("failed", "The function that received it raised an error.", "failed"),
    "timed out": Words("timed out", "The function that received it ran longer than its timeout.", "failed"),
    "out of memory": Words("out of memory", "The function that received it used more memory than its limit.", "failed"),
    "encoding": Words(
        "encoding",
        "Its encoding differs from that of other messages in this queue: Base64 and plain text are mixed.",
        "failed",
    ),
    "report awaited": Words(
        "report awaited", "The step that sent it waits for a report with its task token.", "pending"
    ),
}
"""Reasons why a message is where it is."""

OUT_OF_MEMORY = "out of memory"

STATIONS = (
    *("sent to queue", "published to topic", "put into queue", "dead letter in queue", "pushed to", "received"),
    *("deleted", "could not be deleted", "hidden again", "taken by trigger", "called", "started", "step", "request"),
    *("becomes visible in queue", "next attempt at"),
)
"""Texts for events in a message's life; the name of a resource follows."""


@frozen
class Reason:
    """Why a message is where it is: a key of `REASONS` about a resource, with a detail.

    ``until`` is when that changes by itself, in the emulator's time. ``id`` is that of the delivery, call or copy to
    link to.
    """

    what: str
    kind: str = ""
    name: str = ""
    detail: str = ""
    until: int | None = None
    id: str = ""

    @property
    def words(self) -> Words:
        """The word, the sentence and the colour."""
        return REASONS[self.what]


Calls = Mapping[str, Sequence[Recorded]]
"""Recorded calls by request id; the attempts of one oldest first."""


class Place(NamedTuple):
    """The queue or topic that a message was put into; ``kind`` is ``queue`` or ``topic``."""

    kind: str
    name: str


def places(effects: Iterable[Effect]) -> dict[str, Place]:
    """Return the queue or topic of each message in some lines of the log, by message id, oldest first."""
    found: dict[str, Place] = {}
    for effect in effects:
        fields = effect.fields
        for id in delivered(fields):
            found.setdefault(id, Place("queue", queue_of(str(fields.get("detail", "")))))
        kind = "queue" if "queue" in fields else "topic"
        if kind in fields and "subscription" not in fields:
            ids = [fields["message_id"]] if "message_id" in fields else fields.get("message_ids") or ()
            for id in ids:
                found.setdefault(str(id), Place(kind, str(fields[kind])))
    return found


def queue_of(detail: str) -> str:
    """Return the queue named in the result of a delivery, "" when there is none."""
    match = re.match(r"queue ([^\s,]+)", detail)
    return match[1] if match is not None else ""


def tag_of(effects: Iterable[Effect], id: str) -> str:
    """Return the tag that a message was published with, empty when it has none."""
    return next((str(each.fields["tag"]) for each in effects if _is_about(each, id) and "tag" in each.fields), "")


def _is_about(effect: Effect, id: str) -> bool:
    return effect.fields.get("message_id") == id


def found(roots: Iterable[Row], id: str, above: Row | None = None) -> tuple[Row, Row | None] | None:
    """Return the node of a message in a tree, with its parent; None when there is none."""
    for node in roots:
        if node["kind"] == "message" and node["id"] == id:
            return node, above
        below = found(node["children"], id, node)
        if below is not None:
            return below
    return None


def walked(node: Row, above: Row | None = None) -> Iterator[tuple[Row, Row | None]]:
    """Yield a node and all its descendants, each with its parent."""
    yield node, above
    for each in node["children"]:
        yield from walked(each, node)


def stations(
    node: Row, above: Row | None, effects: Sequence[Effect], calls: Calls, failure: Callable[[Recorded], str]
) -> list[Row]:
    """Return the stations of a message's life, in order.

    A station has ``at``, ``what`` (of `STATIONS`), ``kind``, ``name`` and ``id`` of the resource or call, ``state`` for
    a success or failure, and ``detail``. *failure* returns why a call has failed.
    """
    where = places(effects)
    nodes = list(walked(node, above))
    ids = {each["id"] for each, _ in nodes if each["kind"] == "message"}
    rows = [row for each, its in nodes for row in _stations(each, its, where, calls, failure)]
    rows += [row for effect in effects for row in _handled(effect, ids)]
    return sorted(rows, key=lambda row: int(row["at"]))


def _stations(
    node: Row, above: Row | None, where: Mapping[str, Place], calls: Calls, failure: Callable[[Recorded], str]
) -> Iterator[Row]:
    at, id, state = node["at_ms"], node["id"], "failed" if node["failed"] else "succeeded"
    kind: NodeKind = node["kind"]
    match kind:
        case "message":
            place = where.get(id, Place("", node["name"]))
            yield _row(at, _put(place, above), place.kind, place.name, id) | {"by": _sender(above)}
        case "push":
            result, _, detail = node["status"].partition(": ")
            topic, _, subscription = node["name"].partition("/")
            row = _row(at, "pushed to", "delivery", node["name"], f"{topic}/{subscription}/{id}", state, detail)
            yield row | {"state": "delivered" if result == "delivered" else "failed"}
        case "call":
            attempts = calls.get(id, ())
            for number, each in enumerate(attempts, 1):
                count = f"{number}. " if len(attempts) > 1 else ""
                state, took = "failed" if each.error_type else "succeeded", duration(each.ended_at - each.at)
                row = _row(
                    each.at, "called", "function", each.name, id, state, count if each.error_type else count + took
                )
                yield row | {"failure": failure(each) if each.error_type else ""}
            if not attempts:
                yield _row(at, "called", "function", node["name"], id, state if node["status"] else "running")
        case "request" if above is not None and above["kind"] == "message":
            yield _row(at, "received", "request", node["name"], id, state, node["status"])
        case "request":
            yield _row(at, "request", "request", node["name"], id, state, node["status"])
        case "execution":
            yield _row(at, "started", "execution", node["name"], id, state if node["status"] else "running")
        case "step":
            yield _row(at, "step", "execution", id, id, state, node["name"])
        case "fault":
            pass  # the push or the call that failed shows what the fault did
        case _:
            assert_never(kind)


def _sender(above: Row | None) -> Row | None:
    """Return the request or execution that sent a message, None for any other sender."""
    if above is None or above["kind"] not in {"request", "step"}:
        return None
    return {**above, "kind": "execution" if above["kind"] == "step" else "request"}


def _put(place: Place, above: Row | None) -> str:
    kind: NodeKind | None = above["kind"] if above is not None else None
    match kind:
        case "message":
            return "dead letter in queue"
        case "push":
            return "put into queue"
        case "request" | "call" | "execution" | "step" | "fault" | None:
            return "published to topic" if place.kind == "topic" else "sent to queue"
        case _:
            assert_never(kind)


def _row(at: int, what: str, kind: str, name: str, id: str, state: str = "", detail: str = "") -> Row:
    return {"at": at, "what": what, "kind": kind, "name": name, "id": id, "state": state, "detail": detail}


def coming(reasons: Iterable[Reason]) -> list[Row]:
    """Return the stations still to come."""
    return [
        _row(
            each.until,
            "becomes visible in queue" if each.kind == "queue" else "next attempt at",
            each.kind,
            each.name,
            "",
        )
        for each in reasons
        if each.until is not None
    ]


def _handled(effect: Effect, ids: set[str]) -> Iterator[Row]:
    """Yield the stations from requests with a message's receipt handle, and from triggers."""
    fields = effect.fields
    for id in fields.get("handled") or ():
        if id in ids:
            went, operation = int(fields.get("status") or 0) < 400, str(fields.get("operation"))
            done = "deleted" if "Delete" in operation else "hidden again"
            what = done if went or done != "deleted" else "could not be deleted"
            state = "succeeded" if went else "failed"
            yield _row(effect.at, what, "request", operation, str(fields.get("request")), state, str(fields["status"]))
    if "trigger" in fields and fields.get("message_id") in ids:
        name = f"{fields['function']} {fields['trigger']}"
        yield _row(effect.at, "taken by trigger", "function", name, str(fields["function"]))


def is_known(id: str, effects: Iterable[Effect]) -> bool:
    """Whether an id is that of a message in some lines of the log, and not of a request or a call."""
    lines = list(effects)
    return id in places(lines) or any(_is_about(each, id) or id in (each.fields.get("handled") or ()) for each in lines)


def was_deleted(id: str, effects: Iterable[Effect]) -> Effect | None:
    """Return the line of the request that deleted a message, None when there is none."""
    return next(
        (
            each
            for each in effects
            if id in (each.fields.get("handled") or ())
            and "Delete" in str(each.fields.get("operation"))
            and int(each.fields.get("status") or 0) < 400
        ),
        None,
    )


def taken_by(id: str, effects: Iterable[Effect]) -> Effect | None:
    """Return the line of the trigger that took a message from its queue, None when there is none."""
    return next((each for each in effects if _is_about(each, id) and "trigger" in each.fields), None)


def error_of(call: Recorded, unnamed: str = "") -> str:
    """Return the error of a failed call as one line; *unnamed* is the name of an error without one."""
    try:
        thrown = json.loads(call.answer)
    except (ValueError, RecursionError):
        thrown = None
    if not isinstance(thrown, dict):
        return call.answer[:300].decode("utf-8", "replace")
    parts = (thrown.get("errorType") or unnamed, thrown.get("errorMessage"))
    return ": ".join(str(part) for part in parts if part)[:300]


def failure_of(call: Recorded, used_mb: str, limit_mb: int) -> str:
    """Return why a call has failed: its error, or `OUT_OF_MEMORY` when it used more megabytes than it has."""
    return f"{OUT_OF_MEMORY} {used_mb} MB > {limit_mb} MB" if used_mb else error_of(call)


def of_call(call: Recorded, failure: str, until: int | None) -> Reason:
    """Return the reason for a call's latest attempt; *until* is the next attempt, *failure* comes from `failure_of`."""
    if not call.error_type:
        return Reason(what="arrived", kind="function", name=call.name, id=call.request_id)
    detail = failure.removeprefix(OUT_OF_MEMORY).strip()
    raised = "timed out" if "timed out after" in failure else "function raised"
    what = OUT_OF_MEMORY if detail != failure else raised
    return Reason(what=what, kind="function", name=call.name, detail=detail, until=until, id=call.request_id)


FORMS = ("plain text", "Base64")


def form_of(body: str) -> str:
    """Return the form of a body, one of `FORMS`."""
    return FORMS[bool(decoded(body))]
