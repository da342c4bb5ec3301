"""What pages show and do, in words of pages: calls of the services' public methods, made on the loop.

One instance serves all pages; its public methods are called in the console's thread, those with an underscore run on
the loop. Rows are plain values, so that templates never touch a service.
"""

import json
from base64 import b64decode
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any

from emulator.console.code import files_of
from emulator.console.executions import EVENTS_SHOWN, Folds, Look, chosen, event_row, graph, rows
from emulator.console.front import Bridge
from emulator.gateway.journal import Journal
from emulator.kernel.clock import Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.lab.service import Lab
from emulator.services.fc.admin import FunctionAdmin
from emulator.services.fc.catalog.store import Slice
from emulator.services.fc.model import Function
from emulator.services.fc.service import FunctionCompute
from emulator.services.mns.queues.model import Message, QueueView
from emulator.services.mns.queues.visibility import write_handle
from emulator.services.mns.service import MessageService
from emulator.services.workflow.model import ExecutionFilter, ExecutionRecord, FlowRecord, HistoryEvent
from emulator.services.workflow.service import Workflow
from emulator.wire.dates import iso_millis

Row = dict[str, Any]

PAGE = 50
_EVENTS = 1_000
_COMING = 1_000
_SHORTEST_ID = 16
"""Shorter texts are no request's id."""

_WAKEUPS = {
    "wait": "end of a wait",
    "retry": "retry",
    "timeout": "time-out of a step",
    "flow": "time-out of the flow",
}
_LOG_LINES = 200
_REQUESTS = 200


class View:
    """The services, as pages see them, reached by *bridge*. *about* returns version, addresses and the like."""

    def __init__(
        self,
        tenant: Tenant,
        *,
        functions: FunctionCompute,
        function_admin: FunctionAdmin,
        messages: MessageService,
        workflow: Workflow,
        lab: Lab,
        journal: Journal,
        clock: Clock,
        about: Callable[[], Row],
        bridge: Bridge,
    ) -> None:
        self.tenant = tenant
        self.functions = functions
        self.messages = messages
        self.workflow = workflow
        self.lab = lab
        self._admin = function_admin
        self._journal = journal
        self._clock = clock
        self._about = about
        self._bridge = bridge
        self._folds = Folds()

    def call(self, function: Any, *arguments: Any, **named: Any) -> Any:
        """Call a public method of a service on the loop and return its result."""
        return self._bridge.call(function, *arguments, **named)

    def about(self) -> Row:
        """Return version, addresses, account and region."""
        return dict(self.call(self._about))

    def now(self) -> Millis:
        """Return the emulator's time."""
        return self._clock.now()

    def clock(self) -> Row:
        """Return the emulator's time and what comes next."""
        shown = dict(self.call(self.lab.time.view))
        for event in shown["next"]:
            event["to_ms"] = shown["now_ms"] + event["in_ms"]
        return shown

    def counts(self) -> Row:
        """Return how many of each there are; lists are counted up to a thousand."""
        return dict(self.call(self._counts))

    def _counts(self) -> Row:
        return {
            "flows": len(self.workflow.flows.page(self.tenant, 1000, "").items),
            "executions": self.workflow.open_executions,
            "queues": len(self.messages.queues.names(self.tenant, limit=1000).items),
            "topics": len(self.messages.topics.page(self.tenant, limit=1000).items),
            "functions": len(self._admin.names()),
        }

    def search(self, text: str) -> list[Row]:
        """Return what is called like *text*: ``kind``, ``name``, and what its page is called by."""
        return list(self.call(lambda: list(self._search(text))))

    def _search(self, text: str) -> Iterator[Row]:
        wanted = text.lower()
        for flow in self.workflow.flows.page(self.tenant, 1000, "").items:
            if wanted in flow.name.lower():
                yield {"kind": "flow", "name": flow.name}
            criteria = ExecutionFilter(name_prefix=text)
            for record in self.workflow.executions.page(self.tenant, flow.name, criteria, 10, "").items:
                yield {"kind": "execution", "name": record.name, "flow": flow.name}
        for queue in self.messages.queues.names(self.tenant, limit=1000).items:
            if wanted in queue.lower():
                yield {"kind": "queue", "name": queue}
        for topic in self.messages.topics.page(self.tenant, limit=1000).items:
            if wanted in topic.topic.name.lower():
                yield {"kind": "topic", "name": topic.topic.name}
        for name in self._admin.names():
            if wanted in name.lower():
                service, _, function = name.rpartition("/")
                yield {"kind": "function", "name": name, "service": service, "function": function}
        if len(text) >= _SHORTEST_ID and self._journal.find(text):
            yield {"kind": "request", "name": text}

    # --- queues --------------------------------------------------------------------------------------------------

    def queues(self, start: str) -> tuple[list[Row], str | None]:
        """Return a page of queues from the name *start* on, and where the next one begins."""
        page = self.call(self.messages.queues.page, self.tenant, start=start, limit=PAGE)
        return [_queue(view) for view in page.items], page.next_marker

    def queue(self, name: str) -> Row:
        """Return a queue, what is visible of its messages, and when the next becomes visible.

        Raises: MnsError.
        """
        return dict(self.call(self._queue, name))

    def _queue(self, name: str) -> Row:
        live = self.messages.find(self.tenant, name)
        counters = self.messages.queues.view(self.tenant, name)
        messages = self.messages.messages.peek(live, 16) if counters.counters.active else []
        next_at = self.messages.messages.next_visible(live.queue.queue_id, self.now())
        shown = [self.message(each) for each in messages]
        return {**_queue(counters), "messages": shown, "next_at": iso_millis(next_at) if next_at else None}

    def message(self, message: Message) -> Row:
        """Return a message as pages show it."""
        return {
            "id": message.message_id,
            "body": message.body,
            "priority": message.priority,
            "received": message.dequeue_count,
            "sent_at": iso_millis(Millis(message.enqueued_at)),
            "trace": message.trace,
            "handle": write_handle(
                message.message_id, message.queue_id, message.seq, message.revision, message.visible_from
            ),
            "hidden_until": iso_millis(Millis(message.visible_from)) if message.visible_from > 0 else None,
            "decoded": _decoded(message.body),
        }

    def give_back(self, name: str, handle: str) -> None:
        """Make a received message visible again after the shortest time the service knows, a second.

        Raises: MnsError.
        """
        self.call(lambda: self.messages.messages.change_visibility(self.messages.find(self.tenant, name), handle, 1))

    def delete(self, name: str, handle: str) -> None:
        """Delete a received message.

        Raises: MnsError.
        """
        self.call(lambda: self.messages.messages.delete(self.messages.find(self.tenant, name), handle))

    def move(self, name: str, target: str) -> int:
        """Send the visible messages of a queue to another, up to 160, and return how many.

        Raises: MnsError.
        """
        return int(self.call(self._move, name, target))

    async def _move(self, name: str, target: str) -> int:
        self.messages.find(self.tenant, target)
        moved = 0
        for _ in range(10):
            received = await self.messages.receive(self.tenant, name, 16, 0)
            for message in received:
                self.messages.send(self.tenant, target, message.body, 0, message.priority, message.group_id)
                self.messages.delete(self.tenant, name, message)
            moved += len(received)
            if not received:
                break
        return moved

    # --- topics --------------------------------------------------------------------------------------------------

    def topics(self, start: str) -> tuple[list[Row], str | None]:
        """Return a page of topics from the name *start* on, and where the next one begins."""
        page = self.call(self.messages.topics.page, self.tenant, start=start, limit=PAGE)
        rows = [{"name": each.topic.name, "messages": each.message_count} for each in page.items]
        return rows, page.next_marker

    def topic(self, name: str) -> Row:
        """Return a topic, its subscriptions and their latest deliveries.

        Raises: MnsError.
        """
        return dict(self.call(self._topic, name))

    def _topic(self, name: str) -> Row:
        subscriptions = []
        for each in self.messages.subscriptions.all(self.tenant, name):
            reports = self.messages.list_deliveries(self.tenant, name, each.name, 20)
            subscriptions.append(
                {
                    "name": each.name,
                    "endpoint": each.settings.endpoint,
                    "strategy": each.settings.strategy.name,
                    "deliveries": [
                        {
                            "id": report.message_id,
                            "state": report.state,
                            "attempts": report.attempts,
                            "result": report.last_result,
                            "next_at": iso_millis(report.next_at) if report.next_at else None,
                            "body": report.body,
                            "push": report.push,
                        }
                        for report in reports
                    ],
                }
            )
        return {"name": name, "subscriptions": subscriptions}

    # --- functions -----------------------------------------------------------------------------------------------

    def functions_listed(self, start: str) -> tuple[list[Row], str | None]:
        """Return a page of functions from the name *start* on, and where the next one begins."""
        names = self.call(self._admin.names)
        first = bisect_left(names, start)
        rows = []
        for name in names[first : first + PAGE]:
            service, _, function = name.rpartition("/")
            rows.append({"name": name, "service": service, "function": function})
        return rows, names[first + PAGE] if first + PAGE < len(names) else None

    def function(self, service: str, name: str) -> Row:
        """Return a function with its triggers and the end of its log.

        Raises: FcError.
        """
        found = dict(self.call(self._function, service, name))
        found["files"] = files_of(found["place"])
        return found

    async def _function(self, service: str, name: str) -> Row:
        function = self.functions.functions.get(self.tenant, service, name)
        full = f"{service}/{name}" if service else name
        log = b"".join([piece async for piece in self._admin.logs(full, _LOG_LINES, follow=False)])
        config = function.config
        return {
            "name": full,
            "service": service,
            "function": name,
            "runtime": config.runtime,
            "handler": config.handler,
            "timeout": config.timeout_s,
            "memory": config.memory_mb,
            "description": config.description,
            "environment": sorted(config.environment),
            "folder": function.folder,
            "problem": function.problem,
            "modified_at": iso_millis(function.modified_at),
            "triggers": [row for row in self._admin.triggers() if row["function"] == full],
            "log": log.decode("utf-8", "replace"),
            "versions": self._versions(function),
            "aliases": self._aliases(function),
            "instances": [
                {
                    "id": each.instance_id,
                    "version": each.version,
                    "state": str(each.state),
                    "provisioned": each.provisioned,
                    "since": iso_millis(Millis(each.started_at)),
                }
                for each in self.functions.instance_list.of_function(self.tenant, service, name)
            ],
            "place": self.functions.codes.path(function.code) if function.code is not None else None,
        }

    def _versions(self, function: Function) -> list[Row]:
        page = self.functions.publishing.page_versions(
            self.tenant, function.scope, start=None, newest_first=True, limit=PAGE
        )
        return [
            {"version": each.number, "description": each.description, "created_at": iso_millis(each.created_at)}
            for each in page.items
        ]

    def _aliases(self, function: Function) -> list[Row]:
        page = self.functions.publishing.page_aliases(self.tenant, function.scope, Slice(limit=PAGE))
        return [{"alias": each.name, "version": each.version_id, "weights": dict(each.weights)} for each in page.items]

    def invoke(self, service: str, name: str, qualifier: str | None, event: bytes) -> Row:
        """Call a function and return how it ended.

        Raises: FcError.
        """
        invoked = self.call(self.functions.invoke, self.tenant, service or None, name, qualifier, event)
        result = invoked.result
        return {
            "error": result.error_type or "",
            "body": result.body.decode("utf-8", "replace"),
            "log": result.log.decode("utf-8", "replace"),
            "ms": round(result.duration_ms, 1),
            "start": "cold" if result.cold else "provisioned" if result.provisioned else "warm",
        }

    # --- flows ---------------------------------------------------------------------------------------------------

    def flows(self, start: str) -> tuple[list[Row], str | None]:
        """Return a page of flows, and where the next one begins."""
        page = self.call(self.workflow.flows.page, self.tenant, PAGE, start)
        return [_flow(flow) for flow in page.items], page.next_marker

    def flow(self, name: str, start: str) -> Row:
        """Return a flow and a page of its executions.

        Raises: WorkflowError.
        """
        flow = self.call(self.workflow.flows.get, self.tenant, name)
        page = self.call(self.workflow.executions.page, self.tenant, name, ExecutionFilter(), PAGE, start)
        executions = [_execution(record) for record in page.items]
        drawn = graph(flow.definition, None, name)
        return {**_flow(flow), "graph": drawn, "executions": executions, "following": page.next_marker}

    def start(self, flow: str, input_text: str) -> str:
        """Start an execution and return its name.

        Raises: WorkflowError.
        """
        record = self.call(self.workflow.executions.start, self.tenant, flow, None, input_text or "{}")
        return str(record.name)

    def execution(self, flow: str, name: str, look: Look) -> Row:
        """Return an execution as *look* asks for it: steps, graph, the chosen step, waiting tokens, events.

        Raises: WorkflowError.
        """
        record = self.call(self.workflow.executions.get, self.tenant, flow, name)

        def read(start: int, *, whole: bool = False, limit: int = _EVENTS) -> list[HistoryEvent]:
            history = self.workflow.executions.history
            return list(self.call(history, self.tenant, flow, name, limit, start, whole=whole).items)

        latest = self._folds.upto(record.id, read, None)
        at = look.at if look.at is not None and 0 < look.at < latest.upto else None
        fold = latest if at is None else self._folds.upto(record.id, read, at)
        now = self.now() if record.is_open and at is None else fold.at
        last = at or latest.upto
        events = read(max(1, last - EVENTS_SHOWN + 1), whole=True, limit=EVENTS_SHOWN)
        is_open = record.is_open and at is None
        coming = self.call(self.workflow.upcoming, self.now(), _COMING) if is_open else []
        return {
            **_execution(record),
            "status": fold.execution.status,
            "input": record.input,
            "output": record.output if at is None else "",
            "error": record.error if at is None else "",
            "cause": record.cause if at is None else "",
            "at": at,
            "last": latest.upto,
            "at_time": iso_millis(fold.at),
            "steps": rows(fold, look, now),
            "chosen": chosen(fold, look),
            "graph": graph(record.definition, fold, f"{flow} / {name}"),
            "events": [event_row(event) for event in reversed(events) if event.id <= last],
            "next": [
                {"what": _WAKEUPS.get(what, what), "at": iso_millis(due), "to_ms": due}
                for its_flow, its_name, what, due in coming
                if (its_flow, its_name) == (flow, name)
            ],
            "tokens": self.call(self.workflow.tokens, self.tenant, flow, name) if is_open else [],
        }

    # --- requests ------------------------------------------------------------------------------------------------

    def requests(self, text: str) -> list[Row]:
        """Return the latest requests of clients that have *text* in them, newest first."""
        rows = []
        for line in reversed(self.call(self._journal.latest, "emulator.access")):
            if line.get("service") in {"console", "admin"}:
                continue
            if text.lower() in json.dumps(line).lower():
                rows.append(line)
            if len(rows) >= _REQUESTS:
                break
        return rows

    def lines(self, request: str) -> list[Row]:
        """Return the log lines of a request and of all that it caused."""
        return list(self.call(self._journal.find, request))


def _queue(view: QueueView) -> Row:
    settings = view.queue.settings
    return {
        "name": view.queue.name,
        "active": view.counters.active,
        "inactive": view.counters.inactive,
        "delayed": view.counters.delayed,
        "visibility_timeout_s": settings.visibility_timeout_s,
        "delay_s": settings.delay_s,
        "retention_s": settings.retention_s,
        "fifo": settings.fifo,
    }


def _decoded(body: str) -> str:
    """Return the text behind Base64, empty when the body is none."""
    try:
        text = b64decode(body.encode("ascii"), validate=True).decode() if len(body) % 4 == 0 and len(body) > 7 else ""
    except ValueError:
        return ""
    return text if text.isprintable() or "\n" in text else ""


def _flow(flow: FlowRecord) -> Row:
    return {
        "name": flow.name,
        "definition": flow.definition,
        "description": flow.settings.description,
        "modified_at": iso_millis(flow.modified_at),
    }


def _execution(record: ExecutionRecord) -> Row:
    stopped = record.stopped_at
    return {
        "flow": record.flow_name,
        "name": record.name,
        "status": record.status.value,
        "is_open": record.is_open,
        "started_at": iso_millis(record.started_at),
        "stopped_at": iso_millis(stopped) if stopped is not None else None,
        "ms": stopped - record.started_at if stopped is not None else None,
    }
