"""The turns of executions: their events and commands, collected in a `Slice`; nothing is written or called here."""

import logging
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from emulator.kernel.clock import Millis
from emulator.kernel.turnstile import Turnstile
from emulator.services.workflow.engine import events
from emulator.services.workflow.engine.calls import Calls
from emulator.services.workflow.engine.decide import RUNTIME_ERROR, call_of, final_event
from emulator.services.workflow.engine.history import line_of
from emulator.services.workflow.engine.language import (
    STEP_TIMERS,
    Arrival,
    CallService,
    Command,
    DeadlinePassed,
    Events,
    Facts,
    Replied,
    Reported,
    Resumed,
    StopAsked,
    Submitted,
    TimerFired,
)
from emulator.services.workflow.engine.model import Step, Task
from emulator.services.workflow.engine.notation import DOCUMENTED
from emulator.services.workflow.engine.run import Run
from emulator.services.workflow.engine.snapshot import dump
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.engine.store import Changes, Ending, Progress, Wakeup, orphaned
from emulator.services.workflow.engine.tasks import outlives_its_task
from emulator.services.workflow.model import STATUS_OF, ExecutionId, LiveExecution, Standing, Status

_log = logging.getLogger(__name__)


class Ended(NamedTuple):
    """An execution that has ended; ``halted`` is whether its flow has been deleted."""

    id: ExecutionId
    flow_name: str
    name: str
    status: Status
    callback_token: str
    trace: str
    halted: bool


class Slice(Changes):
    """The changes of a slice, and the effects that follow its commit.

    ``ended`` are the executions of ``endings``, ``over`` their ids: the store still has them as open, and another of
    their wake-ups may be due in the same slice. ``orphans`` are abandoned tasks, whose child executions and queued
    calls stop with them. ``entered`` are the steps that were entered, ``express`` the ends of express executions with
    how long each took in milliseconds; both are metered.
    """

    __slots__ = ("cancelled", "dispatches", "ended", "entered", "express", "orphans", "over")

    def __init__(self) -> None:
        super().__init__()
        self.dispatches: list[tuple[Run, CallService]] = []
        self.cancelled: list[tuple[ExecutionId, int]] = []
        self.orphans: list[tuple[Run, CallService]] = []
        self.ended: list[Ended] = []
        self.over: set[ExecutionId] = set()
        self.entered: list[tuple[Facts, Step]] = []
        self.express: list[tuple[str, int]] = []

    def earliest(self) -> Millis | None:
        """Return the earliest time for which a wake-up was set."""
        return min((value[1] for value in self.wakeups.values() if value is not None), default=None)

    def has_effects(self) -> bool:
        """Whether the slice has effects that follow its commit."""
        return bool(self.dispatches or self.cancelled or self.orphans or self.ended)


TURN_EVENTS = 200
"""How many events one execution may record before the next one has its turn."""

EVENTS_PER_SNAPSHOT = 8
"""A snapshot is written when this many events per strand, and more text than the last snapshot, have come since it:
seldom enough for wide and long forks, whose results it holds, and often enough that little is read again when the
execution wakes."""

FEW_STRANDS = 16
"""Up to this many strands, each one is checked for a submitted task whenever the execution parks."""

_ENDS_ATTEMPT = (events.TaskSucceeded, events.AttemptFailure)
_ENDS_CALL = (*_ENDS_ATTEMPT, events.Submission)


class Turn:
    """One turn of an execution (`execution.Recorder`); *calls* knows which calls are being made already."""

    __slots__ = ("_calls", "_now", "_part", "_run")

    def __init__(self, run: Run, now: Millis, part: Slice, calls: Calls) -> None:
        self._run = run
        self._now = now
        self._part = part
        self._calls = calls

    def take(self, arrivals: list[Arrival | Resumed]) -> bool:
        """Take the turn; False when there is more to do, True when every strand is parked or the execution ended."""
        for arrival in arrivals:
            self.receive(arrival)
        if self._now >= self._run.deadline:
            self.receive(DeadlinePassed("The execution has exceeded its timeout."))
        return self._run.go_on(self, TURN_EVENTS)

    def receive(self, arrival: Arrival | Resumed) -> Events:
        """Record the events that *arrival* causes directly, and return them."""
        run, part = self._run, self._part
        if isinstance(arrival, Resumed):
            live = run.state.find(arrival.entry)
            if live is not None:
                run.state.unpark(live[0])
            else:
                part.calls[run.id, arrival.entry] = None
            return ()
        recorded = run.take(self, arrival)
        if recorded and isinstance(recorded[-1], events.Submission):
            run.may_be_reported = True
        if isinstance(arrival, TimerFired):
            key = (run.id, arrival.entry, arrival.kind)
            if recorded or part.wakeups.get(key) is None:  # else it has been set anew in this very slice
                part.wakeups[key] = None
        if not isinstance(arrival, StopAsked | DeadlinePassed | Submitted):  # one that was submitted goes on
            self._note_results(arrival, recorded)
        return recorded

    def record(self, recorded: Events) -> None:
        """Record events, and apply each to the state."""
        run, part, now = self._run, self._part, self._now
        program, state = run.facts.program, run.state
        if recorded:
            turn = part.turn(run.id, run.tenant_id, now, recorded[0].id)
            for event in recorded:
                detail = event.detail(program.notation)
                turn.append(line_of(event, detail))
                run.chars_since += len(detail)
                event.apply(program, state, now)
                if type(event) is events.StepEntered:
                    entry = state.strands[event.strand].scopes[-1].entry
                    assert entry is not None  # it has just been entered
                    part.entered.append((run.facts, entry.step))
        if state.abandoned:
            self._abandon()

    def ask(self, command: Command) -> None:
        """Record a timer, or a call that is still to be made."""
        run, part = self._run, self._part
        run.has_rows = True
        if not isinstance(command, CallService):
            part.wakeups[run.id, command.entry, command.kind] = (run.tenant_id, command.at)
        elif not self._calls.is_making(run.id, command):
            part.calls[run.id, command.entry] = (run.tenant_id, command.attempt)
            part.dispatches.append((run, command))

    def settle(self, *, parked: bool) -> None:
        """Record the position of the execution."""
        run, part, state = self._run, self._part, self._run.state
        if state.outcome is not None:
            self._end(state.outcome)
            return
        if run.watch is not None and run.watch.is_changed:
            part.watches.append((run.watch.dump(), run.id))
            run.watch.is_changed = False
        snapshot = None
        few = state.last - run.snapshot_at < EVENTS_PER_SNAPSHOT * len(state.strands)
        if not few and run.chars_since >= run.snapshot_chars:
            try:
                snapshot = dump(state)
                run.snapshot_at, run.snapshot_chars, run.chars_since = state.last, len(snapshot), 0
            except ValueError:
                _log.warning("the state of execution %d cannot be written; its history will be read instead", run.id)
        if parked and not run.has_deadline:
            # an execution that never waits is over before its deadline row would matter
            part.wakeups[run.id, 0, "deadline"] = (run.tenant_id, run.deadline)
            run.has_deadline = run.has_rows = True
        part.progress.append(Progress(self._standing() if parked else Standing.READY, state.last, snapshot, run.id))

    def _standing(self) -> Standing:
        """Return the `Standing` of a parked execution; with many strands, whether a task was ever submitted decides."""
        run = self._run
        if run.may_be_reported and len(run.state.strands) <= FEW_STRANDS:
            run.may_be_reported = any(run.state.submitted())
        return Standing.SUBMITTED if run.may_be_reported else Standing.PARKED

    def _note_results(self, arrival: TimerFired | Replied | Reported, recorded: Events) -> None:
        run, part, entry = self._run, self._part, arrival.entry
        for event in recorded:
            if isinstance(event, _ENDS_CALL):
                part.calls[run.id, entry] = None
            if isinstance(event, _ENDS_ATTEMPT) and not isinstance(arrival, TimerFired):
                part.wakeups[run.id, entry, "timeout"] = None
            if isinstance(event, events.TaskTimedOut):
                part.cancelled.append((run.id, entry))

    def _abandon(self) -> None:
        """Cancel the timers and calls of entries that were given up with their branch or execution."""
        run, part = self._run, self._part
        for entry in run.state.abandoned:
            part.calls[run.id, entry.id] = None
            part.cancelled.append((run.id, entry.id))
            for kind in STEP_TIMERS:
                part.wakeups[run.id, entry.id, kind] = None
            if not isinstance(entry.step, Task):
                continue
            call = call_of(entry, entry.step)
            if outlives_its_task(call):
                part.calls[run.id, entry.id] = (run.tenant_id, orphaned(call.attempt))
                part.orphans.append((run, call))
        run.state.abandoned.clear()

    def _end(self, outcome: str) -> None:
        run, part, state, facts = self._run, self._part, self._run.state, self._run.facts
        status = STATUS_OF[outcome]
        part.endings.append(
            Ending(status.value, state.at, state.last, state.output_text, state.error, state.cause, run.id)
        )
        part.over.add(run.id)
        part.ended.append(
            Ended(run.id, facts.flow_name, facts.execution_name, status, run.callback_token, run.trace, facts.halted)
        )
        if facts.is_express:
            part.express.append((facts.flow_name, state.at - run.started_at))
        if run.has_rows:
            part.cleared.append(run.id)
        if run.callback_token:
            part.callbacks.append((run.id, run.tenant_id))


def give_up(live: LiveExecution, run: Run | None, now: Millis, part: Slice) -> None:
    """Fail an execution that the engine cannot handle, so that it is neither lost nor retried for ever."""
    state = ExecutionState()
    state.last = run.state.last if run is not None else live.last_event
    cause = "The engine cannot go on with this execution; the log of the emulator tells why."
    event = final_event(state, events.ExecutionFailed, RUNTIME_ERROR, cause)
    part.turn(live.id, live.tenant_id, now, event.id).append(line_of(event, event.detail(DOCUMENTED)))
    status = Status.FAILED
    part.over.add(live.id)
    part.endings.append(Ending(status.value, now, event.id, "", RUNTIME_ERROR, cause, live.id))
    part.ended.append(
        Ended(live.id, live.flow_name, live.name, status, live.callback_token, live.trace, bool(live.halted))
    )
    part.cleared.append(live.id)


def in_order(turns: Turnstile, due: Sequence[Wakeup]) -> list[Wakeup]:
    """Return wake-ups, earliest first, with those of the same time in the order that a schedule of effects chooses."""
    ordered: list[Wakeup] = []
    for _, together in groupby(due, lambda wakeup: wakeup.fire_at):
        ordered += turns.arranged(
            "execution", list(together), lambda each: f"{each.execution}/{each.entry} {each.kind}"
        )
    return ordered
