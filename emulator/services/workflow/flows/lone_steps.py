"""One step of a flow, run alone: no execution is made and nothing is stored.

The step goes through the same decisions as in an execution. Waits and pauses before retries are over at once; tasks
are answered by mocks where there are any, else what they name is really called. A task that waits for a report ends
there, unless a mock has it.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.services.workflow.engine import events
from emulator.services.workflow.engine.decide import decide, react
from emulator.services.workflow.engine.events import Event, canonical
from emulator.services.workflow.engine.language import (
    CallService,
    Events,
    Facts,
    Park,
    Program,
    Replied,
    Reported,
    Result,
    StepArrival,
    Submitted,
    TimerFired,
    WakeAt,
)
from emulator.services.workflow.engine.model import ROOT, Phase, Scope, StepList, Strand, all_lists
from emulator.services.workflow.engine.state import ExecutionState, apply
from emulator.services.workflow.engine.tasks import TaskCaller, target_of
from emulator.services.workflow.errors import invalid
from emulator.services.workflow.flows.flows import read_definition
from emulator.services.workflow.languages.programs import Programs
from emulator.services.workflow.ports import FunctionReply, FunctionResource, Submission

Perform = Callable[[CallService, Callable[[Result], None]], Awaitable[Result]]
"""Makes the call of a task; the second argument takes what a queued call was answered with."""


class StepRun:
    """A run of one step. *step_input* is what the step before it would hand on, *variables* the variables so far."""

    def __init__(
        self, facts: Facts, step_name: str, step_input: dict[str, Any], variables: dict[str, Any], now: Millis
    ) -> None:
        self._facts = facts
        self._steps, position = _place(facts.program, step_name)
        self._now = now
        self._wakeups: list[WakeAt] = []
        self._calls: list[CallService] = []
        self.history: list[Event] = []
        self.state = ExecutionState()
        self._apply((Event(1, events.EXECUTION_STARTED, ROOT, 0, "", "{}", None, (step_input, canonical(step_input))),))
        scope = Scope(self._steps, step_input)
        scope.position = position
        self.state.strands[ROOT] = strand = Strand(ROOT, ROOT, 0, scope)
        self.state.variables = variables
        strand.last = 1

    @property
    def is_over(self) -> bool:
        """Whether the step has been left."""
        if self.state.outcome is not None or ROOT not in self.state.strands:
            return True
        return self.history[-1].type == events.STEP_EXITED and self._root.entry is None

    @property
    def _root(self) -> Scope:
        return self.state.strands[ROOT].scopes[0]

    async def run(self, perform: Perform, reports: Callable[[CallService], Result | None]) -> dict[str, Any]:
        """Run the step and return what came of it, in JSON's terms.

        *perform* makes calls; *reports* gives what is reported of a task that waits for it, None for nothing.
        """
        while not self.is_over:
            decided = decide(self._facts, self.state)
            if isinstance(decided, Park):
                strand = self.state.next_ready()
                assert strand is not None
                self.state.park(strand)
                self._wakeups += [each for each in decided.commands if isinstance(each, WakeAt)]
                self._calls += [each for each in decided.commands if isinstance(each, CallService)]
            elif decided is not None:
                self._apply(decided)
            elif self._calls:
                await self._make(self._calls.pop(0), perform, reports)
            elif not self._wake():
                break
        return self._shown()

    def _apply(self, decided: Events) -> None:
        for event in decided:
            self.history.append(event)
            apply(self._facts.program, self.state, event, self._now)
            if self.is_over:
                return

    def _arrived(self, arrival: StepArrival) -> None:
        self._apply(react(self._facts, self.state, arrival))

    async def _make(self, call: CallService, perform: Perform, reports: Callable[[CallService], Result | None]) -> None:
        def submitted(result: Result) -> None:
            self._arrived(Submitted(call.entry, call.attempt, result))

        live = self.state.find(call.entry)
        if live is None or live[1].retries != call.attempt:
            return
        timeout_s = call.step.timeout_of(live[1])
        try:
            result = await asyncio.wait_for(perform(call, submitted), timeout_s)
        except TimeoutError:
            self._arrived(TimerFired(call.entry, "timeout", Millis(self._now + (timeout_s or 0) * 1000)))
            return
        self._arrived(Replied(call.entry, call.attempt, result))
        live = self.state.find(call.entry)
        if live is not None and live[1].phase is Phase.SUBMITTED and (report := reports(call)) is not None:
            self._arrived(Reported(call.entry, call.attempt, report))

    def _wake(self) -> bool:
        """Let the earliest wait be over; False when there is none."""
        waits = sorted((each for each in self._wakeups if each.kind != "timeout"), key=lambda each: each.at)
        if not waits:
            return False
        self._wakeups.remove(waits[0])
        self._now = Millis(max(self._now, waits[0].at))
        self._arrived(TimerFired(waits[0].entry, waits[0].kind, self._now))
        return True

    def _shown(self) -> dict[str, Any]:
        state = self.state
        last = self.history[-1]
        shown: dict[str, Any] = {
            "status": "Succeeded",
            "output": None,
            "error": state.error,
            "cause": state.cause,
            "next": None,
            "global": state.variables,
            "events": [
                {"EventId": each.id, "StepName": each.step, "Type": each.type, "EventDetail": each.detail}
                for each in self.history[1:]
            ],
        }
        if not self.is_over:
            name = next((entry.step.name for entry in state.submitted()), "")
            return {**shown, "status": "Waiting", "cause": f"waits for a report of {name}"}
        if state.outcome is not None or ROOT not in state.strands:
            return {**shown, "status": "Failed"}
        left = events.parse_object(last.detail)
        if "error" in left:
            shown |= {"status": "Caught", "error": left["error"], "cause": left.get("cause", "")}
        scope = self._root
        following = self._steps.steps[scope.position].name if scope.position < len(self._steps.steps) else None
        return {**shown, "output": scope.local, "next": following}


def _place(program: Program, name: str) -> tuple[StepList, int]:
    for steps in all_lists(program.steps):
        if name in steps.index:
            return steps, steps.index[name]
    names = ", ".join(step.name for steps in all_lists(program.steps) for step in steps.steps)
    raise invalid(f"The definition has no step {name!r}; there are {names}.")


class StepMocks:
    """Answers in place of calls, by the name of a step or of a function.

    *document* maps each name to an answer or a list of them, the last of which is repeated; an answer is
    ``{"return": VALUE}`` or ``{"error": {"errorType": ..., "errorMessage": ...}}``.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._answers: dict[str, list[Any]] = {}
        for name, answers in document.items():
            self._answers[name] = answers if isinstance(answers, list) else [answers]
            for answer in self._answers[name]:
                if not isinstance(answer, dict) or answer.keys() not in ({"return"}, {"error"}):
                    reason = f'A mock of {name!r} must be {{"return": VALUE}} or {{"error": {{"errorType": "E"}}}}.'
                    raise invalid(reason)

    def find(self, call: CallService) -> dict[str, Any] | None:
        """Return the next answer for a call; None when it has no mock."""
        target = target_of(call)
        names = [call.step.name]
        if isinstance(target, FunctionResource):
            names.append(f"{target.service}/{target.function}" if target.service else target.function)
        for name in names:
            answers = self._answers.get(name)
            if answers:
                answer: dict[str, Any] = answers.pop(0) if len(answers) > 1 else answers[0]
                return answer
        return None


def mock_result(answer: dict[str, Any]) -> Result:
    """Return an answer as the result of a task."""
    if "return" in answer:
        return Result(output=canonical(answer["return"]))
    error = _error(answer)
    return Result(error=error["errorType"], cause=error["errorMessage"])


def _error(answer: dict[str, Any]) -> dict[str, str]:
    error = answer["error"]
    if not isinstance(error, dict):
        return {"errorType": str(error), "errorMessage": ""}
    return {name: str(error.get(name, default)) for name, default in (("errorType", "Error"), ("errorMessage", ""))}


class _MockedFunction:
    """Function Compute (`ports.FunctionInvoker`) with one answer for every call."""

    def __init__(self, answer: dict[str, Any]) -> None:
        failed = "error" in answer
        body = canonical(_error(answer) if failed else answer["return"]).encode()
        self._reply = FunctionReply(body=body, error_type="HandledInvocationError" if failed else None)

    async def invoke(self, tenant: Tenant, resource: FunctionResource, event: bytes, key: str) -> FunctionReply:
        return self._reply

    async def submit(
        self, tenant: Tenant, resource: FunctionResource, event: bytes, key: str, *, invocation_id: str
    ) -> Submission:
        return Submission("mock")

    async def result(self, tenant: Tenant, request_id: str) -> FunctionReply:
        return self._reply

    def abandon(self, tenant: Tenant, key: str) -> None:
        """Do nothing: no call goes on."""


async def perform_mock(
    tenant: Tenant, call: CallService, answer: dict[str, Any], submitted: Callable[[Result], None]
) -> Result:
    """Return what a call with a mock brings, in the form its service would give it."""
    if call.step.pattern == "waitForCallback" or (call.step.pattern == "sync" and not call.step.reply_is_result):
        return Result()  # the answer is what is reported
    if isinstance(target_of(call), FunctionResource):
        caller = TaskCaller(_MockedFunction(answer), None, None)
        return await caller.perform(tenant, call, "mock", "", submitted)
    return mock_result(answer)


Call = Callable[[Tenant, CallService, str, str, Callable[[Result], None]], Awaitable[Result]]
"""Makes a real call: tenant, call, key, token, and what takes the answer to a queued call."""


class LoneSteps:
    """Runs steps; *call* makes real calls, with the rights of the account."""

    def __init__(self, programs: Programs, clock: Clock, ids: Ids, call: Call) -> None:
        self._programs = programs
        self._clock = clock
        self._ids = ids
        self._call = call

    async def run(
        self,
        tenant: Tenant,
        definition: str,
        step: str,
        step_input: dict[str, Any],
        mocks: Mapping[str, Any],
        variables: dict[str, Any],
    ) -> dict[str, Any]:
        """Run *step* of a definition on the input *step_input*, and return what came of it.

        Raises: InvalidArgument for a definition, step or mock that is none.
        """
        program = await read_definition(self._programs, definition)
        answers = StepMocks(mocks)
        mocked: dict[int, dict[str, Any]] = {}
        secret, name = self._ids.secret(32), self._ids.uuid()

        async def perform(call: CallService, submitted: Callable[[Result], None]) -> Result:
            answer = answers.find(call)
            if answer is None:
                mocked.pop(call.entry, None)
                key = f"{name}-{call.entry}-{call.attempt}"
                return await self._call(tenant, call, key, facts.token(call.entry, call.attempt), submitted)
            mocked[call.entry] = answer
            return await perform_mock(tenant, call, answer, submitted)

        def reports(call: CallService) -> Result | None:
            return mock_result(mocked[call.entry]) if call.entry in mocked else None

        facts = Facts(
            program=program,
            flow_name=program.name or "alone",
            execution_name=name,
            input=step_input,
            token=lambda entry, attempt: f"alone-{name}-{entry}-{attempt}",
            chance=lambda number: hashlib.sha256(secret + number.to_bytes(8, "big")).digest(),
        )
        return await StepRun(facts, step, step_input, variables, self._clock.now()).run(perform, reports)
