"""Makes executions go: asks for decisions, appends the events, commits, then acts. The only place with effects.

Executions that have something to do wait in a queue. The loop gives the driver a slice of a few milliseconds at a
time; what all executions of a slice have changed is written in one transaction, and calls are made, and waiters told,
only after its commit. A parked execution is rows in the store: no task, no timer of its own. One kernel timer stands
at the earliest wake-up.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.timers import Timers
from emulator.services.workflow.definition.nodes import TaskStep
from emulator.services.workflow.engine import events
from emulator.services.workflow.engine.calls import Calls
from emulator.services.workflow.engine.commands import (
    Arrival,
    CallService,
    DeadlinePassed,
    Park,
    Replied,
    Reported,
    Result,
    Resumed,
    StopAsked,
    TimerFired,
)
from emulator.services.workflow.engine.decide import RUNTIME_ERROR, Events, decide, final_event
from emulator.services.workflow.engine.definitions import Definitions
from emulator.services.workflow.engine.react import react
from emulator.services.workflow.engine.recovery import claimable
from emulator.services.workflow.engine.run import Run, load_run
from emulator.services.workflow.engine.slice import Slice
from emulator.services.workflow.engine.snapshot import dump
from emulator.services.workflow.engine.state import Entry, ExecutionState, Strand, apply
from emulator.services.workflow.model import STATUS_OF, ExecutionId, LiveExecution
from emulator.services.workflow.store import Ending, EngineStore, Progress, Wakeup
from emulator.services.workflow.tokens import Mint
from emulator.storage.database import CommitFailed, Database

_log = logging.getLogger(__name__)

SLICE_S = 0.003
"""How long a slice decides before it writes; with the writing it holds the loop for about five milliseconds."""

TURN_EVENTS = 200
"""How many events one execution may record before the next one has its turn."""

HOT = 256
"""States kept in memory after their turn, for executions that come back soon."""

DUE_AT_ONCE = 64
EVENTS_PER_SNAPSHOT = 8
"""A snapshot is written when that many events per strand have come since the last: rare enough for wide forks, often
enough that few events are read again when the execution wakes."""

RECOVER_AFTER_MS = 1 * SECOND
LOADING_PAUSE_MS = 20

_WAKE = ("workflow", "wake")
_RECOVER = ("workflow", "recover")
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


class Surroundings(Protocol):
    """What the driver reaches beyond its store; all of it after the commit."""

    async def perform(self, run: Run, call: CallService) -> Result:
        """Make the call of an attempt."""
        ...

    def execution_ended(self, execution: ExecutionId) -> None:
        """Take note that an execution has ended."""
        ...

    def task_abandoned(self, run: Run, call: CallService) -> None:
        """Take note that a task of pattern ``sync`` was given up while what it started may still run."""
        ...


class Driver:
    """Runs the executions of one store."""

    def __init__(
        self,
        *,
        database: Database,
        store: EngineStore,
        clock: Clock,
        timers: Timers,
        mint: Mint,
        definitions: Definitions,
        surroundings: Surroundings,
    ) -> None:
        self._database = database
        self._store = store
        self._clock = clock
        self._timers = timers
        self._mint = mint
        self._definitions = definitions
        self._surroundings = surroundings
        self._calls = Calls(surroundings.perform, self.post)
        self._queue: OrderedDict[ExecutionId, list[Arrival | Resumed]] = OrderedDict()
        self._hot: OrderedDict[ExecutionId, Run] = OrderedDict()
        self._loading: dict[ExecutionId, list[Arrival | Resumed]] = {}
        self._armed_for: Millis | None = None
        self._wakeups_due = False
        self._scheduled = False
        self._closed = False
        database.on_rollback(self._transaction_lost)

    @property
    def is_idle(self) -> bool:
        """Whether every execution waits for a timer, a call or a report, or has ended."""
        return not self._scheduled and not self._queue and not self._loading

    # --- what others ask -----------------------------------------------------------------------------------------

    def recover(self) -> None:
        """Claim everything that was under way; harmless when done twice."""
        for execution, resumed in claimable(self._store):
            arrivals = self._queue.setdefault(execution, [])
            if resumed is not None:
                arrivals.append(resumed)
        self._wakeups_due = True
        self._kick()

    def start(self, execution: ExecutionId) -> None:
        """Queue an execution that has been accepted; its first step runs in a later tick."""
        self._queue.setdefault(execution, [])
        self._kick()

    def post(self, execution: ExecutionId, arrival: Arrival) -> None:
        """Queue something that has arrived for an execution."""
        self._queue.setdefault(execution, []).append(arrival)
        self._kick()

    def deliver(self, execution: ExecutionId, arrival: Arrival, told: ExecutionId | None = None) -> Events:
        """Record at once, in this tick's transaction, what *arrival* causes, and return the events.

        The execution goes on from there in a later tick. *told* is an ended execution whose callback this is.
        """
        part = Slice()
        recorded: Events = ()
        run = self._run_now(execution)
        if run is not None:
            now = self._clock.now()
            recorded = self._receive(run, arrival, now, part)
            if recorded:
                self._settle(run, parked=False, part=part)
        if told is not None:
            part.told.append(told)
        self._write(part)
        if run is not None and recorded and run.state.outcome is None:
            self.start(execution)
        return recorded

    def told(self, execution: ExecutionId) -> None:
        """Note that the callback of an ended execution needs no telling any more."""
        part = Slice()
        part.told.append(execution)
        self._write(part)

    def look(self, execution: ExecutionId) -> ExecutionState | None:
        """Return the present state of an open execution, for looking only; None when it has ended."""
        run = self._run_now(execution)
        return None if run is None else run.state

    def halt(self, executions: Iterable[ExecutionId]) -> None:
        """Let executions, marked so in the store, enter no further step."""
        for execution in executions:
            run = self._hot.get(execution)
            if run is not None:
                run.facts = replace(run.facts, halted=True)
            self.start(execution)

    def forget(self) -> None:
        """Drop everything in memory; the store has been emptied."""
        self._hot.clear()
        self._queue.clear()
        self._loading.clear()
        self._definitions.clear()
        self._calls.cancel_all()
        self._timers.cancel(_WAKE)
        self._armed_for = None

    async def close(self) -> None:
        """Stop; what is under way goes on at the next start."""
        self._closed = True
        self._timers.cancel(_WAKE)
        self._timers.cancel(_RECOVER)
        await self._calls.close()
        self._definitions.close()

    # --- slices --------------------------------------------------------------------------------------------------

    def _kick(self) -> None:
        if not self._scheduled and not self._closed:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._slice)

    def _slice(self) -> None:
        self._scheduled = False
        if self._closed:
            return
        part = Slice()
        now = self._clock.now()
        due = list(self._store.due(now, DUE_AT_ONCE)) if self._wakeups_due else []
        more_due = len(due) == DUE_AT_ONCE
        due.reverse()
        end = self._clock.monotonic() + SLICE_S
        paused = False
        while due or self._queue:
            if due:
                paused = not self._fire(due.pop(), now, part) or paused
            if self._queue:
                execution, arrivals = self._queue.popitem(last=False)
                self._turn(execution, arrivals, now, part)
            if self._clock.monotonic() >= end:
                break
        checked = self._wakeups_due
        self._wakeups_due = bool(due) or (checked and more_due)
        try:
            self._write(part)
        except Exception:
            _log.exception("what a slice of executions has done could not be written; it will be done again")
            return
        if checked and not self._wakeups_due:
            self._arm(Millis(now + LOADING_PAUSE_MS) if paused else self._store.next_wakeup())
        if self._wakeups_due or self._queue:
            self._kick()

    def _write(self, part: Slice) -> None:
        try:
            with self._database.unit():
                self._store.write(part)
        except BaseException:
            self._transaction_lost()  # memory is ahead of the store now
            raise
        self._arm(part.earliest())
        while len(self._hot) > HOT:
            self._hot.popitem(last=False)
        if part.has_effects():
            self._database.after_commit(lambda failure: self._act(part, failure))

    def _act(self, part: Slice, failure: CommitFailed | None) -> None:
        """Do what follows from a slice that is on disk."""
        if failure is not None or self._closed:
            return
        for execution, entry in part.cancelled:
            self._calls.cancel(execution, entry)
        for run, call in part.orphans:
            self._surroundings.task_abandoned(run, call)
        for ending in part.endings:
            self._calls.cancel_execution(ending.execution)
            self._surroundings.execution_ended(ending.execution)
        for run, call in part.dispatches:
            self._calls.make(run, call)

    def _transaction_lost(self) -> None:
        self._hot.clear()
        if not self._closed:
            self._timers.call_at(Millis(self._clock.now() + RECOVER_AFTER_MS), _RECOVER, self.recover)

    # --- wake-ups ------------------------------------------------------------------------------------------------

    def _arm(self, instant: Millis | None) -> None:
        if instant is not None and (self._armed_for is None or instant < self._armed_for):
            self._armed_for = instant
            self._timers.call_at(instant, _WAKE, self._wake)

    def _wake(self) -> None:
        self._armed_for = None
        self._wakeups_due = True
        self._kick()

    def _fire(self, wakeup: Wakeup, now: Millis, part: Slice) -> bool:
        """Bring a due wake-up to its execution; False when that has to wait for its definition."""
        if wakeup.execution in self._loading:
            return False
        arrival: Arrival
        if wakeup.kind == "deadline":
            part.wakeups[wakeup.execution, 0, "deadline"] = None
            arrivals: list[Arrival | Resumed] = []  # every turn looks at the deadline itself
        else:
            arrival = TimerFired(wakeup.entry, wakeup.kind, now)  # type: ignore[arg-type]  # the kinds the driver wrote
            arrivals = [arrival]
        arrivals = [*self._queue.pop(wakeup.execution, ()), *arrivals]
        self._turn(wakeup.execution, arrivals, now, part)
        return wakeup.execution not in self._loading

    # --- turns ---------------------------------------------------------------------------------------------------

    def _turn(self, execution: ExecutionId, arrivals: list[Arrival | Resumed], now: Millis, part: Slice) -> None:
        run: Run | None = None
        try:
            run = self._run(execution, arrivals)
            if run is None:
                return
            for arrival in arrivals:
                self._receive(run, arrival, now, part)
            if now >= run.deadline:
                self._receive(run, DeadlinePassed("The execution has reached its time-out."), now, part)
            parked = self._advance(run, now, part)
        except Exception:
            _log.exception("execution %d cannot go on", execution)
            self._give_up(execution, run, now, part)
            return
        self._settle(run, parked=parked, part=part)

    def _receive(self, run: Run, arrival: Arrival | Resumed, now: Millis, part: Slice) -> Events:
        state = run.state
        if isinstance(arrival, Resumed):
            found = state.find(arrival.entry)
            if found is not None:
                state.unpark(found[0])
            else:
                part.calls[run.id, arrival.entry] = None
            return ()
        recorded = react(run.facts, state, arrival)
        if isinstance(arrival, TimerFired):
            key = (run.id, arrival.entry, arrival.kind)
            if recorded or part.wakeups.get(key) is None:  # else it has been set anew in this very slice
                part.wakeups[key] = None
        self._record(run, recorded, now, part)
        if not isinstance(arrival, StopAsked | DeadlinePassed):
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
                self._record(run, decided, now, part)
                left -= len(decided)
        return False

    def _record(self, run: Run, recorded: Events, now: Millis, part: Slice) -> None:
        head = (run.id, run.world_id, now)
        flow, state = run.facts.flow, run.state
        for event in recorded:
            part.events.append(head + event[:7])
            apply(flow, state, event, now)
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
            if isinstance(entry.step, TaskStep) and entry.step.pattern == "sync":
                part.orphans.append((run, _call_of(entry, entry.step)))
        run.state.abandoned.clear()

    def _settle(self, run: Run, *, parked: bool, part: Slice) -> None:
        """Note how far an execution has come in its turn."""
        state = run.state
        if state.outcome is not None:
            self._end(run, part)
            return
        snapshot = None
        if state.last - run.snapshot_at >= EVENTS_PER_SNAPSHOT * len(state.strands):
            try:
                snapshot = dump(state)
                run.snapshot_at = state.last
            except ValueError:
                _log.warning("the state of execution %d cannot be written; its history will be read instead", run.id)
        if parked and not run.has_deadline:
            # an execution that never waits is over before its deadline row would matter
            part.wakeups[run.id, 0, "deadline"] = (run.world_id, run.deadline)
            run.has_deadline = run.has_rows = True
        part.progress.append(Progress(not parked, state.last, snapshot, run.id))
        self._hot[run.id] = run
        if not parked:
            self._queue.setdefault(run.id, [])

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
        self._hot.pop(run.id, None)

    def _give_up(self, execution: ExecutionId, run: Run | None, now: Millis, part: Slice) -> None:
        """End an execution that the engine cannot handle, so that it is neither lost nor tried for ever."""
        self._hot.pop(execution, None)
        live = self._store.live(execution)
        if live is None:
            return
        state = ExecutionState()
        state.last = run.state.last if run is not None else live.last_event
        cause = "The engine cannot go on with this execution; the log of the emulator tells why."
        event = final_event(state, events.EXECUTION_FAILED, RUNTIME_ERROR, cause)
        part.events.append((execution, live.world_id, now, *event[:7]))
        part.endings.append(Ending("Failed", now, event.id, "", RUNTIME_ERROR, cause, execution))
        part.cleared.append(execution)

    # --- executions in memory ------------------------------------------------------------------------------------

    def _run(self, execution: ExecutionId, arrivals: list[Arrival | Resumed]) -> Run | None:
        """Return an open execution; None when it has ended, or has to wait for its definition to be parsed."""
        run = self._hot.get(execution)
        if run is not None:
            self._hot.move_to_end(execution)
            return run
        if execution in self._loading:
            self._loading[execution] += arrivals
            return None
        live = self._store.live(execution)
        if live is None:
            return None
        flow = self._definitions.find(live.definition_id)
        if flow is None:
            self._loading[execution] = arrivals
            self._calls.tasks.spawn(self._load(live), f"definition of {execution}")
            return None
        return load_run(self._store, live, flow, self._mint)

    def _run_now(self, execution: ExecutionId) -> Run | None:
        run = self._hot.get(execution)
        if run is None:
            live = self._store.live(execution)
            if live is None:
                return None
            run = load_run(self._store, live, self._definitions.find_now(live.definition_id), self._mint)
            self._hot[execution] = run
        return run

    async def _load(self, live: LiveExecution) -> None:
        """Parse a long definition beside the loop, then queue the execution again."""
        try:
            await self._definitions.load(live.definition_id)
        finally:
            arrivals = self._loading.pop(live.id, [])
            self._queue.setdefault(live.id, []).extend(arrivals)
            if not self._closed:
                self._kick()


def _call_of(entry: Entry, step: TaskStep) -> CallService:
    return CallService(entry.id, entry.retries, step, entry.input, entry.input_text)
