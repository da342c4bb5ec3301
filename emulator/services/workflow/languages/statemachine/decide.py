"""Decides the next events of a strand of a machine: pure, total, without clock, randomness or store.

The results of evaluations are recorded in events, so that nothing is evaluated again after a crash: the constructed
input and the branch, seconds or elements that follow from it in StepStarted, the parameters in TaskScheduled, output
and ``$Global`` in StepSucceeded and StepExited. An expression that cannot be evaluated fails the state with
``FnF.RuntimeError``, which Catch may catch.

Source: error handling, CloudFlow documentation, for the order of Retry and Catch; that an input which a catch leaves
without OutputConstructor is ``{}``, and that a retried parallel or map starts as a whole, are assumed.
"""

from typing import Any, assert_never

from emulator.kernel.clock import SECOND, Millis
from emulator.kernel.frozen import frozen
from emulator.services.workflow.engine import events
from emulator.services.workflow.engine.decide import (
    FAULTS,
    attempt,
    catch_for,
    check_size,
    failed,
    open_strands,
    strand_exited,
)
from emulator.services.workflow.engine.events import Event, StepEntered, StepExited, StepStarted, StepSucceeded
from emulator.services.workflow.engine.json_text import NOTHING, Json, canonical, with_text
from emulator.services.workflow.engine.language import Events, Facts, Park, WakeAt
from emulator.services.workflow.engine.model import ROOT, Entry, RetryPolicy, Scope, Step, Strand, all_steps
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.languages.statemachine.evaluating import (
    SURELY_FITS,
    Data,
    built,
    chosen_branch,
    constructed_input,
    data_of,
    elements_of,
    outcome,
    seconds_of,
    text_of,
    timeout_of,
)
from emulator.services.workflow.languages.statemachine.nodes import (
    Catch,
    ChoiceState,
    DistributedMapState,
    FailState,
    Guarded,
    Machine,
    MapState,
    ParallelState,
    PassState,
    State,
    SucceedState,
    TaskState,
    WaitState,
    machine_state,
)
from emulator.services.workflow.languages.strands import StrandProgram
from emulator.services.workflow.languages.values import as_input


@frozen
class MachineProgram(Machine, StrandProgram):
    """A machine that can be run."""

    def processor(self, step: int) -> "MachineProgram":
        """Return the machine that the elements of a distributed map run through."""
        state = list(all_steps(self.steps))[step]
        if not isinstance(state, DistributedMapState):
            raise LookupError(f"the state {state.name!r} is not a distributed map")  # noqa: TRY004 - as for a language without
        return MachineProgram(name=self.name, steps=state.steps)

    def skipped(self, facts: Facts, strand: Strand, step: Step, number: int, data: Any) -> StepExited:
        """Return StepExited with *data* as output, or with the state's own input when that is None."""
        left = strand.scopes[-1].left if data is None else with_text(data)
        check_size(facts, left.text)
        return StepExited(number, strand.id, strand.last, step.name, left)

    def end(self, facts: Facts, state: ExecutionState, strand: Strand, scope: Scope) -> Events:
        """Return the event that ends a strand."""
        if strand.id == ROOT:
            return (events.ExecutionSucceeded(state.last + 1, strand.last, scope.left),)
        is_branch = isinstance(state.strands[strand.parent].entry.step, ParallelState)
        return (strand_exited(state, strand, scope.left, _branch_name(strand.index) if is_branch else None),)

    def enter(self, facts: Facts, state: ExecutionState, strand: Strand, scope: Scope) -> Events:
        """Return the event that enters the next state, or all four of one that only constructs."""
        step = scope.steps.steps[scope.position]
        assert isinstance(step, State)
        if (
            len(scope.left.text) > SURELY_FITS
        ):  # the input of an execution or an iteration may be as large as its source
            check_size(facts, scope.left.text)
        called = step.action.name if isinstance(step, TaskState) and not isinstance(step, DistributedMapState) else None
        entered = StepEntered(state.last + 1, strand.id, strand.last, step.name, scope.left, target=called)
        if step.ends_at_once:
            try:
                return _at_once(facts, state, strand, step, entered)
            except FAULTS:
                return (entered,)  # it fails once it has been entered
        return (entered,)

    def after_entered(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the events that start a state."""
        step = entry.step
        if isinstance(step, TaskState) and step.input is None:
            return _scheduled(facts, state, strand, entry, 0)
        step_input = constructed_input(facts, state, entry, state.last + 1)
        return _started(facts, state, strand, entry, step_input, 0)

    def after_started(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events | Park:
        """Return what follows the start of a state: it is scheduled, waits, opens strands or has succeeded."""
        if isinstance(entry.step, TaskState):
            return _scheduled(facts, state, strand, entry, 0)
        if (due := self.wakes_at(entry)) is not None:
            return Park(strand.id, (WakeAt(entry.id, "wait", due),))
        if entry.fork is not None and entry.fork.total:
            return _open_strands(state, strand, entry)
        return _succeeded(facts, state, strand, entry)

    def after_joined(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the events of a parallel or map whose inner states have ended well."""
        return _succeeded(facts, state, strand, entry)

    def after_wait(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the events that end a wait."""
        return _succeeded(facts, state, strand, entry)

    def wakes_at(self, entry: Entry) -> Millis | None:
        """Return when a wait ends; its seconds were recorded when it started."""
        return Millis(entry.at + (entry.mark or 0) * SECOND) if isinstance(entry.step, WaitState) else None

    def retry_of(self, entry: Entry) -> tuple[RetryPolicy, ...]:
        """Return the policies of a state that may be tried again, none of another."""
        return entry.step.retry if isinstance(entry.step, Guarded) else ()

    def after_failing(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events | Park:
        """Return what follows the failure of a state inside a parallel or map: as after a failed attempt."""
        return self.after_trouble(facts, state, strand, entry)

    def after_succeeded(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the event that leaves a state, with its output."""
        _, variables = outcome(facts, state, entry, state.last, state.last + 1)
        assert entry.output is not None
        return (_exited(state.last + 1, strand.last, strand, entry, entry.output, variables),)

    def after_done(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the event that leaves a task, with its output."""
        number = state.last + 1
        output, variables = outcome(facts, state, entry, number, number)
        return (_exited(number, strand.last, strand, entry, output, variables),)

    def after_failed(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the event that leaves a state which has failed."""
        return (_left_with_error(state, strand, entry, entry.error, entry.cause, NOTHING, None),)

    def caught(
        self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, error: str, cause: str
    ) -> Event | None:
        """Return the event that leaves a state whose error is caught."""
        step = entry.step
        rule = catch_for(step.catch, error) if isinstance(step, Guarded) else None
        if rule is None:
            return None
        output = NOTHING
        if isinstance(rule, Catch) and rule.output is not None:
            data = data_of(facts, state, entry)
            data.error = (error, cause)
            output = built(facts, rule.output, data, state.last + 1)
        return _left_with_error(state, strand, entry, error, cause, output, rule.goto)

    def next_attempt(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the events that open one more attempt of a task, or start a parallel or map as a whole."""
        if isinstance(entry.step, TaskState):
            return _scheduled(facts, state, strand, entry, entry.retries + 1)
        return _started(facts, state, strand, entry, entry.given, entry.retries + 1)


def _branch_name(index: int) -> str:
    """Return the implicit name of a branch.

    Source: Succeed states, CloudFlow documentation; that the events of a branch have it as StepName is assumed.
    """
    return f"ParallelBranch #{index}"


def _at_once(facts: Facts, state: ExecutionState, strand: Strand, step: State, entered: StepEntered) -> Events:
    """Return all four events of a state that only constructs data: the common case, which is worth a shortcut."""
    entry = Entry(step, entered.id, Millis(0), entered.input)
    first, sid, name = entered.id + 1, strand.id, step.name
    entry.given = constructed_input(facts, state, entry, first)
    output, variables = outcome(facts, state, entry, first + 1, first + 2)
    return (
        entered,
        StepStarted(first, sid, entered.id, name, entry.given),
        StepSucceeded(first + 1, sid, first, name, output),
        StepExited(first + 2, sid, first + 1, name, output, None, variables),
    )


def _started(
    facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, step_input: Json, retries: int
) -> Events:
    """Return the event that starts a state with its input *step_input*, for the first time or once more."""
    step = machine_state(entry.step)
    number = state.last + 1
    branch: int | None = None
    seconds: int | None = None
    items: list[Any] | None = None
    data = Data(facts, state, step, step_input.value, entry.id, retries)
    match step:
        case FailState():
            code, detail = (text_of(each, data, number) for each in (step.code, step.detail))
            check_size(facts, code, detail)
            return (failed(state, strand, entry, code, detail),)
        case ChoiceState():
            branch = chosen_branch(step, data, number)
        case WaitState():
            seconds = seconds_of(facts, step, data, number)
        case MapState():
            items = elements_of(step, data, number)
        case PassState() | SucceedState() | ParallelState() | TaskState() | DistributedMapState():
            pass
        case _:
            assert_never(step)
    return (
        StepStarted(
            number, strand.id, strand.last, step.name, step_input, branch, seconds, items=items, retries=retries
        ),
    )


def _open_strands(state: ExecutionState, strand: Strand, entry: Entry) -> Events | Park:
    fork, step, name = entry.fork, entry.step, entry.step.name
    assert fork is not None
    items = fork.items

    def opened(number: int, trigger: int, index: int) -> Event:
        if items is None:
            return events.BranchEntered(number, strand.id, trigger, _branch_name(index), index, entry.given.text)
        return events.IterationEntered(number, strand.id, trigger, name, index, canonical(as_input(items[index])))

    return open_strands(state, strand, entry, step.at_once if isinstance(step, MapState) else fork.total, opened)


def _succeeded(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    """Return the events that end a state other than a task well; a task has one event less."""
    number = state.last + 1
    output, variables = outcome(facts, state, entry, number, number + 1)
    return (
        StepSucceeded(number, strand.id, strand.last, entry.step.name, output),
        _exited(number + 1, number, strand, entry, output, variables),
    )


def _exited(
    number: int, scheduled: int, strand: Strand, entry: Entry, output: Json, variables: dict[str, Any] | None
) -> StepExited:
    step = entry.step
    goto = step.target(entry.mark) if isinstance(step, ChoiceState) else None
    return StepExited(number, strand.id, scheduled, step.name, output, goto, variables)


def _scheduled(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, retries: int) -> Events:
    """Return the two events that open an attempt of a task, with its parameters evaluated for it."""
    step = entry.step
    assert isinstance(step, TaskState)
    first = state.last + 1
    data = Data(facts, state, step, entry.input, entry.id, retries)
    sent = built(facts, step.arguments, data, first)
    timeout_s = step.timeout_s if step.timeout is None else timeout_of(step.timeout, data, first)
    return attempt(state, strand, step, sent, target=step.action.name, timeout_s=timeout_s, retries=retries)


def _left_with_error(
    state: ExecutionState, strand: Strand, entry: Entry, error: str, cause: str, output: Json, goto: str | None
) -> StepExited:
    """Return StepExited of a state that failed, with its *output*; *goto* is the state that follows."""
    number, name, retries = state.last + 1, entry.step.name, entry.retries
    return StepExited(number, strand.id, strand.last, name, output, goto, error=error, cause=cause, retries=retries)
