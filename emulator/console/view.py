"""What pages show and do, in words of pages: calls of the services' public methods, made on the loop.

One instance serves all pages; its public methods are called in the console's thread, those with an underscore run on
the loop. Rows are plain values, so that templates never touch a service.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from emulator.console.front import Bridge
from emulator.gateway.journal import Journal
from emulator.kernel.clock import Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.lab.service import Lab
from emulator.services.fc.admin import FunctionAdmin
from emulator.services.fc.service import FunctionCompute
from emulator.services.mns.queues.model import Message, QueueView
from emulator.services.mns.service import MessageService
from emulator.services.workflow.model import ExecutionFilter, ExecutionRecord, FlowRecord, HistoryEvent
from emulator.services.workflow.service import Workflow
from emulator.wire.dates import iso_millis

Row = dict[str, Any]

PAGE = 50
_EVENTS = 1_000
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
        if self._journal.find(text):
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
        }

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
                    "strategy": str(each.settings.strategy),
                    "deliveries": [
                        {
                            "id": report.message_id,
                            "state": report.state,
                            "attempts": report.attempts,
                            "result": report.last_result,
                            "next_at": iso_millis(report.next_at) if report.next_at else None,
                            "body": report.body,
                        }
                        for report in reports
                    ],
                }
            )
        return {"name": name, "subscriptions": subscriptions}

    # --- functions -----------------------------------------------------------------------------------------------

    def functions_listed(self, prefix: str) -> list[Row]:
        """Return the functions whose names begin with *prefix*."""
        rows = []
        for name in self.call(self._admin.names):
            if name.startswith(prefix):
                service, _, function = name.rpartition("/")
                rows.append({"name": name, "service": service, "function": function})
        return rows

    def function(self, service: str, name: str) -> Row:
        """Return a function with its triggers and the end of its log.

        Raises: FcError.
        """
        return dict(self.call(self._function, service, name))

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
        }

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
        return {**_flow(flow), "executions": executions, "following": page.next_marker}

    def start(self, flow: str, input_text: str) -> str:
        """Start an execution and return its name.

        Raises: WorkflowError.
        """
        record = self.call(self.workflow.executions.start, self.tenant, flow, None, input_text or "{}")
        return str(record.name)

    def execution(self, flow: str, name: str) -> Row:
        """Return an execution: its steps with their states, waiting tokens, and its history.

        Raises: WorkflowError.
        """
        record = self.call(self.workflow.executions.get, self.tenant, flow, name)
        page = self.call(self.workflow.executions.history, self.tenant, flow, name, _EVENTS, 1)
        return {
            **_execution(record),
            "input": record.input,
            "output": record.output,
            "error": record.error,
            "cause": record.cause,
            "definition": record.definition,
            "steps": _steps(page.items, record.stopped_at or self.now()),
            "events": [_event(event) for event in page.items],
            "more": page.next_marker is not None,
            "tokens": [] if not record.is_open else self.call(self.workflow.tokens, self.tenant, flow, name),
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


def _event(event: HistoryEvent) -> Row:
    return {
        "id": event.id,
        "type": event.type,
        "step": event.step,
        "at": iso_millis(event.at),
        "detail": event.detail,
    }


_ENDS = {"StepExited": "succeeded", "StepFailed": "failed", "TaskFailed": "failed", "TaskTimedOut": "failed"}


def _steps(events: list[HistoryEvent], now: Millis) -> list[Row]:
    """Return a row per visit of a step: state, attempts, times as shares of the whole for the timeline."""
    rows: dict[int, Row] = {}
    latest: dict[str, Row] = {}
    for event in events:
        if event.type == "StepEntered":
            row: Row = {
                "step": event.step,
                "state": "running",
                "from": event.at,
                "to": None,
                "attempts": 0,
                "detail": "",
            }
            rows[event.id] = latest[event.step] = row
        elif event.step in latest:
            row = latest[event.step]
            row["attempts"] += event.type == "TaskStarted"
            if event.type in _ENDS and row["to"] is None:
                row["state"] = _ENDS[event.type]
                row["detail"] = event.detail
                if event.type.startswith("Step"):
                    row["to"] = event.at
            elif event.type == "TaskSucceeded":
                row["state"] = "running"
    begin = events[0].at if events else now
    whole = max(1, now - begin)
    for row in rows.values():
        end = row["to"] if row["to"] is not None else now
        row["ms"] = end - row["from"]
        row["left"] = round((row["from"] - begin) / whole * 1000)
        row["width"] = max(2, round((end - row["from"]) / whole * 1000))
    return list(rows.values())
