"""Decides the next events of an execution, as far as all languages agree: pure, total, without clock or store.

`decide` maps the state to the next events, or to `Park`: the strand waits until something arrives, and the commands of
the `Park` are what it waits for. What a strand does is decided by the program's language.
`react` returns the events that follow from an arrival: a timer, a reply, a report, a stop; a late arrival (the attempt
is over, the step exited, the execution ended) yields none. Neither changes the state: the driver applies each event and
asks again.

Failures of the flow are events too. Data over the limit and too many events end the execution, whatever the flow says
about errors.

Source: error handling, Serverless Workflow guide and best practices, for retry and catch (10 s, 20 s, 40 s for interval
10, multiplier 2). That all retries of a step share one counter is assumed.
"""

from collections.abc import Callable, Sequence
from typing import Final, assert_never

from emulator.kernel.clock import SECOND, Millis
from emulator.services.workflow.engine import events
from emulator.services.workflow.engine.events import Event, ExecutionFailed, Failure, FinalEvent, StepFailed, UnhappyEnd
from emulator.services.workflow.engine.json_text import Json, NotAnObject, canonical, parse_object, quote, with_text
from emulator.services.workflow.engine.language import (
    Arrival,
    CallService,
    Command,
    DeadlinePassed,
    EvaluationError,
    Events,
    Facts,
    Park,
    Replied,
    Reported,
    Result,
    StepArrival,
    StopAsked,
    Submitted,
    TimerFired,
    WakeAt,
)
from emulator.services.workflow.engine.model import ROOT, CatchPolicy, Entry, Phase, RetryPolicy, Strand, Task
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.limits import STEP_DATA_BYTES

RUNTIME_ERROR: Final = "FnF.RuntimeError"
DATA_LIMIT: Final = "FnF.DataLimitExceeded"
EVENTS_LIMIT: Final = "FnF.EventsLimitExceeded"
TASK_TIMEOUT: Final = "FnF.TaskTimeout"
TIMEOUT: Final = "FnF.Timeout"
INVALID_LOCAL: Final = "FnF.InvalidLocal"

ANY_ERROR: Final = "FnF.ALL"
"""In a list of errors: matches every error."""

SURELY_FITS: Final = STEP_DATA_BYTES // 4
"""This many characters are within the limit in any encoding, so that most texts need not be encoded to be measured."""


FAULTS: Final = (EvaluationError, ValueError, RecursionError)
"""The exceptions that the evaluation of an expression may raise."""


class TooMuchData(Exception):
    """A step, or a variable as its text says, holds more than its limit; ends the execution, caught or not."""


def decide(facts: Facts, state: ExecutionState) -> Events | Park | None:
    """Return the next events (apply them all), or the `Park` of a strand, or None when every strand is parked.

    An execution whose flow has been deleted ends when the calls in flight have returned; strands that wait for a time
    or a report are given up at once, since nobody sees them end.

    Never raises for anything a flow or its data can hold.

    Source: DeleteFlow, Serverless Workflow API reference: executions stop after their current step.
    """
    if state.outcome is not None:
        return None
    if facts.halted and state.last and not any(map(_is_calling, state.strands.values())):
        return (final_event(state, events.ExecutionStopped, "", "The flow has been deleted."),)
    strand = state.next_ready()
    if strand is None:
        return _without_strand(facts, state)
    if facts.halted and not _is_calling(strand):
        return Park(strand.id)
    try:
        decided = facts.program.decide(facts, state, strand)
    except TooMuchData as excess:
        decided = (data_limit_exceeded(facts, state, excess),)
    if isinstance(decided, Park) or decided[-1].id < facts.bounds.events:
        return decided
    return bounded(facts, state, decided)


def _is_calling(strand: Strand) -> bool:
    entry = strand.scopes[-1].entry
    if entry is None or not isinstance(entry.step, Task):
        return False
    return entry.phase is Phase.CALLING or (entry.phase is Phase.SUBMITTED and entry.step.reply_is_result)


def _without_strand(facts: Facts, state: ExecutionState) -> Events | None:
    if state.last == 0:
        return (events.ExecutionStarted(with_text(facts.input)),)
    if not state.strands:
        return bounded(facts, state, (final_event(state, ExecutionFailed, state.error, state.cause),))
    return None


def react(facts: Facts, state: ExecutionState, arrival: Arrival) -> Events:
    """Return the events that *arrival* causes now; apply them all, then go on with `decide`."""
    if state.outcome is not None:
        return ()
    match arrival:
        case StopAsked():
            return (final_event(state, events.ExecutionStopped, arrival.error, arrival.cause),)
        case DeadlinePassed():
            return (final_event(state, events.ExecutionTimedOut, TIMEOUT, arrival.cause),)
        case TimerFired() | Submitted() | Replied() | Reported():
            live = state.find(arrival.entry)
        case _:
            assert_never(arrival)
    if live is None:
        return ()
    strand, entry = live
    try:
        reaction = _at_step(facts, state, strand, entry, arrival)
    except TooMuchData as excess:
        reaction = (data_limit_exceeded(facts, state, excess),)
    return bounded(facts, state, reaction)


def _at_step(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, arrival: StepArrival) -> Events:
    if isinstance(arrival, TimerFired):
        return _timer(facts, state, strand, entry, arrival)
    if arrival.attempt != entry.retries or not isinstance(entry.step, Task):
        return ()
    match arrival:
        case Submitted():
            return (_submitted(facts, state, strand, entry, arrival.result),) if entry.phase is Phase.CALLING else ()
        case Reported():
            return _reported(facts, state, strand, entry, entry.step, arrival.result)
        case Replied():
            return _replied(facts, state, strand, entry, entry.step, arrival.result)
        case _:
            assert_never(arrival)


def _timer(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, fired: TimerFired) -> Events:
    match fired.kind:
        case "wait" | "retry":
            if facts.halted:
                return ()
            return facts.program.resume(facts, state, strand, entry, fired)
        case "timeout":
            return _timed_out(state, strand, entry, fired)
        case _:
            assert_never(fired.kind)


def _timed_out(state: ExecutionState, strand: Strand, entry: Entry, fired: TimerFired) -> Events:
    task = entry.step
    if not isinstance(task, Task) or entry.phase not in {Phase.CALLING, Phase.SUBMITTED}:
        return ()
    timeout_s = task.timeout_of(entry)
    if timeout_s is None or time_out_at(timeout_s, entry) > fired.now:
        return ()  # the timer of an earlier attempt
    cause = f"The task has not ended within {timeout_s} seconds."
    return (failed(state, strand, entry, TASK_TIMEOUT, cause, events.TaskTimedOut),)


def _replied(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, step: Task, result: Result) -> Events:
    if entry.phase is Phase.SUBMITTED and step.reply_is_result:
        return (_result(facts, state, strand, entry, result),)
    if entry.phase is not Phase.CALLING:
        return ()
    if step.pattern == "requestResponse":
        return (_result(facts, state, strand, entry, result),)
    if step.reply_is_result and not result.refused:  # a synchronous call: submission and result in one
        submitted = _submitted(facts, state, strand, entry, Result())
        return (submitted, _result(facts, state, strand, entry, result, submitted))
    if result.error is not None:
        return (failed(state, strand, entry, result.error, result.cause, events.TaskSubmitFailed),)
    return (_submitted(facts, state, strand, entry, result),)


def _reported(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, step: Task, result: Result) -> Events:
    if step.pattern == "requestResponse":
        return ()
    if entry.phase is Phase.SUBMITTED:
        return (_result(facts, state, strand, entry, result),)
    if entry.phase is Phase.CALLING:
        # a fast worker reports before the submission's own reply is in: that reply is no longer waited for
        submitted = _submission(state, strand, step, None)
        return (submitted, _result(facts, state, strand, entry, result, submitted))
    return ()


def _submitted(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, result: Result) -> Event:
    """Return the event for the reply to a submission, which is shown and not part of the data: any JSON will do."""
    try:
        text = canonical(parse_object(result.output or "{}"))
    except NotAnObject:
        text = quote(result.output)
    check_size(facts, text)
    step = entry.step
    assert isinstance(step, Task)
    return _submission(state, strand, step, text)


def _submission(state: ExecutionState, strand: Strand, step: Task, text: str | None) -> Event:
    kind = events.MapRunStarted if step.begins_map_run else events.TaskSubmitted
    return kind(state.last + 1, strand.id, strand.last, step.name, text)


def _result(
    facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, result: Result, submitted: Event | None = None
) -> Event:
    """Return the event for the end of an attempt; *submitted* is the event before, when both are recorded together."""
    name = entry.step.name
    last, trigger = (state.last, strand.last) if submitted is None else (submitted.id, submitted.id)
    error, cause = result.error, result.cause
    if error is None:
        try:
            output = with_text(parse_object(result.output or "{}"))
            check_size(facts, output.text)
            return events.TaskSucceeded(last + 1, strand.id, trigger, name, output)
        except NotAnObject as problem:
            error, cause = INVALID_LOCAL, f"The result of the task must be a JSON object: {problem}"
    return events.TaskFailed(last + 1, strand.id, trigger, name, error, cause)


def bounded(facts: Facts, state: ExecutionState, decided: Events) -> Events:
    """Return *decided*, or the event that fails the execution when the history would exceed its limit."""
    limit = facts.bounds.events
    if decided and decided[-1].id >= limit:
        for index, event in enumerate(decided):
            if event.id >= limit and not isinstance(event, FinalEvent):
                cause = f"The execution has more than {limit} events."
                last = decided[index - 1].id if index else state.last
                return (*decided[:index], ExecutionFailed(event.id, last, EVENTS_LIMIT, cause))
    return decided


def final_event(state: ExecutionState, kind: type[UnhappyEnd], error: str, cause: str) -> UnhappyEnd:
    """Return the event that ends an execution without success; its trigger is the latest event of the flow's strand."""
    root = state.strands.get(ROOT)
    last = root.last if root is not None else state.last
    return kind(state.last + 1, last, error, cause)


def data_limit_exceeded(facts: Facts, state: ExecutionState, excess: TooMuchData) -> Event:
    """Make the event for data over the limit."""
    cause = str(excess) or f"The data of a step holds more than {facts.step_data_bytes} bytes."
    return final_event(state, ExecutionFailed, DATA_LIMIT, cause)


def check_size(facts: Facts, *texts: str) -> None:
    """Check that *texts* together are within the limit of a step's data.

    Raises: TooMuchData.
    """
    check_bytes(facts, sum(len(text.encode()) for text in texts))


def check_bytes(facts: Facts, count: int) -> None:
    """Check that *count* bytes are within the limit of a step's data.

    Raises: TooMuchData.
    """
    if count > facts.step_data_bytes:
        raise TooMuchData


def attempt(
    state: ExecutionState, strand: Strand, task: Task, sent: Json, *, target: str, timeout_s: int | None, retries: int
) -> Events:
    """Return the two events that open an attempt of a task, which sends *sent*; *target* is shown in the history."""
    first = state.last + 1
    return (
        events.TaskScheduled(first, strand.id, strand.last, task.name, sent, target, task.pattern, timeout_s, retries),
        events.TaskStarted(first + 1, strand.id, first, task.name),
    )


def after_scheduled(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    """Return TaskStarted, where a history ends after TaskScheduled."""
    return (events.TaskStarted(state.last + 1, strand.id, strand.last, entry.step.name),)


def while_called(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Park:
    """Return the `Park` with the call of the present attempt of *entry*, and its time-out."""
    task = entry.step
    assert isinstance(task, Task)
    if entry.phase is Phase.SUBMITTED and not task.reply_is_result:
        return Park(strand.id, _time_out(task, entry))
    # after a submission: still being made; or made again after a restart, under the same key, which finds what runs
    return Park(strand.id, (call_of(entry, task), *_time_out(task, entry)))


def failed(
    state: ExecutionState, strand: Strand, entry: Entry, error: str, cause: str, kind: type[Failure] = StepFailed
) -> Failure:
    """Return the event of a step that has failed for good, or of another *kind* of failure."""
    return kind(state.last + 1, strand.id, strand.last, entry.step.name, error, cause)


def time_out_at(timeout_s: int, entry: Entry) -> Millis:
    """Return the time at which the present attempt of *entry* has run for *timeout_s* seconds."""
    return Millis(entry.scheduled_at + timeout_s * SECOND)


def open_strands(
    state: ExecutionState, strand: Strand, entry: Entry, at_once: int, opened: Callable[[int, int, int], Event]
) -> Events | Park:
    """Return the events that open the next branches or iterations of *entry*, so that at most *at_once* run.

    *opened* makes the event that opens a strand, from the event's number, the id of its trigger, the strand's index.
    """
    fork = entry.fork
    assert fork is not None
    room = min(fork.total - fork.opened, at_once - fork.running)
    indexes = range(fork.opened, fork.opened + room)
    return tuple(opened(number, fork.freed, index) for number, index in enumerate(indexes, state.last + 1)) or Park(
        strand.id
    )


def strand_exited(state: ExecutionState, strand: Strand, left: Json, name: str | None = None) -> Event:
    """Return the event that ends a branch or iteration with the output *left*; *name* is its own, if it has one.

    Raises: LookupError when no step waits for it.
    """
    owner = state.strands[strand.parent].entry
    if owner.fork is None:
        raise LookupError("a branch of a step that has none")
    kind = events.BranchExited if owner.fork.items is None else events.IterationExited
    return kind(state.last + 1, strand.id, strand.last, name or owner.step.name, strand.index, left)


def call_of(entry: Entry, task: Task) -> CallService:
    """Return the call of the present attempt of *entry*."""
    sent = entry.request or entry.given
    return CallService(entry.id, entry.retries, task, sent.value, sent.text)


def _time_out(task: Task, entry: Entry) -> tuple[Command, ...]:
    timeout_s = task.timeout_of(entry)
    if timeout_s is None:
        return ()
    return (WakeAt(entry.id, "timeout", time_out_at(timeout_s, entry)),)


def matches(errors: Sequence[str], error: str) -> bool:
    """Whether a policy that lists *errors* applies to *error*.

    Names are compared exactly, but for the prefix of child flows' errors, which the vendor writes as ``FnF.`` and
    ``fnf.``.
    """
    if ANY_ERROR in errors or error in errors:
        return True
    if error[:4].lower() != "fnf.":
        return False
    rest = error[4:]
    return any(name[:4].lower() == "fnf." and name[4:] == rest for name in errors)


def retry_at(policies: Sequence[RetryPolicy], error: str, retries: int, failed_at: Millis) -> Millis | None:
    """Return the time of the next attempt, or None when no retry is left.

    *retries* counts those the step entry has had. Only the first policy that matches counts; the wait before retry
    *k* is interval x multiplier^(k-1), at most the policy's maximum.
    """
    policy = next((policy for policy in policies if matches(policy.errors, error)), None)
    if policy is None or retries >= policy.max_attempts:
        return None
    try:
        wait_s = min(policy.interval_s * policy.multiplier**retries, policy.max_interval_s)
    except OverflowError:
        wait_s = policy.max_interval_s
    return Millis(failed_at + round(wait_s * 1000))


def catch_for(policies: Sequence[CatchPolicy], error: str) -> CatchPolicy | None:
    """Return the first policy that matches *error*."""
    return next((policy for policy in policies if matches(policy.errors, error)), None)


Caught = Callable[[Facts, ExecutionState, Strand, Entry, str, str], Event | None]
"""Returns the event that catches an error with its cause, None when nothing catches it; may raise `FAULTS`,
TooMuchData."""


def after_trouble(
    facts: Facts,
    state: ExecutionState,
    strand: Strand,
    entry: Entry,
    policies: Sequence[RetryPolicy],
    again: Callable[[Facts, ExecutionState, Strand, Entry], Events],
    caught: Caught,
) -> Events | Park:
    """Return what follows a failed attempt: a retry by *policies*, at once or after a pause, the catch, or the failure.

    Raises: what *again* and *caught* raise.
    """
    due = retry_at(policies, entry.error, entry.retries, entry.at)
    if due is None:
        handled = caught(facts, state, strand, entry, entry.error, entry.cause)
        return (handled or failed(state, strand, entry, entry.error, entry.cause),)
    if due > entry.at:
        return Park(strand.id, (WakeAt(entry.id, "retry", due),))
    return again(facts, state, strand, entry)


def after_fault(
    facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, cause: str, caught: Caught
) -> Events:
    """Return the events for an expression of a step that cannot be evaluated: the catch, else the step's failure."""
    try:
        handled = caught(facts, state, strand, entry, RUNTIME_ERROR, cause)
    except (*FAULTS, TooMuchData):
        handled = None
    return (handled or failed(state, strand, entry, RUNTIME_ERROR, cause),)
