"""What happens next: pure, total, without clock, randomness or store.

`decide` looks at the state and answers with the next events, or with `Park`: the strand has nothing to do until
something arrives, and these commands see to it that it does. `react` (in `engine.react`) answers with the events that
follow from an arrival. Neither changes the state: the driver applies each event and asks again.

Failures of the flow are events too. Data over the limit and too many events end the execution, whatever the flow says
about errors; what cannot be evaluated fails the step with ``FnF.RuntimeError``, and only a task can catch that.
"""

from collections.abc import Callable
from typing import Any

from emulator.services.workflow.definition.nodes import (
    ChoiceStep,
    FailStep,
    ForeachStep,
    ParallelStep,
    PassStep,
    SucceedStep,
    TaskStep,
    WaitStep,
)
from emulator.services.workflow.engine import events
from emulator.services.workflow.engine.commands import CallService, Command, Park, WakeAt
from emulator.services.workflow.engine.events import Event, canonical, joined, member_bytes, member_texts
from emulator.services.workflow.engine.facts import Data, Facts
from emulator.services.workflow.engine.frames import ROOT, Entry, Phase, Scope, Strand
from emulator.services.workflow.engine.retry import catch_for, retry_at
from emulator.services.workflow.engine.state import ExecutionState, own_members, step_input
from emulator.services.workflow.engine.steps import (
    RUNTIME_ERROR,
    SURELY_FITS,
    Events,
    TooMuchData,
    bounded,
    check_bytes,
    check_size,
    chosen_goto,
    data_limit_exceeded,
    exited,
    failed,
    final_event,
    next_attempt,
    reply_is_result,
    scheduled,
    succeeded,
    time_out_at,
)
from emulator.services.workflow.engine.waits import member, wake_instant
from emulator.services.workflow.expression.errors import EvaluationError
from emulator.services.workflow.expression.mappings import apply as apply_mappings
from emulator.services.workflow.limits import ITERATIONS_AT_ONCE


def decide(facts: Facts, state: ExecutionState) -> Events | Park | None:
    """Return the next events (apply them all), or what a strand parks with, or None when every strand is parked.

    Never raises for anything a flow or its data can hold.
    """
    if state.outcome is not None:
        return None
    strand = state.next_ready()
    if strand is None:
        return _without_strand(facts, state)
    scope = strand.scopes[-1]
    entry = scope.entry
    try:
        if entry is not None:
            decided = _BY_PHASE[entry.phase](facts, state, strand, scope, entry)
        elif scope.position < len(scope.steps.steps):
            decided = _enter(facts, state, strand, scope)
        else:
            decided = _end_of_strand(facts, state, strand, scope)
    except TooMuchData:
        decided = (data_limit_exceeded(facts, state),)
    except (EvaluationError, ValueError, RecursionError) as fault:
        decided = _fault(facts, state, strand, str(fault))
    if isinstance(decided, Park):
        return decided
    return bounded(facts, state, decided)


# --- the ends of strands and executions -----------------------------------------------------------------------------


def _without_strand(facts: Facts, state: ExecutionState) -> Events | None:
    if state.last == 0:
        text = canonical(facts.input)
        detail = f'{{"input":{text}}}'
        return (Event(1, events.EXECUTION_STARTED, ROOT, 0, "", detail, None, (facts.input, text)),)
    if not state.strands:
        return bounded(facts, state, (final_event(state, events.EXECUTION_FAILED, state.error, state.cause),))
    return None


def _end_of_strand(facts: Facts, state: ExecutionState, strand: Strand, scope: Scope) -> Events:
    if strand.id != ROOT:
        owner = state.strands[strand.parent].scopes[-1].entry
        in_branch = owner is not None and isinstance(owner.step, ParallelStep)
        kind = events.BRANCH_EXITED if in_branch else events.ITERATION_EXITED
        detail = f'{{"index":{strand.index},"local":{scope.local_text}}}'
        value = (scope.local, scope.local_text)
        name = owner.step.name if owner is not None else ""
        return (Event(state.last + 1, kind, strand.id, strand.last, name, detail, None, value),)
    output, text = scope.local, scope.local_text
    if facts.flow.output_mappings is not None:
        output = apply_mappings(facts.flow.output_mappings, Data(facts, state, "", 0, 0, scope.input, scope.local))
        text = canonical(output)
        check_size(facts, text)
    detail = f'{{"output":{text}}}'
    kind = events.EXECUTION_SUCCEEDED
    return (Event(state.last + 1, kind, ROOT, strand.last, "", detail, None, (output, text)),)


# --- entering -------------------------------------------------------------------------------------------------------


def _enter(facts: Facts, state: ExecutionState, strand: Strand, scope: Scope) -> Events:
    if facts.halted:
        return (final_event(state, events.EXECUTION_STOPPED, "", "The flow has been deleted."),)
    step = scope.steps.steps[scope.position]
    entry_id = state.last + 1
    if step.input_mappings is None:
        value = step_input(scope)
    else:
        value = apply_mappings(
            step.input_mappings, Data(facts, state, step.name, entry_id, 0, scope.input, scope.local)
        )
    text = canonical(value)
    if len(text) + len(scope.local_text) > SURELY_FITS:
        check_size(facts, text)
        check_size(facts, scope.local_text)
    if isinstance(step, TaskStep):
        detail = events.task_entered(text, scope.local_text, step.resource_arn)
    else:
        detail = f'{{"input":{text},"local":{scope.local_text}}}'
    entered = Event(entry_id, events.STEP_ENTERED, strand.id, strand.last, step.name, detail, None, (value, text))
    if type(step) is PassStep or type(step) is SucceedStep:
        return _at_once(facts, state, strand, scope, entered)
    return (entered,)


def _at_once(facts: Facts, state: ExecutionState, strand: Strand, scope: Scope, entered: Event) -> Events:
    """Return all four events of a step that does nothing but map: the common case, worth a way of its own."""
    step = scope.steps.steps[scope.position]
    entry_id = entered.id
    value, text = entered.value
    if step.output_mappings is None:
        output: dict[str, Any] = {}
        output_text = "{}"
    else:
        output = apply_mappings(step.output_mappings, Data(facts, state, step.name, entry_id, 0, value, {}))
        output_text = canonical(output)
    if len(text) + len(output_text) > SURELY_FITS:
        check_size(facts, text, output_text)
    sid, name = strand.id, step.name
    done = f'{{"output":{output_text}}}'
    return (
        entered,
        Event(entry_id + 1, events.STEP_STARTED, sid, entry_id, name, f'{{"input":{text}}}', None, None),
        Event(entry_id + 2, events.STEP_SUCCEEDED, sid, entry_id + 1, name, done, None, (output, output_text)),
        exited(facts, entry_id + 3, entry_id + 2, strand, scope, step, output, None),
    )


# --- one function per phase -----------------------------------------------------------------------------------------


def _after_entered(facts: Facts, state: ExecutionState, strand: Strand, scope: Scope, entry: Entry) -> Events:
    del facts, scope
    step = entry.step
    mark: int | None = None
    extra = ""
    if isinstance(step, TaskStep):
        return scheduled(state, strand, entry, step, (entry.input, entry.input_text), 0)
    if isinstance(step, FailStep):
        return (failed(state, strand, entry, step.error, step.cause),)
    if isinstance(step, ChoiceStep):
        mark = _choose(step, entry.input)
    elif isinstance(step, WaitStep):
        wake_instant(step, entry.input, state.at)
        extra = "," + member(step, entry.input)
    elif isinstance(step, ForeachStep) and not isinstance(step.collection.find_in(entry.input), list):
        raise EvaluationError(f"the collection {step.collection} of the input is not an array")
    detail = f'{{"input":{entry.input_text}{extra}}}'
    return (Event(state.last + 1, events.STEP_STARTED, strand.id, strand.last, step.name, detail, mark, None),)


def _choose(step: ChoiceStep, given: dict[str, Any]) -> int | None:
    for index, option in enumerate(step.options):
        if option.condition is None or option.condition.holds(given):
            return index
    return len(step.options) if step.default is not None else None


def _after_started(facts: Facts, state: ExecutionState, strand: Strand, scope: Scope, entry: Entry) -> Events | Park:
    step = entry.step
    if isinstance(step, WaitStep):
        instant = wake_instant(step, entry.input, entry.at)
        if instant > entry.at:
            return Park((WakeAt(entry.id, "wait", instant),))
    if entry.fork is not None:
        if entry.fork.total:
            return _open_strands(facts, state, strand, entry)
        return succeeded(facts, state, strand, scope, entry, [], {})
    return succeeded(facts, state, strand, scope, entry, {}, {})


def _open_strands(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events | Park:
    fork = entry.fork
    step = entry.step
    assert fork is not None
    room = min(fork.total - fork.opened, ITERATIONS_AT_ONCE - fork.running)
    opened = []
    for offset in range(room):
        index = fork.opened + offset
        if isinstance(step, ForeachStep) and fork.items is not None:
            kind, mark = events.ITERATION_ENTERED, entry.id
            members = member_texts(own_members(step, fork, index))
            text = joined(members)
            check_bytes(facts, 1 + sum({**fork.sizes, **member_bytes(members)}.values()))
        else:
            kind, mark = events.BRANCH_ENTERED, None
            text = entry.input_text
        detail = f'{{"index":{index},"input":{text}}}'
        event_id = state.last + 1 + offset
        opened.append(Event(event_id, kind, strand.id, fork.freed, step.name, detail, mark, None))
    return tuple(opened) if opened else Park()


def _after_joined(facts: Facts, state: ExecutionState, strand: Strand, scope: Scope, entry: Entry) -> Events:
    default = entry.local if isinstance(entry.step, ChoiceStep) else {}
    return succeeded(facts, state, strand, scope, entry, entry.local, default)


def _after_succeeded(facts: Facts, state: ExecutionState, strand: Strand, scope: Scope, entry: Entry) -> Events:
    return (exited(facts, state.last + 1, strand.last, strand, scope, entry.step, entry.output, chosen_goto(entry)),)


def _after_scheduled(facts: Facts, state: ExecutionState, strand: Strand, scope: Scope, entry: Entry) -> Events:
    del facts, scope
    return (Event(state.last + 1, events.TASK_STARTED, strand.id, strand.last, entry.step.name, "{}", None, None),)


def _while_calling(facts: Facts, state: ExecutionState, strand: Strand, scope: Scope, entry: Entry) -> Park:
    del facts, state, strand, scope
    step = entry.step
    assert isinstance(step, TaskStep)
    return Park((_call(step, entry), *_time_out(step, entry)))


def _while_submitted(facts: Facts, state: ExecutionState, strand: Strand, scope: Scope, entry: Entry) -> Park:
    del facts, state, strand, scope
    step = entry.step
    assert isinstance(step, TaskStep)
    if not reply_is_result(step):
        return Park(_time_out(step, entry))
    # still being made; or made again after a restart, under the same key, which finds the run that is under way
    return Park((_call(step, entry), *_time_out(step, entry)))


def _call(step: TaskStep, entry: Entry) -> Command:
    return CallService(entry.id, entry.retries, step, entry.input, entry.input_text)


def _time_out(step: TaskStep, entry: Entry) -> tuple[Command, ...]:
    if step.timeout_s is None:
        return ()
    return (WakeAt(entry.id, "timeout", time_out_at(step.timeout_s, entry)),)


def _after_done(facts: Facts, state: ExecutionState, strand: Strand, scope: Scope, entry: Entry) -> Events:
    step = entry.step
    assert isinstance(step, TaskStep)
    output = entry.local
    if step.output_mappings is not None:
        data = Data(facts, state, step.name, entry.id, entry.retries, entry.input, entry.local)
        output = apply_mappings(step.output_mappings, data)
    output_text = canonical(output)
    check_size(facts, entry.input_text, canonical(entry.local), output_text)
    plain = exited(facts, state.last + 1, strand.last, strand, scope, step, output, None)
    detail = events.task_exited(entry.input_text, plain.value[1], output_text, step.resource_arn)
    return (plain._replace(detail=detail),)


def _after_trouble(facts: Facts, state: ExecutionState, strand: Strand, scope: Scope, entry: Entry) -> Events | Park:
    step = entry.step
    assert isinstance(step, TaskStep)
    instant = retry_at(step.retry, entry.error, entry.retries, entry.at)
    if instant is None:
        return (_caught(facts, state, strand, scope, entry) or failed(state, strand, entry, entry.error, entry.cause),)
    if instant > entry.at:
        return Park((WakeAt(entry.id, "retry", instant),))
    return next_attempt(facts, state, strand, entry)


def _caught(
    facts: Facts, state: ExecutionState, strand: Strand, scope: Scope, entry: Entry, fault: str | None = None
) -> Event | None:
    step = entry.step
    assert isinstance(step, TaskStep)
    error, cause = (entry.error, entry.cause) if fault is None else (RUNTIME_ERROR, fault)
    policy = catch_for(step.catch, error)
    if policy is None:
        return None
    output: dict[str, Any] = {}
    if step.error_mappings is not None:
        local = {"error": error, "cause": cause}
        data = Data(facts, state, step.name, entry.id, entry.retries, entry.input, local)
        output = apply_mappings(step.error_mappings, data)
        check_size(facts, entry.input_text, canonical(output))
    plain = exited(facts, state.last + 1, strand.last, strand, scope, step, output, policy.goto)
    detail = events.task_exited_with_error(
        entry.input_text, plain.value[1], step.resource_arn, cause, error, entry.retries, policy.goto
    )
    return plain._replace(detail=detail)


def _after_failing(facts: Facts, state: ExecutionState, strand: Strand, scope: Scope, entry: Entry) -> Events:
    del facts, scope
    return (failed(state, strand, entry, entry.error, entry.cause),)


def _after_failed(facts: Facts, state: ExecutionState, strand: Strand, scope: Scope, entry: Entry) -> Events:
    del facts
    step = entry.step
    if isinstance(step, TaskStep):
        detail = events.task_exited_with_error(
            entry.input_text, scope.local_text, step.resource_arn, entry.cause, entry.error, entry.retries, None
        )
    else:
        detail = events.exited_with_error(scope.local_text, entry.cause, entry.error)
    value = (scope.local, scope.local_text, None)
    return (Event(state.last + 1, events.STEP_EXITED, strand.id, strand.last, step.name, detail, None, value),)


def _fault(facts: Facts, state: ExecutionState, strand: Strand, cause: str) -> Events:
    """Answer something that cannot be evaluated: a task may catch it, any other step fails.

    Outside a step (its input, the output of the flow) there is nothing to fail but the execution.
    """
    scope = strand.scopes[-1]
    entry = scope.entry
    if entry is None or entry.phase in {Phase.FAILED, Phase.SUCCEEDED}:
        return (final_event(state, events.EXECUTION_FAILED, RUNTIME_ERROR, cause),)
    if isinstance(entry.step, TaskStep):
        try:
            caught = _caught(facts, state, strand, scope, entry, fault=cause)
        except (EvaluationError, ValueError, RecursionError, TooMuchData):
            caught = None
        if caught is not None:
            return (caught,)
    return (failed(state, strand, entry, RUNTIME_ERROR, cause),)


_BY_PHASE: tuple[Callable[[Facts, ExecutionState, Strand, Scope, Entry], Events | Park], ...] = (
    _after_entered,
    _after_started,
    _after_joined,
    _after_succeeded,
    _after_scheduled,
    _while_calling,
    _while_submitted,
    _after_done,
    _after_trouble,
    _after_failing,
    _after_failed,
)
"""In the order of `Phase`; a tuple, because hashing a member of an Enum costs more than most of these."""
