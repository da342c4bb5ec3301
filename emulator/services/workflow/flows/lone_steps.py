"""Runs one step of a flow alone: no execution is made and nothing is stored.

The step goes through the same decisions as in an execution. Waits and pauses before retries are over at once; tasks
are answered by mocks where there are any, else their targets are really called. A task that waits for a report stops
the run, unless a mock gives the report.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.services.workflow.engine.events import StepExited
from emulator.services.workflow.engine.json_text import with_text
from emulator.services.workflow.engine.language import (
    CallService,
    Events,
    Facts,
    Program,
    Replied,
    Reported,
    Result,
    Submitted,
    TimerKind,
)
from emulator.services.workflow.engine.model import ROOT, Phase, Scope, StepList, Strand, all_lists
from emulator.services.workflow.errors import invalid
from emulator.services.workflow.flows.flows import read_definition
from emulator.services.workflow.languages.programs import Programs
from emulator.services.workflow.rehearsal.answers import (
    Mocks,
    is_reported,
    read_mock,
    refused_parameters,
    report_of,
    result_of,
)
from emulator.services.workflow.rehearsal.drive import Drive
from emulator.wire.answers import Answer

Perform = Callable[[CallService, Callable[[Result], None]], Awaitable[Result]]
"""Makes the call of a task; the second argument is called with the reply to a queued call."""

_PAUSES: frozenset[TimerKind] = frozenset({"wait", "retry"})
"""Timers that fire at once; the time-out of a real call does not, and a task that waits for a report stays waiting."""


class StepRun(Drive):
    """A run of one step.

    *step_input* is the input of the step's list, or the output of the state before it; *local* is the content of
    ``$local`` before the step, *variables* the execution's variables.

    Raises: InvalidArgument for an unknown step, or a *local* for a language without it.
    """

    def __init__(
        self,
        facts: Facts,
        step_name: str,
        step_input: dict[str, Any],
        local: dict[str, Any],
        variables: dict[str, Any],
        now: Millis,
    ) -> None:
        super().__init__(facts, now)
        self._steps, position = _place(facts.program, step_name)
        self.begin(step_input)
        scope = Scope(self._steps, step_input)
        scope.position = position
        if local:
            if self._steps.hands_on:
                raise invalid("A state has no $local; what the state before it hands on is the input.")
            scope.left = with_text(local)
        self._missing = self._steps.steps[position].missing(scope)
        self.state.strands[ROOT] = strand = Strand(ROOT, ROOT, 0, scope)
        self.state.variables = variables
        strand.last = 1

    @property
    def is_over(self) -> bool:
        """Whether the step has been left."""
        if self.state.outcome is not None or ROOT not in self.state.strands:
            return True
        return isinstance(self.history[-1], StepExited) and self._root.entry is None

    def admitted(self, decided: Events) -> Events:
        """Return nothing once the step has been left: the execution stops there."""
        return () if self.is_over else super().admitted(decided)

    @property
    def _root(self) -> Scope:
        return self.state.strands[ROOT].scopes[0]

    async def run(self, perform: Perform, reports: Callable[[CallService], Result | None]) -> dict[str, Any]:
        """Run the step and return its result as a JSON value.

        *perform* makes calls; *reports* returns the report for a task that waits for one, None for no report.
        """
        while not self.is_over:
            self.advance()
            if self.calls:
                await self._make(self.calls.pop(0), perform, reports)
            elif not self.wake(until=_PAUSES):
                break
        return self._shown()

    async def _make(self, call: CallService, perform: Perform, reports: Callable[[CallService], Result | None]) -> None:
        def submitted(result: Result) -> None:
            self.arrive(Submitted(call.entry, call.attempt, result))

        live = self.state.find(call.entry)
        if live is None or live[1].retries != call.attempt:
            return
        timeout_s = call.step.timeout_of(live[1])
        try:
            async with asyncio.timeout(timeout_s):
                result = await perform(call, submitted)
        except TimeoutError:
            self.fire(call.entry, "timeout")
            return
        self.arrive(Replied(call.entry, call.attempt, result))
        live = self.state.find(call.entry)
        if live is not None and live[1].phase is Phase.SUBMITTED and (report := reports(call)) is not None:
            self.arrive(Reported(call.entry, call.attempt, report))

    def _shown(self) -> dict[str, Any]:
        state = self.state
        last, notation = self.history[-1], self.facts.program.notation
        shown: dict[str, Any] = {
            "status": "Succeeded",
            "output": None,
            "error": state.error,
            "cause": state.cause,
            "next": None,
            "missing": self._missing,
            "global": state.variables,
            "events": [
                {"EventId": each.id, "StepName": each.step, "Type": each.type, "EventDetail": each.detail(notation)}
                for each in self.history[1:]
            ],
        }
        if not self.is_over:
            name = next((entry.step.name for entry in state.submitted()), "")
            return {**shown, "status": "Waiting", "cause": f"waits for a report of {name}"}
        if state.outcome is not None or ROOT not in state.strands:
            return {**shown, "status": "Failed"}
        if isinstance(last, StepExited) and last.error:
            shown |= {"status": "Caught", "error": last.error, "cause": last.cause}
        scope = self._root
        following = self._steps.steps[scope.position].name if scope.position < len(self._steps.steps) else None
        return {**shown, "output": scope.local, "next": following}


def _place(program: Program, name: str) -> tuple[StepList, int]:
    for steps in all_lists(program.steps):
        if name in steps.index:
            return steps, steps.index[name]
    names = ", ".join(step.name for steps in all_lists(program.steps) for step in steps.steps)
    raise invalid(f"The definition has no step {name!r}; there are {names}.")


def read_mocks(document: Mapping[str, Any]) -> Mocks:
    """Read answers in place of calls, by the name of a step, of a function or of an action.

    Raises: InvalidArgument for an invalid mock.
    """
    scripts = {}
    for name, mock in document.items():
        try:
            scripts[name] = read_mock(mock)
        except ValueError as error:
            raise invalid(f"The mock of {name!r}: {error}.") from error
    return Mocks(scripts)


Call = Callable[[Tenant, CallService, str, str, Callable[[Result], None]], Awaitable[Result]]
"""Makes a real call: tenant, call, key, token, and a function that is called with the reply to a queued call."""


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
        local: dict[str, Any],
        mocks: Mapping[str, Any],
        variables: dict[str, Any],
    ) -> dict[str, Any]:
        """Run *step* of a definition on the input *step_input*, and return its result.

        Raises: InvalidArgument for an invalid definition, step, local or mock.
        """
        program = await read_definition(self._programs, definition)
        answers = read_mocks(mocks)
        mocked: dict[int, Answer] = {}
        secret, name = bytes.fromhex(self._ids.hex(64)), self._ids.uuid()

        async def perform(call: CallService, submitted: Callable[[Result], None]) -> Result:
            answer = answers.next(call)
            if answer is None:
                mocked.pop(call.entry, None)
                key = f"{name}-{call.entry}-{call.attempt}"
                return await self._call(tenant, call, key, facts.token(call.entry, call.attempt), submitted)
            mocked[call.entry] = answer
            if answer.never and not is_reported(call.step):
                raise TimeoutError
            return refused_parameters(call) or (Result() if is_reported(call.step) else result_of(call, answer))

        def reports(call: CallService) -> Result | None:
            answer = mocked.get(call.entry)
            return None if answer is None or answer.never else report_of(answer)

        facts = Facts(
            program=program,
            flow_name=program.name or "alone",
            execution_name=name,
            input=step_input,
            token=lambda entry, attempt: f"alone-{name}-{entry}-{attempt}",
            chance=lambda number: hashlib.sha256(secret + number.to_bytes(8, "big")).digest(),
        )
        return await StepRun(facts, step, step_input, local, variables, self._clock.now()).run(perform, reports)
