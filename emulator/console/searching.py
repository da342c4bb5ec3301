"""The search: names of all kinds, ids, texts of errors, bodies of messages. Each kind is asked for by itself."""

from collections.abc import Callable, Iterator
from itertools import islice
from urllib.parse import quote

from emulator.console.values import decoded
from emulator.console.view import FOUND, Row, View
from emulator.kernel.errors import ServiceError
from emulator.lab.mocks import shown_call
from emulator.services.workflow.model import ExecutionFilter, Status

_SHORTEST_ID = 16
"""Shorter texts are no request's id."""

_LOOKED_INTO = 50
"""Queues, and flows, whose contents are looked through."""

_MESSAGES = 200
"""Messages of each queue that are looked through."""

_AROUND = 60
"""Characters that are shown on each side of what was found."""


def found(view: View, text: str) -> list[Row]:
    """Return what *text* names or stands in: ``kind``, ``name``, and what its page is called by or ``detail``."""
    results = [row for kind in _KINDS for row in view.call(_all, kind, view, text)]
    results += islice(_contents(view, text), FOUND)
    if not results and len(text) >= _SHORTEST_ID and (view.call(view.journal.find, text) or _has_trace(view, text)):
        results.append({"kind": "request", "name": text})
    return results


def _has_trace(view: View, id: str) -> bool:
    try:
        return bool(view.admin("GET", f"/trace/{quote(id, safe='')}"))
    except ServiceError:
        return False


def _flows(view: View, text: str) -> Iterator[Row]:
    flows = [flow.name for flow in view.workflow.flows.page(view.tenant, 1000, "").items]
    yield from ({"kind": "flow", "name": name} for name in flows if text.lower() in name.lower())


def _executions(view: View, text: str) -> Iterator[Row]:
    criteria = ExecutionFilter(name_prefix=text)
    for flow in view.workflow.flows.page(view.tenant, FOUND, "").items:
        for record in view.workflow.executions.page(view.tenant, flow.name, criteria, 10, "").items:
            yield {"kind": "execution", "name": record.name, "flow": flow.name}


def _queues(view: View, text: str) -> Iterator[Row]:
    names = view.messages.queues.names(view.tenant, limit=1000).items
    yield from ({"kind": "queue", "name": name} for name in names if text.lower() in name.lower())


def _topics(view: View, text: str) -> Iterator[Row]:
    topics = [each.topic.name for each in view.messages.topics.page(view.tenant, limit=1000).items]
    yield from ({"kind": "topic", "name": name} for name in topics if text.lower() in name.lower())


def _functions(view: View, text: str) -> Iterator[Row]:
    for service, function in view.function_admin.page("", FOUND, text).items:
        yield {"kind": "function", "name": function, "service": service}


def _schedules(view: View, text: str) -> Iterator[Row]:
    for owner, schedule, _ in view.workflow.schedules.all(view.tenant, 1000, "").items:
        if text.lower() in schedule.name.lower():
            yield {"kind": "schedule", "name": f"{owner}/{schedule.name}"}


def _triggers(view: View, text: str) -> Iterator[Row]:
    for function, trigger in view.function_admin.triggers_named(text, FOUND):
        yield {"kind": "trigger", "name": function, "shown": f"{function} {trigger}"}


def _buckets(view: View, text: str) -> Iterator[Row]:
    for bucket in view.objects.buckets(view.tenant):
        if text.lower() in bucket.name:
            yield {"kind": "bucket", "name": bucket.name}


def _all(kind: Callable[[View, str], Iterator[Row]], view: View, text: str) -> list[Row]:
    return list(kind(view, text))


_KINDS = (_flows, _executions, _queues, _topics, _functions, _schedules, _triggers, _buckets)
"""What finds the resources of each kind that have a text in their names; each in a turn of its own, on the loop."""


def _contents(view: View, text: str) -> Iterator[Row]:
    """Yield requests, calls, executions and messages in which *text* stands; each part is a turn of its own."""
    wanted = text.lower()
    yield from view.call(lambda: list(islice(_requests(view, wanted), FOUND)))
    yield from view.call(lambda: list(islice(_calls(view, wanted), FOUND)))
    for flow in view.call(view.workflow.flows.page, view.tenant, _LOOKED_INTO, "").items:
        failed = ExecutionFilter(status=Status.FAILED)
        for record in view.call(view.workflow.executions.page, view.tenant, flow.name, failed, FOUND, "").items:
            if wanted in f"{record.error} {record.cause}".lower():
                detail = excerpt(f"{record.error}: {record.cause}", text)
                yield {"kind": "execution", "name": record.name, "flow": flow.name, "detail": detail}
    for queue in view.call(view.messages.queues.names, view.tenant, limit=_LOOKED_INTO).items:
        for row in view.admin("GET", "/messages", queue=queue, limit=_MESSAGES)["messages"]:
            body = decoded(row["MessageBody"]) or row["MessageBody"]
            if wanted in body.lower() or wanted in row["MessageBody"].lower():
                detail = excerpt(body, text)
                yield {"kind": "message", "name": row["MessageId"], "shown": queue, "detail": detail}


def _requests(view: View, wanted: str) -> Iterator[Row]:
    for line in view.journal.latest("emulator.access"):
        id, error = str(line.get("request") or ""), str(line.get("error") or "")
        if id and (wanted in id.lower() or wanted in error.lower()) and line.get("service") not in {"console", "admin"}:
            shown = f"{line.get('operation')} {line.get('resource') or ''}".strip()
            yield {"kind": "request", "name": id, "shown": shown, "detail": error}


def _calls(view: View, wanted: str) -> Iterator[Row]:
    for call in reversed(list(view.bench.calls)):
        if call.error_type:
            text = f"{call.error_type}: {shown_call(call)['error'].get('errorMessage') or ''}"
            if wanted in text.lower():
                yield {"kind": "request", "name": call.request_id, "shown": call.name, "detail": excerpt(text, wanted)}


def excerpt(text: str, wanted: str) -> str:
    """Return the part of *text* around the first *wanted*, in whatever case, on one line."""
    at = max(0, text.lower().find(wanted.lower()))
    begin, end = max(0, at - _AROUND), at + len(wanted) + _AROUND
    return f"{'…' if begin else ''}{' '.join(text[begin:end].split())}{'…' if end < len(text) else ''}"
