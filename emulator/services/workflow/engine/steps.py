"""The events that move a step on, made from the state: what `engine.decide` and `engine.react` share. Pure."""

from typing import Any, Final

from emulator.kernel.clock import SECOND, Millis
from emulator.services.workflow.definition.nodes import FunctionResource, Step, TaskStep
from emulator.services.workflow.engine import events
from emulator.services.workflow.engine.events import FINAL, Event, canonical
from emulator.services.workflow.engine.facts import Data, Facts, reads_context
from emulator.services.workflow.engine.frames import ROOT, Entry, Scope, Strand
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.expression.mappings import apply as apply_mappings
from emulator.services.workflow.limits import STEP_DATA_BYTES

RUNTIME_ERROR: Final = "FnF.RuntimeError"
DATA_LIMIT: Final = "FnF.DataLimitExceeded"
EVENTS_LIMIT: Final = "FnF.EventsLimitExceeded"
TASK_TIMEOUT: Final = "FnF.TaskTimeout"
TIMEOUT: Final = "FnF.Timeout"

SURELY_FITS: Final = STEP_DATA_BYTES // 4
"""So many characters are within the limit whatever they are; most steps need no closer look."""

Events = tuple[Event, ...]


class TooMuchData(Exception):
    """A step holds more than its limit; ends the execution, caught or not."""


def bounded(facts: Facts, state: ExecutionState, decided: Events) -> Events:
    """Let the execution fail when *decided* would outgrow the history; its last event is always a final one."""
    limit = facts.bounds.events
    if decided and decided[-1].id >= limit:
        for index, event in enumerate(decided):
            if event.id >= limit and event.type not in FINAL:
                cause = f"The execution has more than {limit} events."
                last = decided[index - 1].id if index else state.last
                detail = events.failure(EVENTS_LIMIT, cause)
                value = (EVENTS_LIMIT, cause)
                return (*decided[:index], Event(event.id, events.EXECUTION_FAILED, ROOT, last, "", detail, None, value))
    return decided


def final_event(state: ExecutionState, kind: str, error: str, cause: str) -> Event:
    """Make the event that ends an execution other than well."""
    return Event(state.last + 1, kind, ROOT, trigger(state), "", events.failure(error, cause), None, (error, cause))


def data_limit_exceeded(facts: Facts, state: ExecutionState) -> Event:
    """Make the event for data over the limit."""
    cause = f"The input, local and output of a step hold more than {facts.bounds.step_data_bytes} bytes."
    return final_event(state, events.EXECUTION_FAILED, DATA_LIMIT, cause)


def check_size(facts: Facts, *texts: str) -> None:
    """Refuse *texts* that are together longer than a step's data may be.

    Raises: TooMuchData.
    """
    check_bytes(facts, sum(len(text.encode()) for text in texts))


def check_bytes(facts: Facts, count: int) -> None:
    """Refuse *count* bytes of data when a step may not have that many.

    Raises: TooMuchData.
    """
    if count > facts.bounds.step_data_bytes:
        raise TooMuchData


def attempt_input(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, attempt: int) -> tuple[Any, str]:
    """Return the input of an attempt of a task and its text: the step's, but with the attempt's own ``$context``."""
    mappings = entry.step.input_mappings
    if mappings is None or not reads_context(mappings):
        return entry.input, entry.input_text
    scope = strand.scopes[-1]
    data = Data(facts, state, entry.step.name, entry.id, attempt, scope.input, scope.local)
    value = apply_mappings(mappings, data)
    return value, canonical(value)


def scheduled(state: ExecutionState, strand: Strand, entry: Entry, step: TaskStep, value: Any, retries: int) -> Events:
    """Return the two events that open an attempt of a task; *value* is (input, text)."""
    first = state.last + 1
    detail = events.task_scheduled(value[1], step.resource_arn, step.pattern, step.timeout_s, retries)
    return (
        Event(first, events.TASK_SCHEDULED, strand.id, strand.last, step.name, detail, None, value),
        Event(first + 1, events.TASK_STARTED, strand.id, first, step.name, "{}", None, None),
    )


def succeeded(
    facts: Facts, state: ExecutionState, strand: Strand, scope: Scope, entry: Entry, local: Any, default: Any
) -> Events:
    """Return the events that end a step well, but for tasks, which have one event less.

    *default* is the output without outputMappings.

    Raises: TooMuchData, EvaluationError, ValueError.
    """
    step = entry.step
    output = default
    if step.output_mappings is not None:
        data = Data(facts, state, step.name, entry.id, 0, entry.input, local)
        output = apply_mappings(step.output_mappings, data)
    output_text = canonical(output)
    check_size(facts, entry.input_text, canonical(local) if local else "", output_text)
    first = state.last + 1
    detail = f'{{"output":{output_text}}}'
    return (
        Event(first, events.STEP_SUCCEEDED, strand.id, strand.last, step.name, detail, None, (output, output_text)),
        exited(facts, first + 1, first, strand, scope, step, output, chosen_goto(entry)),
    )


def next_attempt(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    """Return the events that open the next attempt of a task.

    Raises: ValueError.
    """
    step = entry.step
    assert isinstance(step, TaskStep)
    value = attempt_input(facts, state, strand, entry, entry.retries + 1)
    return scheduled(state, strand, entry, step, value, entry.retries + 1)


def exited(
    facts: Facts,
    event_id: int,
    cause: int,
    strand: Strand,
    scope: Scope,
    step: Step,
    output: Any,
    goto: str | None,
) -> Event:
    """Return the event that leaves a step with *output*, merged into the local of its scope.

    Raises: TooMuchData, ValueError.
    """
    if output:
        local = {**scope.local, **output} if scope.local else output
        text = canonical(local)
        if len(text) > SURELY_FITS:
            check_size(facts, text)
    else:
        local, text = scope.local, scope.local_text
    detail = f'{{"local":{text}}}' if goto is None else events.exited(text, goto)
    return Event(event_id, events.STEP_EXITED, strand.id, cause, step.name, detail, None, (local, text, goto))


def chosen_goto(entry: Entry) -> str | None:
    """Return where the option a choice took jumps to, if it does."""
    option = entry.option()
    return option.goto if option is not None else None


def failed(state: ExecutionState, strand: Strand, entry: Entry, error: str, cause: str) -> Event:
    """Return the event of a step that has failed for good."""
    detail = events.failure(error, cause)
    kind = events.STEP_FAILED
    return Event(state.last + 1, kind, strand.id, strand.last, entry.step.name, detail, None, (error, cause))


def trigger(state: ExecutionState) -> int:
    """Return the cause of an event that ends the execution from outside: the flow's own latest event."""
    root = state.strands.get(ROOT)
    return root.last if root is not None else state.last


def reply_is_result(step: TaskStep) -> bool:
    """Tell whether the reply of a sync task's call is its result: a function's run is waited for, not reported."""
    return step.pattern == "sync" and isinstance(step.resource, FunctionResource)


def time_out_at(timeout_s: int, entry: Entry) -> Millis:
    """Return when the attempt that *entry* is in has run for its *timeout_s* seconds."""
    return Millis(entry.scheduled_at + timeout_s * SECOND)
