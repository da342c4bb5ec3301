"""What a strand of a machine does next: pure, total, without clock, randomness or store.

One function for each `Phase` of an entered state. What a state evaluates is recorded by the event it leads to: the
constructed input and the branch, seconds or elements that follow from it by StepStarted, the parameters by
TaskScheduled, output and ``$Global`` by StepSucceeded and StepExited; so nothing is evaluated again after a crash.
Something that cannot be evaluated fails the state with ``FnF.RuntimeError``, which Catch may catch: functions here
raise `FAULTS` and TooMuchData.

Source: error handling, CloudFlow documentation, for the order of Retry and Catch; that an input which a catch leaves
without OutputConstructor is ``{}``, and that a retried parallel or map starts as a whole, are assumed.
"""

from collections.abc import Callable
from typing import Any, assert_never

from emulator.kernel.clock import SECOND, Millis
from emulator.kernel.frozen import frozen
from emulator.services.workflow.engine import events
from emulator.services.workflow.engine.decide import (
    FAULTS,
    after_fault,
    after_scheduled,
    after_trouble,
    attempt,
    catch_for,
    check_size,
    failed,
    open_strands,
    retry_at,
    strand_exited,
    while_called,
)
from emulator.services.workflow.engine.events import Event, StepEntered, StepExited, StepStarted, StepSucceeded
from emulator.services.workflow.engine.json_text import NOTHING, Json, canonical, with_text
from emulator.services.workflow.engine.language import Events, Facts, Park, Program, TimerFired, WakeAt
from emulator.services.workflow.engine.model import ROOT, Entry, Phase, Scope, Step, Strand, all_steps
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.languages.statemachine.evaluating import (
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
from emulator.services.workflow.languages.values import as_input


@frozen
class MachineProgram(Machine, Program):
    """A machine that can be run."""

    def decide(self, facts: Facts, state: ExecutionState, strand: Strand) -> Events | Park:
        """Return the next events of *strand*, or what it parks with."""
        scope = strand.scopes[-1]
        entry = scope.entry
        if entry is not None:
            try:
                return _BY_PHASE[entry.phase](facts, state, strand, entry)
            except FAULTS as fault:
                return after_fault(facts, state, strand, entry, str(fault), _caught)
        if scope.position < len(scope.steps.steps):
            return _enter(facts, state, strand, scope)
        return _end_of_strand(state, strand, scope)

    def resume(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, fired: TimerFired) -> Events:
        """Return what follows from the end of a wait, or of the pause before a retry."""
        try:
            if fired.kind == "wait" and isinstance(entry.step, WaitState) and entry.phase is Phase.STARTED:
                return () if _wakes_at(entry) > fired.now else _succeeded(facts, state, strand, entry)
            if fired.kind == "retry" and isinstance(entry.step, Guarded):
                due = retry_at(entry.step.retry, entry.error, entry.retries, entry.at)
                if entry.phase in {Phase.TROUBLED, Phase.FAILING} and due is not None and due <= fired.now:
                    return _again(facts, state, strand, entry)
        except FAULTS as fault:
            return after_fault(facts, state, strand, entry, str(fault), _caught)
        return ()

    def processor(self, step: int) -> "MachineProgram":
        """Return the machine that the elements of a distributed map run through."""
        state = list(all_steps(self.steps))[step]
        if not isinstance(state, DistributedMapState):
            raise LookupError(f"the state {state.name!r} is no distributed map")  # noqa: TRY004 - as for a language without
        return MachineProgram(name=self.name, steps=state.steps)

    def again(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the events that open one more attempt."""
        try:
            return _again(facts, state, strand, entry)
        except FAULTS as fault:
            raise ValueError(str(fault)) from fault

    def skipped(self, facts: Facts, strand: Strand, step: Step, number: int, data: Any) -> StepExited:
        """Return StepExited with *data* as output, or with what the state got when that is None."""
        left = strand.scopes[-1].left if data is None else with_text(data)
        check_size(facts, left.text)
        return StepExited(number, strand.id, strand.last, step.name, left)


def _end_of_strand(state: ExecutionState, strand: Strand, scope: Scope) -> Events:
    if strand.id == ROOT:
        return (events.ExecutionSucceeded(state.last + 1, strand.last, scope.left),)
    is_branch = isinstance(state.strands[strand.parent].entry.step, ParallelState)
    return (strand_exited(state, strand, scope.left, _branch_name(strand.index) if is_branch else None),)


def _branch_name(index: int) -> str:
    """Return the implicit name of a branch.

    Source: Succeed states, CloudFlow documentation; that the events of a branch have it as StepName is assumed.
    """
    return f"ParallelBranch #{index}"


def _enter(facts: Facts, state: ExecutionState, strand: Strand, scope: Scope) -> Events:
    step = scope.steps.steps[scope.position]
    assert isinstance(step, State)
    called = step.action.name if isinstance(step, TaskState) and not isinstance(step, DistributedMapState) else None
    entered = StepEntered(state.last + 1, strand.id, strand.last, step.name, scope.left, target=called)
    if step.ends_at_once:
        try:
            return _at_once(facts, state, strand, step, entered)
        except FAULTS:
            return (entered,)  # it fails once it has been entered
    return (entered,)


def _at_once(facts: Facts, state: ExecutionState, strand: Strand, step: State, entered: StepEntered) -> Events:
    """Return all four events of a state that does nothing but construct: the common case, worth a way of its own."""
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


def _after_entered(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    step = entry.step
    if isinstance(step, TaskState) and step.input is None:
        return _scheduled(facts, state, strand, entry, 0)
    step_input = constructed_input(facts, state, entry, state.last + 1)
    return _started(facts, state, strand, entry, step_input, 0)


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


def _after_started(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events | Park:
    if isinstance(entry.step, TaskState):
        return _scheduled(facts, state, strand, entry, 0)
    if isinstance(entry.step, WaitState):
        return Park(strand.id, (WakeAt(entry.id, "wait", _wakes_at(entry)),))
    if entry.fork is not None and entry.fork.total:
        return _open_strands(state, strand, entry)
    return _succeeded(facts, state, strand, entry)


def _wakes_at(entry: Entry) -> Millis:
    """Return when a wait ends; its seconds were recorded when it started."""
    return Millis(entry.at + (entry.mark or 0) * SECOND)


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
    """Return the events that end a state well, but for tasks, which have one event less."""
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


def _after_succeeded(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    _, variables = outcome(facts, state, entry, state.last, state.last + 1)
    assert entry.output is not None
    return (_exited(state.last + 1, strand.last, strand, entry, entry.output, variables),)


def _scheduled(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, retries: int) -> Events:
    """Return the two events that open an attempt of a task, with its parameters evaluated for it."""
    step = entry.step
    assert isinstance(step, TaskState)
    first = state.last + 1
    data = Data(facts, state, step, entry.input, entry.id, retries)
    sent = built(facts, step.arguments, data, first)
    timeout_s = step.timeout_s if step.timeout is None else timeout_of(step.timeout, data, first)
    return attempt(state, strand, step, sent, target=step.action.name, timeout_s=timeout_s, retries=retries)


def _after_done(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    number = state.last + 1
    output, variables = outcome(facts, state, entry, number, number)
    return (_exited(number, strand.last, strand, entry, output, variables),)


def _after_trouble(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events | Park:
    step = entry.step
    assert isinstance(step, Guarded)
    return after_trouble(facts, state, strand, entry, step.retry, _again, _caught)


def _again(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    if isinstance(entry.step, TaskState):
        return _scheduled(facts, state, strand, entry, entry.retries + 1)
    return _started(facts, state, strand, entry, entry.given, entry.retries + 1)


def _caught(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, error: str, cause: str) -> Event | None:
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


def _after_failed(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    return (_left_with_error(state, strand, entry, entry.error, entry.cause, NOTHING, None),)


def _left_with_error(
    state: ExecutionState, strand: Strand, entry: Entry, error: str, cause: str, output: Json, goto: str | None
) -> StepExited:
    """Return StepExited of a state that failed, with its *output*; *goto* is the state that follows."""
    number, name, retries = state.last + 1, entry.step.name, entry.retries
    return StepExited(number, strand.id, strand.last, name, output, goto, error=error, cause=cause, retries=retries)


_BY_PHASE: tuple[Callable[[Facts, ExecutionState, Strand, Entry], Events | Park], ...] = (
    _after_entered,
    _after_started,
    _succeeded,
    _after_succeeded,
    after_scheduled,
    while_called,
    while_called,
    _after_done,
    _after_trouble,
    _after_trouble,
    _after_failed,
)
"""In the order of `Phase`; a tuple, because hashing a member of an Enum costs more than most of these."""
