"""Executions with waits, branches, iterations, callbacks, calls, retries and child executions.

Before anything is killed each flow runs once undisturbed. An execution that went through kills must show the same
events, as many of each, numbered without a gap; whatever part of a history was read once must stay as it was read.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Coroutine
from typing import Any, NamedTuple
from urllib.parse import quote

from benchmarks.crash.flow_texts import ASKS, FLOWS, STARTED, WAITS_MS
from benchmarks.crash.record import now_ms
from benchmarks.crash.site import Link, Site, Unanswered
from emulator.wire.dates import parse_iso

OPEN_EXECUTIONS = 60
END_LIMIT_S = 90


class Event(NamedTuple):
    """What an event of a history is compared by."""

    id: int
    cause: int
    type: str
    step: str
    time: str
    detail: str


class Flows:
    """A starter, a reporter and a reader of histories."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._notes = site.subject.folder / "flow-notes"
        self._started: dict[str, str] = {}
        self._doubt: dict[str, str] = {}
        self._tokens: dict[str, bool] = {}
        self._read: dict[str, list[Event]] = {}
        self._expected: dict[str, Counter[tuple[str, str]]] = {}
        self._link = Link(site)
        self._children_before = 0
        self.ended = 0
        self.latest_ms = 0

    async def prepare(self) -> None:
        """Make the flows and run each once, undisturbed."""
        link = self._link
        await link.ask(
            self._site.mns("PUT", f"/queues/{ASKS}", "<Queue><VisibilityTimeout>1</VisibilityTimeout></Queue>")
        )
        for name, definition in FLOWS.items():
            reply = await link.ask(
                self._site.rpc("CreateFlow", Name=name, Type="FDL", Description="", Definition=definition)
            )
            if reply.status != 200:
                raise RuntimeError(reply.body)
        for flow in STARTED:
            name = await self._start(link, flow, f"first-{flow}")
            while (await self._describe(name, 0))["Status"] == "Running":
                await self._report_one(link, self._site.random("first"))
            events = await self._history(link, flow, name)
            self._check_end(flow, name, await self._describe(name, 0))
            self._expected[flow] = Counter((event.type, event.step) for event in events)
        self._started.clear()
        link.close()

    def clients(self) -> list[Coroutine[Any, Any, None]]:
        """Return the clients."""
        return [self._starter(), self._reporter(), self._reader()]

    async def _starter(self) -> None:
        link, chance = Link(self._site), self._site.random("starter" + str(self._site.record.kill))
        name = ""
        try:
            while not self._site.over.is_set():
                await self._site.rest(chance.uniform(0.02, 0.12))
                if self._open() < OPEN_EXECUTIONS:
                    flow = chance.choice(STARTED)
                    name = self._site.fresh(flow)
                    self._doubt[name] = flow
                    await self._start(link, flow, name)
                    del self._doubt[name]
        except Unanswered:
            self._site.record.note("StartExecution", "unanswered", name=name)
        finally:
            link.close()

    def _open(self) -> int:
        rows = self._site.rows("SELECT count(*) FROM workflow_executions WHERE stopped_at IS NULL")
        return int(rows[0][0])

    async def _start(self, link: Link, flow: str, name: str) -> str:
        given = json.dumps({"n": len(name), "name": name, "file": str(self._notes), "items": [1, 2, 3]})
        self._site.record.note("StartExecution", "asked", name=name)
        reply = await link.ask(self._site.rpc("StartExecution", FlowName=flow, ExecutionName=name, Input=given))
        if reply.status != 200:
            self._site.record.find("StartExecution was refused", name=name, answer=reply.body[:300].decode())
        self._started[name] = flow
        self._site.record.note("StartExecution", "acknowledged", name=name)
        return name

    async def _reporter(self) -> None:
        link, chance = Link(self._site), self._site.random("reporter" + str(self._site.record.kill))
        try:
            while not self._site.over.is_set():
                await self._report_one(link, chance)
        except Unanswered:
            self._site.record.note("ReportTaskSucceeded", "broken off")
        finally:
            link.close()

    async def _report_one(self, link: Link, chance: Any) -> None:
        """Take a question from the queue and answer it, sometimes twice."""
        record = self._site.record
        reply = await link.ask(self._site.mns("GET", f"/queues/{ASKS}/messages?waitseconds=1"))
        if reply.status != 200:
            return
        asked = json.loads(reply.elements("MessageBody")[0])
        name, token = asked["name"], asked["token"]
        for _ in range(chance.choice((1, 1, 1, 2))):
            told_before = name in self._tokens
            self._tokens.setdefault(name, False)
            record.note("ReportTaskSucceeded", "asked", name=name)
            try:
                output = json.dumps({"told": name})
                answer = await link.ask(self._site.rpc("ReportTaskSucceeded", TaskToken=token, Output=output))
            except Unanswered:
                record.note("ReportTaskSucceeded", "unanswered", name=name)
                raise
            if answer.status == 200:
                self._tokens[name] = True
            elif not told_before:
                record.find("a token was refused", name=name, answer=answer.body[:300].decode())
            record.note("ReportTaskSucceeded", "acknowledged", name=name, status=answer.status)
        handle = quote(reply.elements("ReceiptHandle")[0], safe="")
        await link.ask(self._site.mns("DELETE", f"/queues/{ASKS}/messages?ReceiptHandle={handle}"))

    async def _reader(self) -> None:
        link, chance = Link(self._site), self._site.random("reader" + str(self._site.record.kill))
        try:
            while not self._site.over.is_set():
                await self._site.rest(chance.uniform(0.02, 0.1))
                if self._started:
                    name, flow = chance.choice(list(self._started.items()))
                    await self._read_again(link, flow, name)
        except Unanswered:
            pass
        finally:
            link.close()

    async def _read_again(self, link: Link, flow: str, name: str) -> list[Event]:
        """Read a history and compare it with what was read of it before."""
        events = await self._history(link, flow, name)
        before = self._read.get(name, [])
        if events[: len(before)] != before:
            at = next(
                (n for n, pair in enumerate(zip(before, events, strict=False)) if pair[0] != pair[1]), len(events)
            )
            self._site.record.find(
                "a history has changed", name=name, event=at + 1, before=before[at : at + 2], now=events[at : at + 2]
            )
        self._read[name] = events
        return events

    async def _history(self, link: Link, flow: str, name: str) -> list[Event]:
        request = self._site.rpc("GetExecutionHistory", FlowName=flow, ExecutionName=name, Limit="1000")
        reply = await link.ask(request)
        if reply.status != 200:
            self._site.record.find("no history", name=name, answer=reply.body[:300].decode())
            return []
        members = ("EventId", "ScheduleEventId", "Type", "StepName", "Time", "EventDetail")
        events = [Event(*(event[member] for member in members)) for event in reply.json()["Events"]]
        if [event.id for event in events] != list(range(1, len(events) + 1)):
            self._site.record.find("event ids have gaps", name=name, ids=[event.id for event in events])
        return events

    async def _describe(self, name: str, wait_s: int) -> dict[str, Any]:
        flow = self._started.get(name) or self._doubt[name]
        request = self._site.rpc("DescribeExecution", FlowName=flow, ExecutionName=name, WaitTimeSeconds=str(wait_s))
        reply = await self._link.ask(request)
        answer = reply.json()
        return {"Status": "", **answer} if reply.status in {200, 404} else {"Status": f"HTTP {reply.status}"}

    async def audit(self) -> None:
        """Every execution accepted is there; the one in doubt may be."""
        known = {name for (name,) in self._site.rows("SELECT name FROM workflow_executions")}
        lost = self._started.keys() - known
        if lost:
            self._site.record.find("executions are lost", names=sorted(lost)[:10])
            for name in lost:
                del self._started[name]
        for name, flow in self._doubt.items():
            if name in known:
                self._started[name] = flow
        self._doubt.clear()

    async def settle(self) -> None:
        """Every execution ends as it should, with the history it should have."""
        await self.audit()
        self._site.over.clear()
        reporter = asyncio.create_task(self._reporter())
        deadline = now_ms() + END_LIMIT_S * 1000
        while self._open() and now_ms() < deadline:
            await asyncio.sleep(0.05)
        self._site.over.set()
        await reporter
        for name, flow in self._started.items():
            events = await self._read_again(self._link, flow, name)
            self._check_end(flow, name, await self._describe(name, 0))
            self._check_events(flow, name, events)
        await self._check_children()
        self.ended += len(self._started)
        self._started.clear()
        self._read.clear()
        self._link.close()

    def _check_end(self, flow: str, name: str, described: dict[str, Any]) -> None:
        outputs: dict[str, dict[str, Any]] = {"steps": {"n": len(name)}, "asking": {"told": name}}
        expected = outputs.get(flow, {})
        output = json.loads(described.get("Output") or "{}") if described["Status"] == "Succeeded" else {}
        if described["Status"] != "Succeeded" or not expected.items() <= output.items():
            self._site.record.find(f"an execution of {flow} ended otherwise", name=name, described={
                member: described.get(member) for member in ("Status", "Output", "Error", "Cause", "Code", "Message")
            })  # fmt: skip

    def _check_events(self, flow: str, name: str, events: list[Event]) -> None:
        seen = Counter((event.type, event.step) for event in events)
        expected = self._expected[flow]
        if seen != expected:
            self._site.record.find(
                "a history has other events", name=name, doubled=_plain(seen - expected), lost=_plain(expected - seen)
            )
        for step, span_ms in WAITS_MS.items():
            instants = [parse_iso(event.time) for event in events if event.step == step]
            if instants and instants[-1] - instants[0] < span_ms:
                self._site.record.find("a wait ended early", name=name, step=step, instants=instants)
            if instants:
                self.latest_ms = max(self.latest_ms, instants[-1] - instants[0] - span_ms)

    async def _check_children(self) -> None:
        """Each execution of ``steps`` has started exactly one of ``child``."""
        found = self._site.rows(
            "SELECT count(*), count(stopped_at) FROM workflow_executions e JOIN workflow_flows f ON f.id = e.flow "
            "WHERE f.name = 'child'"
        )
        parents = self._site.rows(
            "SELECT count(*) FROM workflow_executions e JOIN workflow_flows f ON f.id = e.flow WHERE f.name = 'steps'"
        )
        if found[0] != (parents[0][0], parents[0][0]):
            self._site.record.find("children do not match parents", parents=parents[0][0], children=found[0])


def _plain(counts: Counter[tuple[str, str]]) -> dict[str, int]:
    return {f"{kind} {step}": count for (kind, step), count in counts.items()}
