"""What follows from an arrival: a timer, a reply, a report, a stop. Pure, like `engine.decide`.

An arrival that is late (the attempt is over, the step exited, the execution ended) yields nothing.
"""

from emulator.services.workflow.definition.nodes import TaskStep, WaitStep
from emulator.services.workflow.engine import events
from emulator.services.workflow.engine.commands import (
    Arrival,
    DeadlinePassed,
    Replied,
    Reported,
    Result,
    StopAsked,
    Submitted,
    TimerFired,
)
from emulator.services.workflow.engine.events import Event, NotAnObject, canonical, parse_object
from emulator.services.workflow.engine.facts import Facts
from emulator.services.workflow.engine.frames import Entry, Phase, Strand
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.engine.steps import (
    RUNTIME_ERROR,
    TASK_TIMEOUT,
    TIMEOUT,
    Events,
    TooMuchData,
    bounded,
    check_size,
    data_limit_exceeded,
    final_event,
    next_attempt,
    reply_is_result,
    succeeded,
    time_out_at,
)
from emulator.services.workflow.engine.waits import wake_instant
from emulator.services.workflow.expression.errors import EvaluationError

StepArrival = TimerFired | Submitted | Replied | Reported

INVALID_LOCAL = "FnF.InvalidLocal"


def react(facts: Facts, state: ExecutionState, arrival: Arrival) -> Events:
    """Return the events that *arrival* causes now; apply them all, then go on with `decide`."""
    if state.outcome is not None:
        return ()
    if isinstance(arrival, StopAsked):
        return (final_event(state, events.EXECUTION_STOPPED, arrival.error, arrival.cause),)
    if isinstance(arrival, DeadlinePassed):
        return (final_event(state, events.EXECUTION_TIMED_OUT, TIMEOUT, arrival.cause),)
    found = state.find(arrival.entry)
    if found is None:
        return ()
    strand, entry = found
    try:
        reaction = _at_step(facts, state, strand, entry, arrival)
    except TooMuchData:
        reaction = (data_limit_exceeded(facts, state),)
    return bounded(facts, state, reaction)


def _at_step(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, arrival: StepArrival) -> Events:
    if isinstance(arrival, TimerFired):
        return _timer(facts, state, strand, entry, arrival)
    if arrival.attempt != entry.retries or not isinstance(entry.step, TaskStep):
        return ()
    if isinstance(arrival, Submitted):
        return (_submitted(facts, state, strand, entry, arrival.result),) if entry.phase is Phase.CALLING else ()
    if isinstance(arrival, Reported):
        return _reported(facts, state, strand, entry, entry.step, arrival.result)
    return _replied(facts, state, strand, entry, entry.step, arrival.result)


def _timer(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, fired: TimerFired) -> Events:
    step = entry.step
    if isinstance(step, WaitStep):
        if fired.kind != "wait" or entry.phase is not Phase.STARTED:
            return ()
        if wake_instant(step, entry.input, entry.at) > fired.now:
            return ()
        try:
            return succeeded(facts, state, strand, strand.scopes[-1], entry, {}, {})
        except (EvaluationError, ValueError, RecursionError) as fault:
            return (_event(state, strand, entry, events.STEP_FAILED, RUNTIME_ERROR, str(fault)),)
    if not isinstance(step, TaskStep):
        return ()
    if fired.kind == "retry" and entry.phase is Phase.TROUBLED:
        try:
            return next_attempt(facts, state, strand, entry)
        except (ValueError, RecursionError) as fault:
            return (_event(state, strand, entry, events.STEP_FAILED, RUNTIME_ERROR, str(fault)),)
    if fired.kind == "timeout" and entry.phase in {Phase.CALLING, Phase.SUBMITTED} and step.timeout_s is not None:
        if time_out_at(step.timeout_s, entry) > fired.now:
            return ()  # the timer of an earlier attempt
        cause = f"The task has not ended within {step.timeout_s} seconds."
        return (_event(state, strand, entry, events.TASK_TIMED_OUT, TASK_TIMEOUT, cause),)
    return ()


def _replied(
    facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, step: TaskStep, result: Result
) -> Events:
    if entry.phase is Phase.SUBMITTED and reply_is_result(step):
        return (_result(facts, state, strand, entry, result, state.last),)
    if entry.phase is not Phase.CALLING:
        return ()
    if step.pattern == "requestResponse":
        return (_result(facts, state, strand, entry, result, state.last),)
    if reply_is_result(step) and not result.refused:  # a synchronous call: submission and result in one
        submitted = _submitted(facts, state, strand, entry, Result())
        return (submitted, _result(facts, state, strand, entry, result, submitted.id, cause_id=submitted.id))
    if result.error is not None:
        return (_event(state, strand, entry, events.TASK_SUBMIT_FAILED, result.error, result.cause),)
    return (_submitted(facts, state, strand, entry, result),)


def _reported(
    facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, step: TaskStep, result: Result
) -> Events:
    if step.pattern == "requestResponse":
        return ()
    if entry.phase is Phase.SUBMITTED:
        return (_result(facts, state, strand, entry, result, state.last),)
    if entry.phase is Phase.CALLING:
        # a fast worker reports before the submission's own reply is in: that reply is no longer waited for
        submitted = Event(state.last + 1, events.TASK_SUBMITTED, strand.id, strand.last, step.name, "{}", None, None)
        return (submitted, _result(facts, state, strand, entry, result, submitted.id, cause_id=submitted.id))
    return ()


def _submitted(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, result: Result) -> Event:
    """Record the reply of the submission: shown, but no part of the data, so any JSON will do."""
    try:
        text = canonical(parse_object(result.output or "{}"))
    except NotAnObject:
        text = events.quote(result.output)
    check_size(facts, text)
    detail = f'{{"output":{text}}}'
    name = entry.step.name
    return Event(state.last + 1, events.TASK_SUBMITTED, strand.id, strand.last, name, detail, None, None)


def _result(
    facts: Facts,
    state: ExecutionState,
    strand: Strand,
    entry: Entry,
    result: Result,
    last: int,
    cause_id: int | None = None,
) -> Event:
    name = entry.step.name
    cause_of_event = strand.last if cause_id is None else cause_id
    error, cause = result.error, result.cause
    if error is None:
        try:
            value = parse_object(result.output or "{}")
            text = canonical(value)
            check_size(facts, text)
            detail = f'{{"output":{text}}}'
            return Event(last + 1, events.TASK_SUCCEEDED, strand.id, cause_of_event, name, detail, None, (value, text))
        except NotAnObject as problem:
            error, cause = INVALID_LOCAL, f"The result of the task is not a JSON object: {problem}"
    detail = events.failure(error, cause)
    return Event(last + 1, events.TASK_FAILED, strand.id, cause_of_event, name, detail, None, (error, cause))


def _event(state: ExecutionState, strand: Strand, entry: Entry, kind: str, error: str, cause: str) -> Event:
    detail = events.failure(error, cause)
    return Event(state.last + 1, kind, strand.id, strand.last, entry.step.name, detail, None, (error, cause))
