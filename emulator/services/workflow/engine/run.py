"""Executions in memory while they have something to do, the calls they make, and their turns.

In a turn what has arrived is recorded, then the execution goes on until every strand is parked. Everything a turn
changes is collected in a `Slice`; nothing is written or done here.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from emulator.kernel.clock import SECOND, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.tasks import TaskGroup
from emulator.kernel.turnstile import Turnstile
from emulator.services.workflow.engine import events
from emulator.services.workflow.engine.decide import RUNTIME_ERROR, call_of, decide, final_event, react
from emulator.services.workflow.engine.history import line_of
from emulator.services.workflow.engine.json_text import parse_object
from emulator.services.workflow.engine.language import (
    STEP_TIMERS,
    Arrival,
    CallService,
    DeadlinePassed,
    Events,
    Facts,
    Park,
    Program,
    Replied,
    Reported,
    Result,
    Resumed,
    StopAsked,
    Submitted,
    TimerFired,
)
from emulator.services.workflow.engine.model import Step, Task
from emulator.services.workflow.engine.notation import DOCUMENTED
from emulator.services.workflow.engine.snapshot import dump, load
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.engine.store import Changes, Ending, EngineStore, Progress, Wakeup, orphaned
from emulator.services.workflow.engine.tasks import befallen_result
from emulator.services.workflow.engine.tokens import Mint
from emulator.services.workflow.limits import EXECUTION_S, EXPRESS_S, Bounds
from emulator.services.workflow.model import STATUS_OF, ExecutionId, LiveExecution, Status, TenantId

if TYPE_CHECKING:
    from emulator.services.workflow.engine.breakpoints import Watch

_log = logging.getLogger(__name__)


class Run:
    """An execution's fixed facts and its state.

    ``deadline`` is when it times out. ``has_rows``: wake-ups or calls may be stored for it, ``has_deadline``: so is
    the one for the deadline. ``snapshot_at`` is the id of the event its stored snapshot was made after (0: none),
    ``snapshot_chars`` how long that is, ``chars_since`` how long the details of all later events. ``watch`` is set
    while it is being debugged.
    """

    __slots__ = (
        "callback_token",
        "chars_since",
        "deadline",
        "facts",
        "has_deadline",
        "has_rows",
        "id",
        "snapshot_at",
        "snapshot_chars",
        "started_at",
        "state",
        "tenant",
        "tenant_id",
        "trace",
        "watch",
    )  # fmt: skip

    def __init__(self, live: LiveExecution, facts: Facts, state: ExecutionState, snapshot_at: int) -> None:
        self.id: ExecutionId = live.id
        self.tenant: Tenant = live.tenant
        self.tenant_id: TenantId = live.tenant_id
        self.started_at = live.started_at
        self.callback_token = live.callback_token
        self.trace = live.trace
        self.facts = facts
        self.state = state
        longest_s = EXPRESS_S if facts.is_express else EXECUTION_S
        timeout_s = facts.program.timeout_s if facts.program.timeout_s is not None else longest_s
        self.deadline = Millis(live.started_at + min(timeout_s, longest_s) * SECOND)
        self.has_rows = live.last_event > 0
        self.has_deadline = False
        self.snapshot_at = snapshot_at
        self.snapshot_chars = len(live.snapshot or "") if snapshot_at else 0
        self.chars_since = 0
        self.watch = None if live.watch is None else _watch(live.watch)

    def key(self, entry: int, attempt: int) -> str:
        """Return the idempotency key of an attempt's effect; the same after a restart."""
        return key_of(self.tenant, self.id, self.started_at, entry, attempt)


def key_of(tenant: Tenant, execution: ExecutionId, started_at: Millis, entry: int, attempt: int) -> str:
    """Return the idempotency key of an attempt's effect."""
    return f"{tenant.account}-{execution}-{started_at}-{entry}-{attempt}"


def _watch(text: str) -> "Watch | None":
    from emulator.services.workflow.engine.breakpoints import Watch  # here, because few executions are debugged

    return Watch.load(text)


def load_run(store: EngineStore, live: LiveExecution, program: Program, mint: Mint, bounds: Bounds) -> Run:
    """Bring an execution back to memory: its snapshot, and the events after it.

    Raises: NotAnObject, LookupError or ValueError when what is stored makes no sense.
    """
    if live.map_step is not None:
        program = program.processor(live.map_step)

    identity = (live.tenant, live.flow_name, live.name, live.started_at)
    facts = Facts(
        program=program,
        flow_name=live.flow_name,
        execution_name=live.name,
        input=parse_object(live.input) if live.last_event == 0 else {},
        token=lambda entry, attempt: mint.make(*identity, entry, attempt),
        halted=live.halted,
        bounds=bounds,
        chance=lambda number: mint.chance(*identity, number),
        role_arn=live.role_arn,
        is_express=live.is_express or bool(live.is_express_child),
    )
    state = (load(program, live.snapshot) if live.snapshot is not None else None) or ExecutionState()
    snapshot_at = state.last
    run = Run(live, facts, state, snapshot_at)
    if live.last_event > snapshot_at:
        for row in store.events_after(live.id, snapshot_at):
            events.read(row, program.notation).apply(program, state, row.at)
            run.chars_since += len(row.detail)
    return run


class Ended(NamedTuple):
    """An execution that has ended; ``halted``: its flow has been deleted."""

    id: ExecutionId
    flow_name: str
    name: str
    status: Status
    callback_token: str
    trace: str
    halted: bool


class Slice(Changes):
    """What a slice has changed, and the effects that follow its commit.

    ``ended`` are the executions of ``endings``, ``over`` their numbers: the store still has them as open, and another
    of their wake-ups may be due in the same slice. ``orphans`` are abandoned sync tasks, whose child executions and
    queued calls stop with them. ``entered`` are the steps that were entered, ``express`` the ends of express executions
    with how long each took in milliseconds; both are metered.
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
        """Whether something follows the commit."""
        return bool(self.dispatches or self.cancelled or self.orphans or self.ended)


class Calls:
    """Makes calls and posts what they bring.

    *perform* makes one call; *post* is given the `Replied` of each that was not called off.
    """

    def __init__(
        self,
        perform: Callable[[Run, CallService], Awaitable[Result]],
        post: Callable[[ExecutionId, Arrival], None],
        turns: Turnstile,
    ) -> None:
        self._turns = turns
        self.tasks = TaskGroup("workflow")
        self._perform = perform
        self._post = post
        self._making: dict[ExecutionId, dict[int, tuple[int, asyncio.Task[None]]]] = {}

    def make(self, run: Run, call: CallService) -> None:
        """Start a call, unless that very attempt is being made."""
        if not self.is_making(run.id, call):
            task = self.tasks.spawn(self._make(run, call), f"call {run.key(call.entry, call.attempt)}")
            self._making.setdefault(run.id, {})[call.entry] = (call.attempt, task)

    def is_making(self, execution: ExecutionId, call: CallService) -> bool:
        """Whether that attempt is being made."""
        making = self._making.get(execution, {}).get(call.entry)
        return making is not None and making[0] == call.attempt

    def cancel(self, execution: ExecutionId, entry: int) -> None:
        """Call off the call of an entry, if there is one."""
        making = self._making.get(execution, {}).get(entry)
        if making is not None:
            making[1].cancel()

    def cancel_execution(self, execution: ExecutionId) -> None:
        """Call off every call of an execution."""
        for _, task in self._making.get(execution, {}).values():
            task.cancel()

    def cancel_all(self) -> None:
        """Call off every call."""
        for execution in list(self._making):
            self.cancel_execution(execution)

    async def close(self) -> None:
        """Call off every call and wait until all have ended."""
        await self.tasks.close()

    async def _make(self, run: Run, call: CallService) -> None:
        turns = self._turns
        try:
            result = await self._perform(run, call) if not turns.active else await self._in_turn(run, call)
        except Exception:
            _log.exception("the call of step %r, execution %s, failed inside", call.step.name, run.facts.execution_name)
            result = Result(error="FnF.RuntimeError", cause="The call could not be made.", refused=True)
        finally:
            self._done(run.id, call)
        self._post(run.id, Replied(call.entry, call.attempt, result))

    async def _in_turn(self, run: Run, call: CallService) -> Result:
        """Make a call in its turn, and take its reply in another one."""
        turns = self._turns
        name = f"{run.facts.flow_name}/{run.facts.execution_name}/{call.step.name}#{call.attempt + 1}"
        try:
            result = await turns.made("call", name, partial(self._perform, run, call), partial(befallen_result, call))
        except BaseException:
            turns.over(name)
            raise
        await turns.turn("reply", name)
        return result

    def _done(self, execution: ExecutionId, call: CallService) -> None:
        making = self._making.get(execution)
        if making is not None and call.entry in making and making[call.entry][0] == call.attempt:
            del making[call.entry]
            if not making:
                del self._making[execution]


TURN_EVENTS = 200
"""How many events one execution may record before the next one has its turn."""

EVENTS_PER_SNAPSHOT = 8
"""A snapshot is written when that many events per strand have come since the last, and more text than it had: rare
enough for wide forks and long ones, whose results it holds, often enough that little is read again when the execution
wakes."""

_ENDS_ATTEMPT = (events.TaskSucceeded, events.AttemptFailure)
_ENDS_CALL = (*_ENDS_ATTEMPT, events.Submission)


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
            if isinstance(event, _ENDS_CALL):
                part.calls[run.id, entry] = None
            if isinstance(event, _ENDS_ATTEMPT) and not isinstance(arrival, TimerFired):
                part.wakeups[run.id, entry, "timeout"] = None
            if isinstance(event, events.TaskTimedOut):
                part.cancelled.append((run.id, entry))

    def _advance(self, run: Run, now: Millis, part: Slice) -> bool:
        """Let an execution go on until every strand is parked; False when its turn ends before that."""
        facts, state = run.facts, run.state
        left = TURN_EVENTS
        while left > 0:
            decided = decide(facts, state)
            if decided is None:
                return True
            if isinstance(decided, Park):
                self._park(run, decided, part)
            else:
                decided = self._admitted(run, decided)
                self.record(run, decided, now, part)
                left -= len(decided)
        return False

    def _admitted(self, run: Run, decided: Events) -> Events:
        """Return the events that breakpoints let through; a strand that they stop is parked."""
        if run.watch is None or not decided:
            return decided
        admitted = run.watch.admitted(run.state, decided)
        strand = run.state.strands.get(decided[0].strand)
        if not admitted and strand is not None:
            run.state.park(strand)
        return admitted

    def record(self, run: Run, recorded: Events, now: Millis, part: Slice) -> None:
        """Record events, which the state moves on by."""
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
            self._abandon(run, part)

    def _park(self, run: Run, park: Park, part: Slice) -> None:
        run.state.park(run.state.strands[park.strand])
        for command in park.commands:
            run.has_rows = True
            if not isinstance(command, CallService):
                part.wakeups[run.id, command.entry, command.kind] = (run.tenant_id, command.at)
            elif not self._calls.is_making(run.id, command):
                part.calls[run.id, command.entry] = (run.tenant_id, command.attempt)
                part.dispatches.append((run, command))

    def _abandon(self, run: Run, part: Slice) -> None:
        """Take back what entries wait for that were given up with their branch or execution."""
        for entry in run.state.abandoned:
            part.calls[run.id, entry.id] = None
            part.cancelled.append((run.id, entry.id))
            for kind in STEP_TIMERS:
                part.wakeups[run.id, entry.id, kind] = None
            if isinstance(entry.step, Task) and entry.step.pattern == "sync":
                call = call_of(entry, entry.step)
                part.calls[run.id, entry.id] = (run.tenant_id, orphaned(call.attempt))
                part.orphans.append((run, call))
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
            part.wakeups[run.id, 0, "deadline"] = (run.tenant_id, run.deadline)
            run.has_deadline = run.has_rows = True
        part.progress.append(Progress(not parked, state.last, snapshot, run.id))

    def _end(self, run: Run, part: Slice) -> None:
        state = run.state
        assert state.outcome is not None
        status = STATUS_OF[state.outcome]
        part.endings.append(
            Ending(status.value, state.at, state.last, state.output_text, state.error, state.cause, run.id)
        )
        facts = run.facts
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
    """End an execution that the engine cannot handle, so that it is neither lost nor tried for ever."""
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
    """Return wake-ups, earliest first, with those of one time in the order in which they go."""
    ordered: list[Wakeup] = []
    for _, together in groupby(due, lambda wakeup: wakeup.fire_at):
        ordered += turns.arranged(
            "execution", list(together), lambda each: f"{each.execution}/{each.entry} {each.kind}"
        )
    return ordered
