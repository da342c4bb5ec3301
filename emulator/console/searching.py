"""The search: names of all kinds, ids, texts of errors, bodies of messages.

Lists that can be long are read in pages, each in a turn of its own on the loop.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import quote

from emulator.console.life import error_of
from emulator.console.needs import OWN
from emulator.console.values import decoded
from emulator.console.view import FOUND, Row, View
from emulator.kernel.errors import ServiceError
from emulator.kernel.paging import Page

T = TypeVar("T")

_SHORTEST_ID = 16
"""The shortest request id; shorter texts are not looked up as one."""

_TURN = 1_000
"""Names, or errors of executions, searched in one turn of the loop."""

_BODIES = 200
"""Bodies of messages searched in one turn of the loop."""

MESSAGES = 20_000
"""The most messages searched, the latest of all queues."""

_AROUND = 60
"""Characters shown on each side of a match."""


def found(view: View, text: str) -> list[Row]:
    """Return the occurrences of *text*: ``kind``, ``name``, and what its page is called by or ``detail``."""
    results = [row for kind in _KINDS for row in islice(kind(view, text), FOUND)]
    results += islice(_contents(view, text), FOUND)
    if not results and len(text) >= _SHORTEST_ID and (view.call(view.journal.find, text) or _has_trace(view, text)):
        results.append({"kind": "request", "name": text})
    return results


def _has_trace(view: View, id: str) -> bool:
    try:
        return bool(view.admin("GET", f"/trace/{quote(id, safe='')}"))
    except ServiceError:
        return False


def _every(view: View, page: Callable[[str], Page[T]]) -> Iterator[T]:
    """Yield the items of all pages; *page* returns the one that begins with a marker."""
    marker: str | None = ""
    while marker is not None:
        part = view.call(page, marker)
        yield from part.items
        marker = part.next_marker


def _called(kind: str, names: Iterable[str]) -> Iterator[Row]:
    yield from ({"kind": kind, "name": name} for name in names)


def _flows(view: View, text: str) -> Iterator[Row]:
    yield from _called("flow", view.call(view.workflow.flows.names_with, view.tenant, text.lower(), FOUND))


def _executions(view: View, text: str) -> Iterator[Row]:
    for each in view.call(view.workflow.executions.beginning, view.tenant, text, FOUND):
        yield {"kind": "execution", "name": each.name, "flow": each.flow}


def _queues(view: View, text: str) -> Iterator[Row]:
    yield from _called("queue", view.call(view.messages.queue_store.names_with, view.tenant, text.lower(), FOUND))


def _topics(view: View, text: str) -> Iterator[Row]:
    yield from _called("topic", view.call(view.messages.topic_store.names_with, view.tenant, text.lower(), FOUND))


def _functions(view: View, text: str) -> Iterator[Row]:
    for service, function in view.call(view.function_admin.page, "", FOUND, text).items:
        yield {"kind": "function", "name": function, "service": service}


def _schedules(view: View, text: str) -> Iterator[Row]:
    for flow, name in view.call(view.workflow.schedule_store.names_with, view.tenant, text.lower(), FOUND):
        yield {"kind": "schedule", "name": f"{flow}/{name}"}


def _triggers(view: View, text: str) -> Iterator[Row]:
    for function, trigger in view.call(view.function_admin.triggers_named, text, FOUND):
        yield {"kind": "trigger", "name": function, "shown": f"{function} {trigger}"}


def _buckets(view: View, text: str) -> Iterator[Row]:
    buckets = view.call(view.objects.buckets, view.tenant, "", FOUND, text.lower()).items
    yield from _called("bucket", (bucket.name for bucket in buckets))


_KINDS = (_flows, _executions, _queues, _topics, _functions, _schedules, _triggers, _buckets)
"""For each kind, the search for resources with a text in their names, or executions whose names begin with it."""


def _contents(view: View, text: str) -> Iterator[Row]:
    """Yield requests, calls, executions and messages that contain *text*."""
    wanted = text.lower()
    yield from view.call(lambda: list(islice(_requests(view, wanted), FOUND)))
    yield from view.call(lambda: list(islice(_calls(view, wanted), FOUND)))
    for each in _every(view, partial(view.workflow.executions.with_errors, view.tenant, _TURN)):
        said = f"{each.error}: {each.cause}"
        if wanted in said.lower():
            yield {"kind": "execution", "name": each.name, "flow": each.flow, "detail": excerpt(said, text)}
    for queue, id, written in islice(messages(view), MESSAGES):
        body = decoded(written) or written
        if wanted in body.lower() or wanted in written.lower():
            yield {"kind": "message", "name": id, "shown": queue, "detail": excerpt(body, text)}


def messages(view: View) -> Iterator[tuple[str, str, str]]:
    """Yield queue, id and body of all messages in queues, newest first."""
    before = 2**63 - 1
    while rows := view.call(view.messages.queue_store.latest, view.tenant, before, _BODIES):
        yield from (row[1:] for row in rows)
        before = rows[-1][0]


def _requests(view: View, wanted: str) -> Iterator[Row]:
    def fits(said: Mapping[str, Any]) -> bool:
        id, error = str(said.get("request") or ""), str(said.get("error") or "")
        return bool(id) and (wanted in id.lower() or wanted in error.lower()) and said.get("service") not in OWN

    for line in view.journal.latest("emulator.access", fits):
        shown = f"{line.get('operation')} {line.get('resource') or ''}".strip()
        yield {"kind": "request", "name": str(line["request"]), "shown": shown, "detail": str(line.get("error") or "")}


def _calls(view: View, wanted: str) -> Iterator[Row]:
    for call in reversed(list(view.bench.calls)):
        if call.error_type:
            text = error_of(call, call.error_type)
            if wanted in text.lower():
                yield {"kind": "request", "name": call.request_id, "shown": call.name, "detail": excerpt(text, wanted)}


def excerpt(text: str, wanted: str) -> str:
    """Return the part of *text* around the first *wanted*, ignoring case, on one line."""
    at = max(0, text.lower().find(wanted.lower()))
    begin, end = max(0, at - _AROUND), at + len(wanted) + _AROUND
    return f"{'…' if begin else ''}{' '.join(text[begin:end].split())}{'…' if end < len(text) else ''}"
