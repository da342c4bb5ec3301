"""One turn of an execution: what has arrived is recorded, then it goes on until every strand is parked.

Everything a turn changes is collected in a `Slice`; nothing is written or done here.
"""

import logging

from emulator.kernel.clock import Millis
from emulator.services.workflow.engine import events
from emulator.services.workflow.engine.decide import RUNTIME_ERROR, call_of, decide, final_event, react
from emulator.services.workflow.engine.language import (
    Arrival,
    CallService,
    DeadlinePassed,
    Events,
    Park,
    Replied,
    Reported,
    Resumed,
    StopAsked,
    Submitted,
    TimerFired,
)
from emulator.services.workflow.engine.model import Strand, Task
from emulator.services.workflow.engine.run import Calls, Run, Slice
from emulator.services.workflow.engine.snapshot import dump
from emulator.services.workflow.engine.state import ExecutionState, apply
from emulator.services.workflow.engine.store import Ending, Progress
from emulator.services.workflow.model import STATUS_OF, LiveExecution

_log = logging.getLogger(__name__)

TURN_EVENTS = 200
"""How many events one execution may record before the next one has its turn."""

EVENTS_PER_SNAPSHOT = 8
"""A snapshot is written when that many events per strand have come since the last, and more text than it had: rare
enough for wide forks and long ones, whose results it holds, often enough that little is read again when the execution
wakes."""

_ENDS_CALL = frozenset(
    {
        events.TASK_SUBMITTED,
        events.TASK_SUCCEEDED,
        events.TASK_FAILED,
        events.TASK_SUBMIT_FAILED,
        events.TASK_TIMED_OUT,
    }
)
_ENDS_ATTEMPT = _ENDS_CALL - {events.TASK_SUBMITTED}


class Turns:
    """Takes executions through their turns. *calls* knows which calls are being made already."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def take(self, run: Run, arrivals: list[Arrival | Resumed], now: Millis, part: Slice) -> bool:
        """Take one turn; False when there is more to do, True when every strand is parked or the execution ended."""
        for arrival in arrivals:
            self.receive(run, arrival, now, part)
        if now >= run.deadline:
            self.receive(run, DeadlinePassed("The execution has reached its time-out."), now, part)
        return self._advance(run, now, part)

    def receive(self, run: Run, arrival: Arrival | Resumed, now: Millis, part: Slice) -> Events:
        """Record what *arrival* causes by itself, and return it."""
        state = run.state
        if isinstance(arrival, Resumed):
            live = state.find(arrival.entry)
            if live is not None:
                state.unpark(live[0])
            else:
                part.calls[run.id, arrival.entry] = None
            return ()
        recorded = self._admitted(run, react(run.facts, state, arrival))
        if isinstance(arrival, TimerFired):
            key = (run.id, arrival.entry, arrival.kind)
            if recorded or part.wakeups.get(key) is None:  # else it has been set anew in this very slice
                part.wakeups[key] = None
        self.record(run, recorded, now, part)
        if not isinstance(arrival, StopAsked | DeadlinePassed | Submitted):  # one that was submitted goes on
            self._note_results(run, arrival, recorded, part)
        return recorded

    def _note_results(self, run: Run, arrival: TimerFired | Replied | Reported, recorded: Events, part: Slice) -> None:
        entry = arrival.entry
        for event in recorded:
            if event.type in _ENDS_CALL:
                part.calls[run.id, entry] = None
            if event.type in _ENDS_ATTEMPT and not isinstance(arrival, TimerFired):
                part.wakeups[run.id, entry, "timeout"] = None
            if event.type == events.TASK_TIMED_OUT:
                part.cancelled.append((run.id, entry))

    def _advance(self, run: Run, now: Millis, part: Slice) -> bool:
        """Let an execution go on until every strand is parked; False when its turn is over before that."""
        facts, state = run.facts, run.state
        left = TURN_EVENTS
        while left > 0:
            decided = decide(facts, state)
            if decided is None:
                return True
            if isinstance(decided, Park):
                self._park(run, state.next_ready(), decided, part)
            else:
                decided = self._admitted(run, decided)
                self.record(run, decided, now, part)
                left -= len(decided)
        return False

    def _admitted(self, run: Run, decided: Events) -> Events:
        """Return the events that breakpoints let through; a strand that they stop is parked."""
        if run.watch is None or not decided:
            return decided
        admitted = run.watch.admitted(run.facts.program, run.state, decided)
        strand = run.state.strands.get(decided[0].strand)
        if not admitted and strand is not None:
            run.state.park(strand)
        return admitted

    def record(self, run: Run, recorded: Events, now: Millis, part: Slice) -> None:
        """Record events, which the state moves on by."""
        head = (run.id, run.world_id, now)
        program, state = run.facts.program, run.state
        for event in recorded:
            part.events.append(head + event[:7])
            run.chars_since += len(event.detail)
            apply(program, state, event, now)
        if state.abandoned:
            self._abandon(run, part)

    def _park(self, run: Run, strand: Strand | None, park: Park, part: Slice) -> None:
        if strand is not None:
            run.state.park(strand)
        for command in park.commands:
            run.has_rows = True
            if not isinstance(command, CallService):
                part.wakeups[run.id, command.entry, command.kind] = (run.world_id, command.instant)
            elif not self._calls.is_making(run.id, command):
                part.calls[run.id, command.entry] = (run.world_id, command.attempt)
                part.dispatches.append((run, command))

    def _abandon(self, run: Run, part: Slice) -> None:
        """Take back what entries wait for that were given up with their branch or execution."""
        for entry in run.state.abandoned:
            part.calls[run.id, entry.id] = None
            part.cancelled.append((run.id, entry.id))
            for kind in ("wait", "retry", "timeout"):
                part.wakeups[run.id, entry.id, kind] = None
            if isinstance(entry.step, Task) and entry.step.pattern == "sync":
                part.orphans.append((run, call_of(entry, entry.step)))
        run.state.abandoned.clear()

    def settle(self, run: Run, *, parked: bool, part: Slice) -> None:
        """Note how far an execution has come in its turn."""
        state = run.state
        if state.outcome is not None:
            self._end(run, part)
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
            part.wakeups[run.id, 0, "deadline"] = (run.world_id, run.deadline)
            run.has_deadline = run.has_rows = True
        part.progress.append(Progress(not parked, state.last, snapshot, run.id))

    def _end(self, run: Run, part: Slice) -> None:
        state = run.state
        assert state.outcome is not None
        status = STATUS_OF[state.outcome]
        part.endings.append(
            Ending(status.value, state.at, state.last, state.output_text, state.error, state.cause, run.id)
        )
        if run.has_rows:
            part.cleared.append(run.id)
        if run.callback_token:
            part.callbacks.append((run.id, run.world_id))


def give_up(live: LiveExecution, run: Run | None, now: Millis, part: Slice) -> None:
    """End an execution that the engine cannot handle, so that it is neither lost nor tried for ever."""
    state = ExecutionState()
    state.last = run.state.last if run is not None else live.last_event
    cause = "The engine cannot go on with this execution; the log of the emulator tells why."
    event = final_event(state, events.EXECUTION_FAILED, RUNTIME_ERROR, cause)
    part.events.append((live.id, live.world_id, now, *event[:7]))
    part.endings.append(Ending("Failed", now, event.id, "", RUNTIME_ERROR, cause, live.id))
    part.cleared.append(live.id)
