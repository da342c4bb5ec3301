"""The workflow service against a model: starts, stops, reports, time and crashes in any order."""

import asyncio
import json
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from emulator.kernel.clock import VirtualClock
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.kernel.ids import RandomIds
from emulator.kernel.timers import VirtualTimers
from emulator.services.workflow.errors import (
    ExecutionAlreadyCompleted,
    ExecutionAlreadyExists,
    TaskAlreadyCompleted,
)
from emulator.services.workflow.model import FlowSettings
from emulator.services.workflow.ports import MessageReply
from emulator.services.workflow.service import Workflow
from emulator.storage.database import Database
from emulator.storage.migration import migrate

WORLD = Tenant(AccountId("1"), Region("r"))
WAIT_S = 10
CALLBACK_S = 25
DEFINITION = f"""
version: v1
type: flow
steps:
  - {{type: wait, name: w, duration: {WAIT_S}}}
  - type: task
    name: t
    resourceArn: acs:mns:::/queues/q/messages
    pattern: waitForCallback
    timeoutSeconds: {CALLBACK_S}
    inputMappings: [{{target: token, source: $context.task.token}}, {{target: name, source: $context.execution.name}}]
  - {{type: pass, name: p, outputMappings: [{{target: done, source: true}}]}}
"""


class Queue:
    """A queue whose messages the test reads: the tokens by execution."""

    def __init__(self) -> None:
        self.tokens: dict[str, str] = {}

    async def send(self, tenant, queue, body, **more):
        message = json.loads(body)
        self.tokens[message["name"]] = message["token"]
        return MessageReply(members={"MessageId": "M"})


class WorkflowMachine(RuleBasedStateMachine):
    """Model: per execution, when it started, and how it ended."""

    names = Bundle("names")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "state.db"
        self.loop = asyncio.new_event_loop()
        self.clock = VirtualClock()
        self.queue = Queue()
        self.started: dict[str, int] = {}
        self.ended: dict[str, str] = {}
        self._open()
        settled = self.service.flows.create(WORLD, "f", DEFINITION, FlowSettings())
        self.loop.run_until_complete(settled)

    def _open(self) -> None:
        self.database = Database(self.path)
        migrate(self.database, [Workflow.SCHEMA])
        self.timers = VirtualTimers(self.clock)
        self.service = Workflow(
            database=self.database, clock=self.clock, ids=RandomIds(), timers=self.timers, messages=self.queue
        )
        self.loop.run_until_complete(self.service.start())
        self.loop.run_until_complete(self._settle())

    async def _settle(self) -> None:
        quiet = 0
        while quiet < 5:
            await asyncio.sleep(0)
            quiet = quiet + 1 if self.service.is_idle else 0

    def _do(self, action):
        async def run():
            try:
                return action()
            finally:
                await self._settle()

        return self.loop.run_until_complete(run())

    def teardown(self) -> None:
        self.loop.run_until_complete(self.service.close())
        self.database.close()
        self.loop.close()
        self.folder.cleanup()

    @rule(target=names, number=st.integers(0, 6))
    def start(self, number):
        name = f"e{number}"
        try:
            record = self._do(lambda: self.service.executions.start(WORLD, "f", name, "{}"))
        except ExecutionAlreadyExists:
            assert name in self.ended
        else:
            assert name not in self.ended
            assert record.started_at == self.started.setdefault(name, self.clock.now())
        return name

    @rule(name=names)
    def stop(self, name):
        try:
            self._do(lambda: self.service.executions.stop(WORLD, "f", name, "E", ""))
        except ExecutionAlreadyCompleted:
            assert name in self.ended
        else:
            assert name not in self.ended
            self.ended[name] = "Stopped"

    @rule(name=consumes(names))
    def report(self, name):
        token = self.queue.tokens.get(name)
        if token is None:
            assert self.clock.now() < self.started[name] + WAIT_S * 1000 or name in self.ended
            return
        try:
            self._do(lambda: self.service.reports.succeeded(WORLD, token, '{"r":1}'))
        except TaskAlreadyCompleted:
            assert name in self.ended
        else:
            assert name not in self.ended
            self.ended[name] = "Succeeded"

    @rule(seconds=st.sampled_from([1, 9, 10, 11, 25, 60]))
    def advance(self, seconds):
        async def move():
            end = self.clock.now() + seconds * 1000
            while (instant := self.timers.next_at()) is not None and instant <= end:
                self.timers.advance(max(0, instant - self.clock.now()))
                await self._settle()
            self.timers.advance(end - self.clock.now())
            await self._settle()

        self.loop.run_until_complete(move())
        self._note_time_outs()

    @rule(away_s=st.sampled_from([0, 0, 5, 30]))
    def crash(self, away_s):
        """Everything in memory is lost; the file is what it was at the last commit."""
        self.service._engine._closed = True
        self.loop.run_until_complete(self.service.close())
        self.database._connection.close()
        self.clock.move_to(self.clock.now() + away_s * 1000)
        self._open()
        self._note_time_outs()

    def _note_time_outs(self) -> None:
        for name in self.started:
            if name not in self.ended and self.service.executions.get(WORLD, "f", name).status == "Failed":
                waited_s = (self.clock.now() - self.started[name]) / 1000
                assert waited_s >= WAIT_S + CALLBACK_S
                self.ended[name] = "Failed"

    @invariant()
    def every_execution_is_where_the_model_says(self):
        for name in self.started:
            record = self.service.executions.get(WORLD, "f", name)
            assert record.status.value == self.ended.get(name, "Running")
            history = self.service.executions.history(WORLD, "f", name, 999, 1).items
            assert [event.id for event in history] == list(range(1, len(history) + 1))
            finals = [event for event in history if event.type.startswith("Execution") and event.id > 1]
            assert len(finals) == (1 if name in self.ended else 0)
            assert not finals or finals[0] is history[-1]

    @invariant()
    def nothing_is_left_of_ended_executions(self):
        live = len(self.started) - len(self.ended)
        executions = self.database.read("SELECT count(DISTINCT execution) FROM workflow_wakeups").fetchone()[0]
        assert executions == live


WorkflowMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestWorkflow = WorkflowMachine.TestCase
