"""The state of one execution: the fold of its history.

`apply` moves the state on by one event; nothing else changes it, but for `ExecutionState.park`, which only notes that
a strand has nothing to do until something arrives. `fold` rebuilds the state from a whole history. What the state is
made of stands in `engine.model`; what differs from one type of step to another, the steps answer themselves.
"""

from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any

from emulator.kernel.clock import Millis
from emulator.services.workflow.engine.events import Event
from emulator.services.workflow.engine.model import ROOT, Definition, Entry, Phase, Scope, Strand, Task


class ExecutionState:
    """Everything decisions are made from.

    ``last`` and ``at`` are the id and the time of the latest event; ``outcome`` is the type of the final one, None
    before; ``output_text``, ``error`` and ``cause`` then say how it ended. ``variables`` are those of the execution as
    a whole, in languages that have such. ``abandoned`` collects the entries that
    were under way when a sibling failed or the execution ended; whoever holds timers and calls of them takes it and
    empties it.
    """

    __slots__ = (
        "abandoned", "at", "cause", "error", "last", "outcome", "output_text", "ready", "started_at", "strands",
        "variables",
    )  # fmt: skip

    def __init__(self) -> None:
        self.last = 0
        self.at = Millis(0)
        self.started_at = Millis(0)
        self.strands: dict[int, Strand] = {}
        self.ready: list[int] = []
        self.outcome: str | None = None
        self.output_text = ""
        self.error = ""
        self.cause = ""
        self.variables: dict[str, Any] = {}
        self.abandoned: list[Entry] = []

    def next_ready(self) -> Strand | None:
        """Return the strand to go on with: the oldest that is not parked, so that replays take the same turns."""
        ready = self.ready
        while ready:
            strand = self.strands.get(ready[0])
            if strand is not None and not strand.parked:
                return strand
            heappop(ready)
        return None

    def park(self, strand: Strand) -> None:
        """Note that *strand* has nothing to do until an event arrives from outside or from a strand it opened."""
        strand.parked = True

    def unpark(self, strand: Strand) -> None:
        """Let *strand* be looked at again."""
        if strand.parked:
            strand.parked = False
            heappush(self.ready, strand.id)

    def submitted(self) -> Iterator[Entry]:
        """Yield the entries of tasks that wait for a report."""
        for strand in self.strands.values():
            entry = strand.scopes[-1].entry
            if entry is not None and entry.phase is Phase.SUBMITTED:
                yield entry

    def find(self, entry_id: int) -> tuple[Strand, Entry] | None:
        """Return the live entry of that id and its strand; None when the step has been exited."""
        for strand in self.strands.values():
            entry = strand.scopes[-1].entry
            if entry is not None and entry.id == entry_id:
                return strand, entry
        return None


def fold(
    definition: Definition, history: Iterable[tuple[Event, Millis]], state: ExecutionState | None = None
) -> ExecutionState:
    """Return the state after *history*, or after *history* on top of *state*."""
    state = state if state is not None else ExecutionState()
    for event, at in history:
        apply(definition, state, event, at)
    return state


def apply(definition: Definition, state: ExecutionState, event: Event, at: Millis) -> None:
    """Move *state* on by *event*, recorded at *at*."""
    state.last = event.id
    state.at = at
    kind = event.type
    handler = _ON_ENTRY.get(kind)
    if handler is None:
        _ON_EXECUTION[kind](definition, state, event, at)
        return
    strand = state.strands[event.strand]
    strand.last = event.id
    if strand.parked:
        state.unpark(strand)
    handler(state, strand, event, at)


def _execution_started(definition: Definition, state: ExecutionState, event: Event, at: Millis) -> None:
    state.started_at = at
    strand = Strand(ROOT, ROOT, 0, Scope(definition.steps, definition.begin(event.value[0])))
    strand.last = event.id
    state.strands[ROOT] = strand
    state.ready.append(ROOT)


def _execution_succeeded(definition: Definition, state: ExecutionState, event: Event, at: Millis) -> None:
    state.outcome = event.type
    state.output_text = event.value[1]
    _drop_all(state)


def _execution_ended(definition: Definition, state: ExecutionState, event: Event, at: Millis) -> None:
    state.outcome = event.type
    state.error, state.cause = event.value
    _drop_all(state)


def _drop_all(state: ExecutionState) -> None:
    for strand in state.strands.values():
        _abandon(state, strand)
    state.strands.clear()
    state.ready.clear()


def _entry(strand: Strand) -> Entry:
    entry = strand.scopes[-1].entry
    if entry is None:
        raise LookupError("the history has an event of a step before its StepEntered")
    return entry


def _step_entered(state: ExecutionState, strand: Strand, event: Event, at: Millis) -> None:
    scope = strand.scopes[-1]
    value, text = event.value
    scope.entry = Entry(scope.steps.steps[scope.position], event.id, at, value, text)


def _step_started(state: ExecutionState, strand: Strand, event: Event, at: Millis) -> None:
    entry = _entry(strand)
    if entry.phase is Phase.FAILING:  # what the step opened is opened once more
        entry.retries += 1
        entry.error = entry.cause = ""
    entry.phase = Phase.STARTED
    entry.at = at
    items = None
    if event.value is not None:
        entry.input, entry.input_text, items = event.value
    if event.mark is not None:
        entry.mark = event.mark
        nested = entry.step.nested(event.mark)
        if nested is not None and nested.steps:
            strand.scopes.append(Scope(nested, entry.input))
    entry.fork = entry.step.fork(entry.input, event.id, items)


def _step_succeeded(state: ExecutionState, strand: Strand, event: Event, at: Millis) -> None:
    entry = _entry(strand)
    entry.phase = Phase.SUCCEEDED
    entry.output, entry.output_text = event.value


def _step_failed(state: ExecutionState, strand: Strand, event: Event, at: Millis) -> None:
    entry = _entry(strand)
    entry.phase = Phase.FAILED
    entry.error, entry.cause = event.value


def _step_exited(state: ExecutionState, strand: Strand, event: Event, at: Millis) -> None:
    scope = strand.scopes[-1]
    entry = _entry(strand)
    scope.entry = None
    scope.local, scope.local_text, goto, variables = event.value
    if entry.phase is Phase.FAILED:
        _scope_failed(state, strand, event.id, at, entry.error, entry.cause)
        return
    if variables:
        state.variables = {**state.variables, **variables}
    if goto is not None:
        scope.position = scope.steps.index[goto]
    else:
        scope.position = entry.step.next_position(scope.steps, scope.position)
    if len(strand.scopes) > 1:
        _leave_nested_steps(strand)


def _leave_nested_steps(strand: Strand) -> None:
    scope = strand.scopes[-1]
    if scope.is_over():
        strand.scopes.pop()
        owner = _entry(strand)
        owner.phase = Phase.JOINED
        owner.local = scope.local


def _scope_failed(state: ExecutionState, strand: Strand, event_id: int, at: Millis, error: str, cause: str) -> None:
    strand.scopes.pop()
    if strand.scopes:
        owner = strand
    elif strand.id != ROOT:
        owner = state.strands[strand.parent]
        owner.last = event_id
        _drop_below(state, owner.id)
        state.unpark(owner)
    else:
        state.strands.clear()
        state.error, state.cause = error, cause
        return
    entry = _entry(owner)
    entry.phase = Phase.FAILING
    entry.at = at
    entry.error, entry.cause = error, cause
    entry.fork = None


def _drop_below(state: ExecutionState, top: int) -> None:
    """Abandon every strand opened, directly or not, by the entry that *top* stands at."""
    doomed = {top}
    for strand_id in sorted(state.strands):  # a strand's id is greater than its parent's
        if strand_id != ROOT and state.strands[strand_id].parent in doomed:
            doomed.add(strand_id)
    doomed.discard(top)
    for strand_id in sorted(doomed):
        _abandon(state, state.strands.pop(strand_id))
    state.ready = [strand_id for strand_id in state.ready if strand_id in state.strands]
    heapify(state.ready)


def _abandon(state: ExecutionState, strand: Strand) -> None:
    if strand.scopes and strand.scopes[-1].entry is not None:
        state.abandoned.append(strand.scopes[-1].entry)


def _strand_entered(state: ExecutionState, strand: Strand, event: Event, at: Millis) -> None:
    entry = _entry(strand)
    fork = entry.fork
    if fork is None:
        raise LookupError("the history opens a branch of a step that has none")
    steps, value = entry.step.branch(entry, fork.opened)
    opened = Strand(event.id, strand.id, fork.opened, Scope(steps, value))
    fork.opened += 1
    fork.running += 1
    state.strands[event.id] = opened
    heappush(state.ready, event.id)


def _strand_exited(state: ExecutionState, strand: Strand, event: Event, at: Millis) -> None:
    owner = state.strands[strand.parent]
    entry = _entry(owner)
    fork = entry.fork
    if fork is None:
        raise LookupError("the history ends a branch of a step that has none")
    del state.strands[strand.id]
    fork.results[strand.index] = event.value[0]
    fork.running -= 1
    fork.freed = owner.last = event.id
    if len(fork.results) == fork.total:
        entry.phase = Phase.JOINED
        entry.local = [fork.results[index] for index in range(fork.total)]
        entry.fork = None
    state.unpark(owner)


def _task_scheduled(state: ExecutionState, strand: Strand, event: Event, at: Millis) -> None:
    entry = _entry(strand)
    if entry.phase is Phase.TROUBLED:
        entry.retries += 1
    entry.phase = Phase.SCHEDULED
    entry.scheduled_at = at
    entry.mark = event.mark
    if isinstance(entry.step, Task) and entry.step.sends_parameters:
        entry.request = event.value
    else:
        entry.input, entry.input_text = event.value
    entry.error = entry.cause = ""


def _task_started(state: ExecutionState, strand: Strand, event: Event, at: Millis) -> None:
    _entry(strand).phase = Phase.CALLING


def _task_submitted(state: ExecutionState, strand: Strand, event: Event, at: Millis) -> None:
    _entry(strand).phase = Phase.SUBMITTED


def _task_succeeded(state: ExecutionState, strand: Strand, event: Event, at: Millis) -> None:
    entry = _entry(strand)
    entry.phase = Phase.DONE
    entry.local = event.value[0]


def _task_failed(state: ExecutionState, strand: Strand, event: Event, at: Millis) -> None:
    entry = _entry(strand)
    entry.phase = Phase.TROUBLED
    entry.at = at
    entry.error, entry.cause = event.value


_ON_EXECUTION: dict[str, Callable[[Definition, ExecutionState, Event, Millis], None]] = {
    "ExecutionStarted": _execution_started,
    "ExecutionSucceeded": _execution_succeeded,
    "ExecutionFailed": _execution_ended,
    "ExecutionStopped": _execution_ended,
    "ExecutionTimedOut": _execution_ended,
}

_ON_ENTRY: dict[str, Callable[[ExecutionState, Strand, Event, Millis], None]] = {
    "StepEntered": _step_entered,
    "StepStarted": _step_started,
    "StepSucceeded": _step_succeeded,
    "StepFailed": _step_failed,
    "StepExited": _step_exited,
    "BranchEntered": _strand_entered,
    "BranchExited": _strand_exited,
    "IterationEntered": _strand_entered,
    "IterationExited": _strand_exited,
    "TaskScheduled": _task_scheduled,
    "TaskStarted": _task_started,
    "TaskSubmitted": _task_submitted,
    "MapRunStarted": _task_submitted,
    "TaskSubmitFailed": _task_failed,
    "TaskSucceeded": _task_succeeded,
    "TaskFailed": _task_failed,
    "TaskTimedOut": _task_failed,
}
