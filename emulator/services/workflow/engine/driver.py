"""Drives executions: asks for decisions, appends the events, commits, then acts. The only place with effects.

Executions that can go on wait in a queue. The loop gives the driver a slice of a few milliseconds at a time; the
changes of all executions of a slice are written in one transaction, and calls are made, and waiters woken, only after
its commit. A parked execution is rows in the store: no asyncio task, no timer of its own. One kernel timer is set for
the earliest wake-up.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, assert_never

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.frozen import replace
from emulator.kernel.timers import Timers
from emulator.kernel.tracing import shared_context
from emulator.services.workflow.engine.calls import Calls
from emulator.services.workflow.engine.effects import Effects, Outside
from emulator.services.workflow.engine.execution import Execution
from emulator.services.workflow.engine.language import Arrival, Events, Programs, Resumed, TimerFired
from emulator.services.workflow.engine.model import Step
from emulator.services.workflow.engine.run import Run, load_run
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.engine.store import EngineStore, Wakeup
from emulator.services.workflow.engine.tokens import Mint
from emulator.services.workflow.engine.turns import Slice, Turn, give_up, in_order
from emulator.services.workflow.limits import Bounds
from emulator.services.workflow.model import ExecutionId, LiveExecution
from emulator.storage.database import CommitFailed, Database

if TYPE_CHECKING:
    from emulator.services.workflow.engine.breakpoints import Watch

_log = logging.getLogger(__name__)

SLICE_S = 0.0025
"""How long a slice decides before it writes; with the writing it holds the loop for about five milliseconds."""

SLICE_EXECUTIONS = 16
"""How many executions have a turn in a slice while a schedule fixes the order, which must not depend on speed."""

HOT = 256
"""How many states stay in memory after their turn, for executions that go on soon."""

DUE_AT_ONCE = 64
RECOVER_AFTER_MS = 1 * SECOND
LOADING_PAUSE_MS = 20

_WAKE = ("workflow", "wake")
_RECOVER = ("workflow", "recover")


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
        programs: Programs,
        outside: Outside,
        bounds: Bounds,
    ) -> None:
        self._database = database
        self._store = store
        self._clock = clock
        self._timers = timers
        self._order = timers.turns
        self._mint = mint
        self._programs = programs
        self._outside = outside
        self._bounds = bounds
        self._calls = Calls(outside.perform, self.post, timers.turns)
        self._effects = Effects(database, store, self._calls, outside, clock, timers.turns)
        self._queue: OrderedDict[ExecutionId, list[Arrival | Resumed]] = OrderedDict()
        self._hot: OrderedDict[ExecutionId, Run] = OrderedDict()
        self._loading: dict[ExecutionId, list[Arrival | Resumed]] = {}
        self._armed_for: Millis | None = None
        self._wakeups_due = False
        self._scheduled = False
        self._closed = False
        self._suspended = False
        self._forgotten = 0
        self._context = shared_context()
        self.entered: dict[tuple[str, type[Step]], list[Any]] = {}
        """Kind and number of the steps that standard executions have entered since the start, by flow."""
        self.express: dict[str, list[int]] = {}
        """Number and milliseconds of the express executions that have ended since the start, by flow."""
        database.on_rollback(self._transaction_lost)

    @property
    def calls_under_way(self) -> int:
        """How many calls of tasks are being made."""
        return len(self._calls.tasks)

    @property
    def ended(self) -> dict[str, int]:
        """How many executions have ended since the start, by status."""
        return self._effects.ended

    @property
    def is_idle(self) -> bool:
        """Whether every execution waits for a timer, a call or a report, or has ended."""
        return not self._scheduled and not self._queue and not self._loading and self._effects.is_idle

    def recover(self) -> None:
        """Queue everything that was under way, at start or after a lost transaction; idempotent.

        Nothing is folded or run here. Executions that can go on are queued, calls without a recorded result are
        requested again by their entry, wake-ups are in the store with their absolute times.
        """
        if self._suspended:
            return
        for execution in self._store.ready():
            self._queue.setdefault(execution, [])
        for execution, entry in self._store.pending_calls():
            self._queue.setdefault(execution, []).append(Resumed(entry))
        self._effects.recover(self._mint)
        self._wakeups_due = True
        self._kick()

    def start(self, execution: ExecutionId, live: LiveExecution | None = None) -> None:
        """Queue an execution that has been accepted; its first step runs in a later turn of the loop.

        *live* is its record in the store, read later when it is None.
        """
        if live is not None and len(self._queue) < HOT:  # else it would be dropped before its turn
            program = self._programs.known(live.definition_id)
            if program is not None:
                self._hot[execution] = load_run(self._store, live, program, self._mint, self._bounds)
        self._queue.setdefault(execution, [])
        self._kick()

    def post(self, execution: ExecutionId, arrival: Arrival) -> None:
        """Queue an arrival for an execution."""
        self._queue.setdefault(execution, []).append(arrival)
        self._kick()

    def deliver(self, execution: ExecutionId, arrival: Arrival, reported: ExecutionId | None = None) -> Events:
        """Record at once, in the current transaction, the events that *arrival* causes, and return them.

        Arrivals posted before are recorded first: the reply to a submission before the report of its end. The execution
        goes on in a later turn of the loop. *reported* is an ended execution whose callback *arrival* is.
        """
        part = Slice()
        recorded: Events = ()
        if self._order.active:
            self._order.touch(f"execution {execution}")
        run = self._run_now(execution)
        if run is not None:
            now = self._clock.now()
            posted = self._queue.get(execution, [])
            turn = Turn(run, now, part, self._calls)
            earlier = [turn.receive(each) for each in posted]
            posted.clear()
            recorded = turn.receive(arrival)
            if recorded or any(earlier):
                self._settle(run, turn, parked=False)
        if reported is not None:
            part.reported.append(reported)
        self._write(part)
        if self._queue:
            self._kick()
        return recorded

    def intervene(self, execution: ExecutionId, act: Callable[[Execution], Events]) -> bool:
        """Call *act* with an open execution, whose watch it may change, and record the events that it returns.

        The execution goes on in a later turn of the loop. Returns False when it has ended.

        Raises: whatever *act* raises, with nothing changed.
        """
        run = self._run_now(execution)
        if run is None:
            return False
        part = Slice()
        turn = Turn(run, self._clock.now(), part, self._calls)
        turn.record(act(run))
        self._settle(run, turn, parked=False)
        self._write(part)
        self._kick()
        return True

    def callback_done(self, execution: ExecutionId) -> None:
        """Record that the end of an execution need not be reported any more."""
        part = Slice()
        part.reported.append(execution)
        self._write(part)

    def look(self, execution: ExecutionId) -> ExecutionState | None:
        """Return the present state of an open execution, not to be changed; None when it has ended."""
        run = self._run_now(execution)
        return None if run is None else run.state

    def watched(self, execution: ExecutionId) -> "Watch | None":
        """Return the watch of an open execution, not to be changed; None when it is not debugged, or has ended."""
        run = self._run_now(execution)
        return None if run is None else run.watch

    def waiting_for_reports(self, limit: int) -> list[tuple[str, str, str]]:
        """Return the steps of up to *limit* open executions that wait for a task token: flow, execution, step."""
        rows = []
        for execution, flow, name in self._store.submitted(limit):
            state = self.look(execution)
            rows += [(flow, name, entry.step.name) for entry in state.submitted()] if state is not None else []
        return rows

    def tokens(self, execution: ExecutionId) -> list[tuple[str, str]]:
        """Return the steps of an open execution that wait for a report, each with its task token."""
        run = self._run_now(execution)
        if run is None:
            return []
        return [(entry.step.name, run.facts.token(entry.id, entry.retries)) for entry in run.state.submitted()]

    def halt(self, executions: Iterable[ExecutionId]) -> None:
        """End executions, marked so in the store, as stopped: those with a call under way when it has returned."""
        for execution in executions:
            run = self._hot.get(execution)
            if run is not None:
                run.facts = replace(run.facts, halted=True)
            self.start(execution)

    async def suspend(self) -> None:
        """Drop everything in memory, and take no step until `resume`: the tables are about to be replaced.

        The calls have ended when it returns.
        """
        self._suspended = True
        self.forget()
        await self._calls.close()

    def resume(self) -> None:
        """Drop everything in memory again, and take steps from now on; `recover` queues what the tables hold."""
        self.forget()
        self._suspended = False

    def forget(self) -> None:
        """Drop everything in memory, including effects of uncommitted changes, because the store was emptied."""
        self._forgotten += 1
        self._hot.clear()
        self._queue.clear()
        self._loading.clear()
        self._effects.forget()
        self._programs.clear()
        self._calls.cancel_all()
        self._timers.cancel(_WAKE)
        self._armed_for = None

    async def close(self) -> None:
        """Stop driving; open executions go on at the next start of the emulator."""
        self._closed = True
        self._effects.close()
        self._timers.cancel(_WAKE)
        self._timers.cancel(_RECOVER)
        await self._calls.close()
        self._programs.close()

    def _kick(self) -> None:
        if not self._scheduled and not self._closed and not self._suspended:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._slice, context=self._context)

    def _slice(self) -> None:
        stopped = self._closed or self._suspended
        if not stopped and not self._database.is_writable(self._slice):
            return
        self._scheduled = False
        if stopped:
            return
        part = Slice()
        now = self._clock.now()
        due = list(self._store.due(now, DUE_AT_ONCE)) if self._wakeups_due else []
        more_due = len(due) == DUE_AT_ONCE
        if self._order.active:
            due = in_order(self._order, due)
        due.reverse()
        end = self._clock.monotonic() + SLICE_S
        left = SLICE_EXECUTIONS
        paused = False
        while due or self._queue:
            if due:
                paused = not self._fire(due.pop(), now, part) or paused
            if self._queue:
                execution, arrivals = self._queue.popitem(last=False)
                self._turn(execution, arrivals, now, part)
            left -= 1
            if left <= 0 if self._order.active else self._clock.monotonic() >= end:
                break
        checked = self._wakeups_due
        self._wakeups_due = bool(due) or (checked and more_due)
        try:
            self._write(part)
        except Exception:
            _log.exception("steps of executions could not be written and will be repeated")
            return
        if checked and not self._wakeups_due:
            self._arm(Millis(now + LOADING_PAUSE_MS) if paused else self._store.next_wakeup())
        if self._wakeups_due or self._queue:
            self._kick()

    def _write(self, part: Slice) -> None:
        with self._database.unit():
            self._store.write(part)
        self._meter(part)
        self._arm(part.earliest())
        while len(self._hot) > HOT:
            self._hot.popitem(last=False)
        if part.has_effects():
            self._database.after_commit(partial(self._follow, part, self._forgotten))

    def _follow(self, part: Slice, forgotten: int, failure: CommitFailed | None) -> None:
        """Carry out the effects of a committed slice, unless `forget` was called meanwhile."""
        if failure is None and forgotten == self._forgotten:
            self._effects.follow(part)

    def _meter(self, part: Slice) -> None:
        for facts, step in part.entered:
            if not facts.is_express:
                key = facts.flow_name, type(step)
                known = self.entered.get(key) or self.entered.setdefault(key, [step.kind, 0])
                known[1] += 1
        for flow, took_ms in part.express:
            ended = self.express.setdefault(flow, [0, 0])
            ended[0] += 1
            ended[1] += took_ms

    def _transaction_lost(self) -> None:
        self._hot.clear()
        if not self._closed:
            self._timers.call_at(Millis(self._clock.now() + RECOVER_AFTER_MS), _RECOVER, self.recover)

    def _arm(self, at: Millis | None) -> None:
        if at is not None and (self._armed_for is None or at < self._armed_for):
            self._armed_for = at
            self._timers.call_at(at, _WAKE, self._wake)

    def _wake(self) -> None:
        self._armed_for = None
        self._wakeups_due = True
        self._kick()

    def _fire(self, wakeup: Wakeup, now: Millis, part: Slice) -> bool:
        """Deliver a due wake-up to its execution; return False when its definition has to be parsed first."""
        if wakeup.execution in self._loading:
            return False
        arrivals = self._queue.pop(wakeup.execution, [])
        match wakeup.kind:
            case "deadline":  # every turn looks at the deadline itself
                part.wakeups[wakeup.execution, 0, "deadline"] = None
            case "wait" | "retry" | "timeout":
                arrivals.append(TimerFired(wakeup.entry, wakeup.kind, now))
            case _:
                assert_never(wakeup.kind)
        self._turn(wakeup.execution, arrivals, now, part)
        return wakeup.execution not in self._loading

    def _turn(self, execution: ExecutionId, arrivals: list[Arrival | Resumed], now: Millis, part: Slice) -> None:
        if execution in part.over:
            return
        run: Run | None = None
        if self._order.active:
            self._order.touch(f"execution {execution}")
        try:
            run = self._run(execution, arrivals)
            if run is None:
                return
            turn = Turn(run, now, part, self._calls)
            parked = turn.take(arrivals)
        except Exception:
            _log.exception("execution %d cannot go on", execution)
            self._hot.pop(execution, None)
            live = self._store.live(execution)
            if live is not None:
                give_up(live, run, now, part)
            return
        self._settle(run, turn, parked=parked)

    def _settle(self, run: Run, turn: Turn, *, parked: bool) -> None:
        turn.settle(parked=parked)
        if run.state.outcome is not None:
            self._hot.pop(run.id, None)
            return
        self._hot[run.id] = run
        if not parked:
            self._queue.setdefault(run.id, [])

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
        program = self._programs.find(live.definition_id)
        if program is None:
            self._loading[execution] = arrivals
            self._calls.tasks.spawn(self._load(live), f"definition of {execution}")
            return None
        return load_run(self._store, live, program, self._mint, self._bounds)

    def _run_now(self, execution: ExecutionId) -> Run | None:
        run = self._hot.get(execution)
        if run is None:
            live = self._store.live(execution)
            if live is None:
                return None
            run = load_run(self._store, live, self._programs.find_now(live.definition_id), self._mint, self._bounds)
            self._hot[execution] = run
        return run

    async def _load(self, live: LiveExecution) -> None:
        """Parse a long definition beside the loop, then queue the execution again."""
        try:
            await self._programs.load(live.definition_id)
        finally:
            arrivals = self._loading.pop(live.id, [])
            self._queue.setdefault(live.id, []).extend(arrivals)
            if not self._closed:
                self._kick()
