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
from typing import Any

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
from emulator.services.workflow.engine.events import Event, canonical, quoted
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
    state_of,
    text_of,
    timeout_of,
)
from emulator.services.workflow.languages.statemachine.nodes import (
    MODES,
    Catch,
    ChoiceState,
    DistributedMapState,
    FailState,
    Guarded,
    Machine,
    MapState,
    PassState,
    State,
    SucceedState,
    TaskState,
    WaitState,
    as_input,
)


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

    def skipped(self, facts: Facts, strand: Strand, step: Step, number: int, data: Any) -> Event:
        """Return StepExited with *data* as output, or with what the state got when that is None."""
        scope = strand.scopes[-1]
        output, text = (scope.local, scope.local_text) if data is None else (data, canonical(data))
        check_size(facts, text)
        detail, value = f'{{"output":{text}}}', (output, text, None, None)
        return Event(number, events.STEP_EXITED, strand.id, strand.last, step.name, detail, None, value)


def _end_of_strand(state: ExecutionState, strand: Strand, scope: Scope) -> Events:
    if strand.id == ROOT:
        detail = f'{{"output":{scope.local_text}}}'
        value = (scope.local, scope.local_text)
        return (Event(state.last + 1, events.EXECUTION_SUCCEEDED, ROOT, strand.last, "", detail, None, value),)
    return (strand_exited(state, strand, scope.local, scope.local_text, "output"),)


def _enter(facts: Facts, state: ExecutionState, strand: Strand, scope: Scope) -> Events:
    step = scope.steps.steps[scope.position]
    assert isinstance(step, State)
    number = state.last + 1
    value, text = scope.local, scope.local_text
    detail = f'{{"input":{text}}}'
    if isinstance(step, TaskState) and not isinstance(step, DistributedMapState):
        detail = events.detail(input=text, action=quoted(step.action.name))
    entered = Event(number, events.STEP_ENTERED, strand.id, strand.last, step.name, detail, None, (value, text))
    if isinstance(step, PassState | SucceedState):
        try:
            return _at_once(facts, state, strand, step, entered)
        except FAULTS:
            return (entered,)  # it fails once it has been entered
    return (entered,)


def _at_once(facts: Facts, state: ExecutionState, strand: Strand, step: State, entered: Event) -> Events:
    """Return all four events of a state that does nothing but construct: the common case, worth a way of its own."""
    entry = Entry(step, entered.id, Millis(0), *entered.value)
    first, sid, name = entered.id + 1, strand.id, step.name
    entry.input, entry.input_text = constructed_input(facts, state, entry, first)
    output, text, variables = outcome(facts, state, entry, first + 1, first + 2)
    step_input = (entry.input, entry.input_text, None)
    succeeded = f'{{"output":{text}}}'
    exited = _went_well(text, None, variables) if variables else succeeded
    return (
        entered,
        Event(first, events.STEP_STARTED, sid, entered.id, name, f'{{"input":{entry.input_text}}}', None, step_input),
        Event(first + 1, events.STEP_SUCCEEDED, sid, first, name, succeeded, None, (output, text)),
        Event(first + 2, events.STEP_EXITED, sid, first + 1, name, exited, None, (output, text, None, variables)),
    )


def _after_entered(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    step = entry.step
    if isinstance(step, TaskState) and step.input is None:
        return _scheduled(facts, state, strand, entry, 0)
    step_input = constructed_input(facts, state, entry, state.last + 1)
    if isinstance(step, FailState):
        data = Data(facts, state, step, step_input[0], entry.id, 0)
        code, detail = (text_of(each, data, state.last + 1) for each in (step.code, step.detail))
        check_size(facts, code, detail)
        return (failed(state, strand, entry, code, detail),)
    return _started(facts, state, strand, entry, step_input, 0)


def _started(
    facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, step_input: tuple[Any, str], retries: int
) -> Events:
    """Return the event that starts a state with its input *step_input*, for the first time or once more."""
    step = entry.step
    number = state.last + 1
    mark: int | None = None
    seconds: int | None = None
    items: list[Any] | None = None
    data = Data(facts, state, state_of(entry), step_input[0], entry.id, retries)
    if isinstance(step, ChoiceState):
        mark = chosen_branch(step, data, number)
    elif isinstance(step, WaitState):
        mark = seconds = seconds_of(facts, step, data, number)
    elif isinstance(step, MapState):
        items = elements_of(step, data, number)
    detail = events.detail(
        input=step_input[1],
        items=None if items is None else canonical(items),
        seconds=None if seconds is None else str(seconds),
        retryCount=str(retries) if retries else None,
    )
    value = (*step_input, items)
    return (Event(number, events.STEP_STARTED, strand.id, strand.last, step.name, detail, mark, value),)


def _after_started(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events | Park:
    if isinstance(entry.step, TaskState):
        return _scheduled(facts, state, strand, entry, 0)
    if isinstance(entry.step, WaitState):
        return Park((WakeAt(entry.id, "wait", _wakes_at(entry)),))
    if entry.fork is not None and entry.fork.total:
        return _open_strands(state, strand, entry)
    return _succeeded(facts, state, strand, entry)


def _wakes_at(entry: Entry) -> Millis:
    """Return when a wait ends; its seconds were recorded when it started."""
    return Millis(entry.at + (entry.mark or 0) * SECOND)


def _open_strands(state: ExecutionState, strand: Strand, entry: Entry) -> Events | Park:
    fork, step = entry.fork, entry.step
    assert fork is not None
    items = fork.items

    def inside(index: int) -> str:
        if items is None:
            return f'"name":"ParallelBranch #{index}","input":{entry.input_text}'
        return f'"input":{canonical(as_input(items[index]))}'

    at_once = step.at_once if isinstance(step, MapState) else fork.total
    return open_strands(state, strand, entry, at_once, inside, None)


def _succeeded(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    """Return the events that end a state well, but for tasks, which have one event less."""
    number = state.last + 1
    output, text, variables = outcome(facts, state, entry, number, number + 1)
    name = entry.step.name
    return (
        Event(
            number, events.STEP_SUCCEEDED, strand.id, strand.last, name, f'{{"output":{text}}}', None, (output, text)
        ),
        _exited(number + 1, number, strand, entry, output, text, variables),
    )


def _exited(
    number: int, cause: int, strand: Strand, entry: Entry, output: Any, text: str, variables: dict[str, Any] | None
) -> Event:
    step = entry.step
    goto = step.target(entry.mark) if isinstance(step, ChoiceState) else None
    detail = _went_well(text, goto, variables)
    return Event(number, events.STEP_EXITED, strand.id, cause, step.name, detail, None, (output, text, goto, variables))


def _went_well(text: str, goto: str | None, variables: dict[str, Any] | None) -> str:
    """Detail of StepExited of a state that went well; *goto* is what a choice chose."""
    members = {"global": canonical(variables) if variables else None}
    return events.detail(output=text, goto=quoted(goto), **members)


def _after_succeeded(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    _, _, variables = outcome(facts, state, entry, state.last, state.last + 1)
    return (_exited(state.last + 1, strand.last, strand, entry, entry.output, entry.output_text, variables),)


def _scheduled(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, retries: int) -> Events:
    """Return the two events that open an attempt of a task, with its parameters evaluated for it."""
    step = entry.step
    assert isinstance(step, TaskState)
    first = state.last + 1
    data = Data(facts, state, step, entry.input, entry.id, retries)
    value = built(facts, step.arguments, data, first)
    timeout_s = step.timeout_s if step.timeout is None else timeout_of(step.timeout, data, first)
    detail = events.detail(
        input=value[1],
        action=quoted(step.action.name),
        taskMode=f'"{MODES[step.pattern]}"',
        timeoutSeconds=None if timeout_s is None else str(timeout_s),
        retryCount=str(retries),
    )
    return attempt(state, strand, step, detail, value, timeout_s)


def _after_done(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    number = state.last + 1
    output, text, variables = outcome(facts, state, entry, number, number)
    return (_exited(number, strand.last, strand, entry, output, text, variables),)


def _after_trouble(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events | Park:
    step = entry.step
    assert isinstance(step, Guarded)
    return after_trouble(facts, state, strand, entry, step.retry, _again, _caught)


def _again(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    if isinstance(entry.step, TaskState):
        return _scheduled(facts, state, strand, entry, entry.retries + 1)
    return _started(facts, state, strand, entry, (entry.input, entry.input_text), entry.retries + 1)


def _caught(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, error: str, cause: str) -> Event | None:
    step = entry.step
    rule = catch_for(step.catch, error) if isinstance(step, Guarded) else None
    if rule is None:
        return None
    output: Any = {}
    text = "{}"
    if isinstance(rule, Catch) and rule.output is not None:
        data = data_of(facts, state, entry)
        data.error = (error, cause)
        output, text = built(facts, rule.output, data, state.last + 1)
    return _left_with_error(state, strand, entry, error, cause, (output, text, rule.goto))


def _after_failed(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    return (_left_with_error(state, strand, entry, entry.error, entry.cause, ({}, "{}", None)),)


def _left_with_error(
    state: ExecutionState,
    strand: Strand,
    entry: Entry,
    error: str,
    cause: str,
    left: tuple[Any, str, str | None],
) -> Event:
    """Return StepExited of a state that failed; *left* is its output, the text of that, and the state that follows."""
    _, text, goto = left
    detail = events.detail(
        output=text, cause=quoted(cause), error=quoted(error), retryCount=str(entry.retries), goto=quoted(goto)
    )
    number, name = state.last + 1, entry.step.name
    return Event(number, events.STEP_EXITED, strand.id, strand.last, name, detail, None, (*left, None))


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
