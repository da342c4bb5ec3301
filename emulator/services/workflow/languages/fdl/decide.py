"""What a strand of a flow does next: pure, total, without clock, randomness or store.

One function for each `Phase` of an entered step. Something that cannot be evaluated fails the step with
``FnF.RuntimeError``, and only a task can catch that: functions here raise `FAULTS` and TooMuchData.
"""

from collections.abc import Callable
from typing import Any

from emulator.kernel.frozen import frozen
from emulator.services.workflow.engine import events, model
from emulator.services.workflow.engine.decide import (
    FAULTS,
    RUNTIME_ERROR,
    SURELY_FITS,
    after_fault,
    after_scheduled,
    after_trouble,
    attempt,
    catch_for,
    check_bytes,
    check_size,
    failed,
    final_event,
    open_strands,
    strand_exited,
    while_called,
)
from emulator.services.workflow.engine.events import Event, canonical, joined, member_bytes, member_texts, quoted
from emulator.services.workflow.engine.language import EvaluationError, Events, Facts, Park, Program, TimerFired, WakeAt
from emulator.services.workflow.engine.model import ROOT, Entry, Phase, Scope, Strand
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.languages.fdl.mappings import Data, reads_context
from emulator.services.workflow.languages.fdl.mappings import apply as apply_mappings
from emulator.services.workflow.languages.fdl.nodes import (
    ChoiceStep,
    FailStep,
    Flow,
    ForeachStep,
    PassStep,
    Step,
    SucceedStep,
    TaskStep,
    WaitStep,
)
from emulator.services.workflow.limits import ITERATIONS_AT_ONCE


@frozen
class FlowProgram(Flow, Program):
    """A flow of the flow definition language that can be run."""

    def decide(self, facts: Facts, state: ExecutionState, strand: Strand) -> Events | Park:
        """Return the next events of *strand*, or what it parks with."""
        scope = strand.scopes[-1]
        entry = scope.entry
        try:
            if entry is not None:
                return _BY_PHASE[entry.phase](facts, state, strand, entry)
            if scope.position < len(scope.steps.steps):
                return _enter(facts, state, strand, scope)
            return _end_of_strand(self, facts, state, strand, scope)
        except FAULTS as fault:
            return _fault(facts, state, strand, str(fault))

    def resume(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, fired: TimerFired) -> Events:
        """Return what follows from the end of a wait, or of the pause before a retry."""
        step = entry.step
        try:
            if fired.kind == "wait" and isinstance(step, WaitStep) and entry.phase is Phase.STARTED:
                if step.wakes_at(entry.input, entry.at) > fired.now:
                    return ()
                return _succeeded(facts, state, strand, entry, {}, {})
            if fired.kind == "retry" and isinstance(step, TaskStep) and entry.phase is Phase.TROUBLED:
                return _next_attempt(facts, state, strand, entry)
        except FAULTS as fault:
            return (failed(state, strand, entry, RUNTIME_ERROR, str(fault)),)
        return ()

    def again(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the events that open one more attempt."""
        return _next_attempt(facts, state, strand, entry)

    def skipped(self, facts: Facts, strand: Strand, step: model.Step, number: int, data: Any) -> Event:
        """Return StepExited with *data* merged into the local of the scope."""
        return _exited(facts, number, strand.last, strand, step.name, data or {}, None)


def _end_of_strand(flow: Flow, facts: Facts, state: ExecutionState, strand: Strand, scope: Scope) -> Events:
    if strand.id != ROOT:
        return (strand_exited(state, strand, scope.local, scope.local_text, "local"),)
    output, text = scope.local, scope.local_text
    if flow.output_mappings is not None:
        output = apply_mappings(flow.output_mappings, Data(facts, state, "", 0, 0, scope.input, scope.local))
        text = canonical(output)
        check_size(facts, text)
    detail = f'{{"output":{text}}}'
    return (Event(state.last + 1, events.EXECUTION_SUCCEEDED, ROOT, strand.last, "", detail, None, (output, text)),)


def _enter(facts: Facts, state: ExecutionState, strand: Strand, scope: Scope) -> Events:
    step = scope.steps.steps[scope.position]
    assert isinstance(step, Step)
    entry_id = state.last + 1
    value = step.derived_input(scope)
    if value is None:
        data = Data(facts, state, step.name, entry_id, 0, scope.input, scope.local)
        value = apply_mappings(step.input_mappings or (), data)
    text = scope.local_text if value is scope.local else canonical(value)
    if len(text) + len(scope.local_text) > SURELY_FITS:
        check_size(facts, text)
        check_size(facts, scope.local_text)
    if isinstance(step, TaskStep):
        detail = events.detail(input=text, local=scope.local_text, resourceArn=quoted(step.resource_arn))
    else:
        detail = f'{{"input":{text},"local":{scope.local_text}}}'
    entered = Event(entry_id, events.STEP_ENTERED, strand.id, strand.last, step.name, detail, None, (value, text))
    if type(step) is PassStep or type(step) is SucceedStep:
        return _at_once(facts, state, strand, scope, step, entered)
    return (entered,)


def _at_once(facts: Facts, state: ExecutionState, strand: Strand, scope: Scope, step: Step, entered: Event) -> Events:
    """Return all four events of a step that does nothing but map: the common case, worth a way of its own."""
    entry_id = entered.id
    value, text = entered.value
    output, output_text = _output(facts, state, step, entry_id, value, {}, {})
    if len(text) + len(output_text) > SURELY_FITS:
        check_size(facts, text, output_text)
    sid, name = strand.id, step.name
    done = f'{{"output":{output_text}}}'
    return (
        entered,
        Event(entry_id + 1, events.STEP_STARTED, sid, entry_id, name, f'{{"input":{text}}}', None, None),
        Event(entry_id + 2, events.STEP_SUCCEEDED, sid, entry_id + 1, name, done, None, (output, output_text)),
        _exited(facts, entry_id + 3, entry_id + 2, strand, step.name, output, None),
    )


def _after_entered(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    step = entry.step
    mark: int | None = None
    extra = ""
    if isinstance(step, TaskStep):
        return _attempt(state, strand, step, (entry.input, entry.input_text), 0)
    if isinstance(step, FailStep):
        return (failed(state, strand, entry, step.error, step.cause),)
    if isinstance(step, ChoiceStep):
        mark = _choose(step, entry.input)
    elif isinstance(step, WaitStep):
        step.wakes_at(entry.input, state.at)
        extra = "," + step.member(entry.input)
    elif isinstance(step, ForeachStep) and not isinstance(step.collection.find_in(entry.input), list):
        raise EvaluationError(f"the collection {step.collection} of the input is not an array")
    detail = f'{{"input":{entry.input_text}{extra}}}'
    return (Event(state.last + 1, events.STEP_STARTED, strand.id, strand.last, step.name, detail, mark, None),)


def _choose(step: ChoiceStep, value: dict[str, Any]) -> int | None:
    for index, option in enumerate(step.options):
        if option.condition is None or option.condition.holds(value):
            return index
    return len(step.options) if step.default is not None else None


def _after_started(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events | Park:
    step = entry.step
    if isinstance(step, WaitStep):
        due = step.wakes_at(entry.input, entry.at)
        if due > entry.at:
            return Park((WakeAt(entry.id, "wait", due),))
    if entry.fork is not None:
        if entry.fork.total:
            return _open_strands(facts, state, strand, entry)
        return _succeeded(facts, state, strand, entry, [], {})
    return _succeeded(facts, state, strand, entry, {}, {})


def _open_strands(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events | Park:
    step, fork = entry.step, entry.fork
    assert fork is not None
    if not isinstance(step, ForeachStep):
        return open_strands(state, strand, entry, ITERATIONS_AT_ONCE, lambda _: f'"input":{entry.input_text}', None)

    def inside(index: int) -> str:
        members = member_texts(step.own_members(fork, index))
        check_bytes(facts, 1 + sum({**fork.sizes, **member_bytes(members)}.values()))
        return f'"input":{joined(members)}'

    return open_strands(state, strand, entry, ITERATIONS_AT_ONCE, inside, entry.id)


def _after_joined(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    default = entry.local if isinstance(entry.step, ChoiceStep) else {}
    return _succeeded(facts, state, strand, entry, entry.local, default)


def _after_succeeded(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    return (_exited(facts, state.last + 1, strand.last, strand, entry.step.name, entry.output, _chosen_goto(entry)),)


def _after_done(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    step = entry.step
    assert isinstance(step, TaskStep)
    output = entry.local
    if step.output_mappings is not None:
        data = Data(facts, state, step.name, entry.id, entry.retries, entry.input, entry.local)
        output = apply_mappings(step.output_mappings, data)
    output_text = canonical(output)
    check_size(facts, entry.input_text, canonical(entry.local), output_text)
    plain = _exited(facts, state.last + 1, strand.last, strand, step.name, output, None)
    detail = events.detail(
        input=entry.input_text, local=plain.value[1], output=output_text, resourceArn=quoted(step.resource_arn)
    )
    return (plain._replace(detail=detail),)


def _after_trouble(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events | Park:
    step = entry.step
    assert isinstance(step, TaskStep)
    return after_trouble(facts, state, strand, entry, step.retry, _next_attempt, _caught)


def _caught(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, error: str, cause: str) -> Event | None:
    step = entry.step
    policy = catch_for(step.catch, error) if isinstance(step, TaskStep) else None
    if policy is None or not isinstance(step, TaskStep):
        return None
    output: dict[str, Any] = {}
    if step.error_mappings is not None:
        local = {"error": error, "cause": cause}
        data = Data(facts, state, step.name, entry.id, entry.retries, entry.input, local)
        output = apply_mappings(step.error_mappings, data)
        check_size(facts, entry.input_text, canonical(output))
    plain = _exited(facts, state.last + 1, strand.last, strand, step.name, output, policy.goto)
    return plain._replace(detail=_task_failed(entry, step, plain.value[1], error, cause, policy.goto))


def _task_failed(entry: Entry, step: TaskStep, local_text: str, error: str, cause: str, goto: str | None) -> str:
    """Detail of StepExited of a task that failed.

    Source: the reliable multi-step transaction, Serverless Workflow best practices.
    """
    return events.detail(
        input=entry.input_text,
        local=local_text,
        resourceArn=quoted(step.resource_arn),
        cause=quoted(cause),
        error=quoted(error),
        retryCount=str(entry.retries),
        goto=quoted(goto),
    )


def _after_failing(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    return (failed(state, strand, entry, entry.error, entry.cause),)


def _after_failed(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    step, scope = entry.step, strand.scopes[-1]
    if isinstance(step, TaskStep):
        detail = _task_failed(entry, step, scope.local_text, entry.error, entry.cause, None)
    else:
        detail = events.detail(local=scope.local_text, cause=quoted(entry.cause), error=quoted(entry.error))
    value = (scope.local, scope.local_text, None, None)
    return (Event(state.last + 1, events.STEP_EXITED, strand.id, strand.last, step.name, detail, None, value),)


def _fault(facts: Facts, state: ExecutionState, strand: Strand, cause: str) -> Events:
    """Answer something that cannot be evaluated: a task may catch it, any other step fails.

    Outside a step (its input, the output of the flow) there is nothing to fail but the execution.
    """
    scope = strand.scopes[-1]
    entry = scope.entry
    if entry is None or entry.phase in {Phase.FAILED, Phase.SUCCEEDED}:
        return (final_event(state, events.EXECUTION_FAILED, RUNTIME_ERROR, cause),)
    return after_fault(facts, state, strand, entry, cause, _caught)


def _attempt_input(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, attempt: int) -> tuple[Any, str]:
    """Return the input of an attempt of a task and its text: the step's, but with the attempt's own ``$context``."""
    assert isinstance(entry.step, Step)
    mappings = entry.step.input_mappings
    if mappings is None or not reads_context(mappings):
        return entry.input, entry.input_text
    scope = strand.scopes[-1]
    data = Data(facts, state, entry.step.name, entry.id, attempt, scope.input, scope.local)
    value = apply_mappings(mappings, data)
    return value, canonical(value)


def _attempt(state: ExecutionState, strand: Strand, step: TaskStep, value: tuple[Any, str], retries: int) -> Events:
    detail = events.detail(
        input=value[1],
        resourceArn=quoted(step.resource_arn),
        pattern=f'"{step.pattern}"',
        timeoutSeconds=None if step.timeout_s is None else str(step.timeout_s),
        retryCount=str(retries),
    )
    return attempt(state, strand, step, detail, value, None)


def _next_attempt(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    """Return the events that open the next attempt of a task."""
    step = entry.step
    assert isinstance(step, TaskStep)
    value = _attempt_input(facts, state, strand, entry, entry.retries + 1)
    return _attempt(state, strand, step, value, entry.retries + 1)


def _succeeded(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, local: Any, default: Any) -> Events:
    """Return the events that end a step well, but for tasks, which have one event less.

    *default* is the output without outputMappings.
    """
    step = entry.step
    assert isinstance(step, Step)
    output, output_text = _output(facts, state, step, entry.id, entry.input, local, default)
    check_size(facts, entry.input_text, canonical(local) if local else "", output_text)
    first = state.last + 1
    detail = f'{{"output":{output_text}}}'
    return (
        Event(first, events.STEP_SUCCEEDED, strand.id, strand.last, step.name, detail, None, (output, output_text)),
        _exited(facts, first + 1, first, strand, step.name, output, _chosen_goto(entry)),
    )


def _output(
    facts: Facts, state: ExecutionState, step: Step, entry: int, value: Any, local: Any, default: Any
) -> tuple[Any, str]:
    """Return the output of a step with input *value*, and its text; *default* is that without outputMappings."""
    if step.constant_output is not None:
        return step.constant_output
    output = default
    if step.output_mappings is not None:
        output = apply_mappings(step.output_mappings, Data(facts, state, step.name, entry, 0, value, local))
    return output, canonical(output)


def _exited(
    facts: Facts,
    event_id: int,
    cause: int,
    strand: Strand,
    name: str,
    output: Any,
    goto: str | None,
) -> Event:
    """Return the event that leaves a step with *output*, merged into the local of its scope."""
    scope = strand.scopes[-1]
    if output:
        local = {**scope.local, **output} if scope.local else output
        text = canonical(local)
        if len(text) > SURELY_FITS:
            check_size(facts, text)
    else:
        local, text = scope.local, scope.local_text
    detail = f'{{"local":{text}}}' if goto is None else events.detail(local=text, goto=quoted(goto))
    return Event(event_id, events.STEP_EXITED, strand.id, cause, name, detail, None, (local, text, goto, None))


def _chosen_goto(entry: Entry) -> str | None:
    """Return where the option a choice took jumps to, if it does."""
    option = entry.step.option(entry.mark) if isinstance(entry.step, ChoiceStep) else None
    return option.goto if option is not None else None


_BY_PHASE: tuple[Callable[[Facts, ExecutionState, Strand, Entry], Events | Park], ...] = (
    _after_entered,
    _after_started,
    _after_joined,
    _after_succeeded,
    after_scheduled,
    while_called,
    while_called,
    _after_done,
    _after_trouble,
    _after_failing,
    _after_failed,
)
"""In the order of `Phase`; a tuple, because hashing a member of an Enum costs more than most of these."""
