"""A workflow service in virtual time, with functions that answer from a script."""

import asyncio
import json
from collections.abc import Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from emulator.http.message import Headers, Request, Response
from emulator.kernel.clock import VirtualClock
from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import AccountId, Principal, Region, Tenant
from emulator.kernel.ids import CountingIds
from emulator.kernel.timers import VirtualTimers
from emulator.services.workflow.engine.history import Recorded, line_of, packed
from emulator.services.workflow.engine.store import recorded
from emulator.services.workflow.front import WorkflowFront
from emulator.services.workflow.ports import (
    FunctionReply,
    FunctionResource,
    HttpReply,
    HttpResource,
    MessageReply,
    ObjectReply,
    ObjectResource,
    Submission,
)
from emulator.services.workflow.service import Workflow
from emulator.storage.database import Database
from emulator.wire.request import OperationRequest
from tests.ready_database import with_tables

WORLD = Tenant(AccountId("1234567890123456"), Region("cn-hangzhou"))


class ScriptedFunctions:
    """Functions by name: each answers with what its script returns for the event, or hangs on a future."""

    def __init__(self) -> None:
        self.scripts: dict[str, Callable[[dict[str, Any]], Any]] = {}
        self.calls: list[tuple[str, dict[str, Any], str]] = []
        self.cancelled: list[str] = []
        self.queued: dict[str, tuple[str, Any]] = {}
        self.abandoned: list[str] = []

    def on(self, name: str, script: Callable[[dict[str, Any]], Any]) -> None:
        self.scripts[name] = script

    async def invoke(self, tenant: Tenant, resource: FunctionResource, event: bytes, key: str) -> FunctionReply:
        assert tenant == WORLD
        given = json.loads(event)
        self.calls.append((resource.function, given, key))
        answer = self.scripts[resource.function](given)
        try:
            if isinstance(answer, asyncio.Future):
                answer = await answer
        except asyncio.CancelledError:
            self.cancelled.append(resource.function)
            raise
        if isinstance(answer, FunctionReply):
            return answer
        return FunctionReply(body=json.dumps(answer).encode())

    async def submit(
        self, tenant: Tenant, resource: FunctionResource, event: bytes, key: str, *, invocation_id: str
    ) -> Submission:
        assert tenant == WORLD
        if key not in self.queued:
            given = json.loads(event)
            self.calls.append((resource.function, given, key))
            answer = self.scripts[resource.function](given)
            if isinstance(answer, FunctionReply) and answer.refusal is not None:
                return Submission("", answer.refusal)
            self.queued[key] = (f"{invocation_id or 'request'}-{len(self.queued)}", answer)
        return Submission(self.queued[key][0])

    async def result(self, tenant: Tenant, request_id: str) -> FunctionReply:
        answer = next(answer for queued, answer in self.queued.values() if queued == request_id)
        if isinstance(answer, asyncio.Future):
            answer = await asyncio.shield(answer)
        return answer if isinstance(answer, FunctionReply) else FunctionReply(body=json.dumps(answer).encode())

    def abandon(self, tenant: Tenant, key: str) -> None:
        if key in self.queued:
            self.abandoned.append(self.queued[key][0])


class RecordingMessages:
    """Queues and topics that only remember what they were given."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.reply = MessageReply(members={"MessageId": "M", "MessageBodyMD5": "D", "RequestId": "R"})

    async def send(self, tenant: Tenant, queue: str, body: str, **more: Any) -> MessageReply:
        self.sent.append({"queue": queue, "body": body, **more})
        return self.reply

    async def publish(self, tenant: Tenant, topic: str, body: str, **more: Any) -> MessageReply:
        self.sent.append({"topic": topic, "body": body, **more})
        return self.reply


class RecordingHttp:
    """Answers every call over HTTP with ``reply`` and remembers it."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, dict[str, str], bytes]] = []
        self.reply = HttpReply(status=200, headers={"Content-Type": "text/plain"}, body=b"hello world")

    async def call(self, target: HttpResource, headers: dict[str, str], body: bytes) -> HttpReply:
        self.calls.append((target.method, target.url, headers, body))
        return self.reply


class RecordingObjects:
    """Answers every reading of an object with ``reply`` and remembers it."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, dict[str, str]]] = []
        self.reply = ObjectReply(members={"bucket": "b", "key": "k", "body": "text"})

    async def read(self, tenant: Tenant, target: ObjectResource, parameters: dict[str, str], limit: int) -> ObjectReply:
        assert tenant == WORLD
        self.calls.append((target.bucket, target.name, parameters))
        return self.reply


class Bench:
    """One emulator's workflow service; `restart` is a crash of everything but the database."""

    def __init__(self, path: Path | None = None, now: int = 1_700_000_000_000) -> None:
        self.path = path
        self.clock = VirtualClock(now)
        self.timers = VirtualTimers(self.clock)
        self.ids = CountingIds()
        self.functions = ScriptedFunctions()
        self.messages = RecordingMessages()
        self.http: RecordingHttp | None = RecordingHttp()
        self.objects: RecordingObjects | None = RecordingObjects()
        self.database = Database(path)
        with_tables(self.database, Workflow.SCHEMA)
        self._make()

    def _make(self) -> None:
        self.service = Workflow(
            database=self.database,
            clock=self.clock,
            ids=self.ids,
            timers=self.timers,
            functions=self.functions,
            messages=self.messages,
            http=self.http,
            objects=self.objects,
        )
        self.front = WorkflowFront(self.service, self.ids)

    async def start(self) -> None:
        await self.service.start()
        await self.settle()

    async def crash(self) -> None:
        """Lose the process: nothing in memory survives, the file does."""
        await self.service.close()
        self.database.close()
        self.timers = VirtualTimers(self.clock)
        self.database = Database(self.path)
        self._make()

    async def restart(self) -> None:
        await self.crash()
        await self.start()

    async def settle(self) -> None:
        """Let everything happen that can happen at this instant."""
        quiet = 0
        for _ in range(100_000):
            await asyncio.sleep(0)
            quiet = quiet + 1 if self.service.is_idle else 0
            if quiet > 5:
                return
        raise AssertionError("the service does not come to rest")

    async def advance(self, seconds: float) -> None:
        """Move time on, stopping at every timer on the way."""
        end = self.clock.now() + round(seconds * 1000)
        await self.settle()
        while (instant := self.timers.next_at()) is not None and instant <= end:
            self.timers.advance(max(0, instant - self.clock.now()))
            await self.settle()
        self.timers.advance(end - self.clock.now())
        await self.settle()

    def handle(self, action: str, **parameters: Any) -> Any:
        """Send a request as it comes from authentication; raises what the front raises."""
        form = {"Action": action, "Version": "2019-03-15", **{name: str(value) for name, value in parameters.items()}}
        return self.front.handle(self.context([], list(form.items())))

    def context(self, query: list[tuple[str, str]], form: list[tuple[str, str]]) -> OperationRequest:
        request = Request("POST", "/", Headers([("Content-Type", "application/x-www-form-urlencoded")]))
        request._query_pairs, request._form_pairs = query, form
        context = OperationRequest(request, self.clock.now())
        context.host = "cn-hangzhou.fnf.aliyuncs.com"
        context.region = WORLD.region
        context.principal = Principal(WORLD.account, "key", "arn")
        context.request_id = self.front.new_request_id(context)
        return context

    async def send(self, query: list[tuple[str, str]], form: list[tuple[str, str]]) -> dict[str, Any]:
        """Return the reply's members, with ``HTTP`` for the status of an error."""
        context = self.context(query, form)
        try:
            answer = self.front.handle(context)
            response = answer if isinstance(answer, Response) else await answer
        except ServiceError as error:
            response = self.front.render_error(error, context)
        reply = json.loads(response.body)
        return reply if response.status == 200 else {"HTTP": response.status, **reply}

    async def call(self, action: str, **parameters: Any) -> dict[str, Any]:
        """Send an operation with its parameters in the form."""
        form = {"Action": action, "Version": "2019-03-15", **parameters}
        return await self.send([], [(name, str(value)) for name, value in form.items()])

    async def flow(self, definition: str, name: str = "f") -> None:
        reply = await self.call("CreateFlow", Name=name, Definition=definition, Description="", Type="FDL")
        assert "Code" not in reply, reply

    async def begin(self, given: Any = None, name: str = "e", flow: str = "f") -> dict[str, Any]:
        """Start an execution and let it go as far as it can at this instant."""
        reply = await self.call(
            "StartExecution", FlowName=flow, ExecutionName=name, Input=json.dumps(given if given is not None else {})
        )
        await self.settle()
        return reply

    async def describe(self, name: str = "e", flow: str = "f") -> dict[str, Any]:
        return await self.call("DescribeExecution", FlowName=flow, ExecutionName=name)

    def kept(self, execution: int = 1, start: int = 1) -> list[Recorded]:
        """Return the events of an execution from id *start* on, as they stand in the store."""
        return list(recorded(self.database, execution, start))

    def rewrite(self, change: Callable[[Recorded], Recorded], execution: int = 1) -> None:
        """Change the events of an execution in the store; they all get the time of the first."""
        events = [change(event) for event in self.kept(execution)]
        self.database.write("DELETE FROM workflow_turns WHERE execution = ? AND first > 1", (execution,))
        self.database.write(
            "UPDATE workflow_turns SET events = ? WHERE execution = ?",
            (packed(line_of(each, each.detail) for each in events), execution),
        )

    async def events(self, name: str = "e", flow: str = "f") -> list[dict[str, Any]]:
        reply = await self.call("GetExecutionHistory", FlowName=flow, ExecutionName=name, Limit=999)
        return reply["Events"]


@asynccontextmanager
async def opened(path: Path | None = None):
    bench = Bench(path)
    await bench.start()
    try:
        yield bench
    finally:
        await bench.service.close()
        bench.database.close()


@pytest.fixture
def workflow():
    """A function that opens a service: ``async with workflow() as bench``, with a path for a database on disk."""
    return opened
