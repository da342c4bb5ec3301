"""An execution that is driven from outside: its own time, no store, no effects.

A drive takes the same decisions as a stored execution. It stops where it waits for an arrival: the answer of a call, a
report, a timer. Arrivals come from mocks (`cases`), a recorded history (`replay`) or real calls (`flows.lone_steps`); a
fork (`executions.forks`) needs none, as it only follows the events of another execution. Time is the drive's own and
jumps to the next arrival, so that an execution of a year takes a millisecond.
"""

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Any, NamedTuple, Protocol, assert_never

from emulator.kernel.clock import SECOND, Millis
from emulator.services.workflow.engine.decide import retry_at, time_out_at
from emulator.services.workflow.engine.events import Event, ExecutionStarted, read
from emulator.services.workflow.engine.execution import Execution
from emulator.services.workflow.engine.history import Recorded
from emulator.services.workflow.engine.json_text import with_text
from emulator.services.workflow.engine.language import (
    TIMERS,
    Arrival,
    CallService,
    Command,
    DeadlinePassed,
    Events,
    Facts,
    StepArrival,
    StepTimer,
    TimerFired,
    TimerKind,
    WakeAt,
)
from emulator.services.workflow.engine.model import Entry, Phase, Task
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.limits import EXECUTION_S


class Observer(Protocol):
    """Is called with every event before and after it is applied to the state."""

    def before(self, state: ExecutionState, event: Event) -> None:
        """React to *event*, which is about to be applied to *state*."""
        ...

    def after(self, state: ExecutionState, event: Event) -> None:
        """React to *event*, which has just been applied and led to *state*."""
        ...


class Due(NamedTuple):
    """An arrival at a time, dropped if its attempt or step has ended by then."""

    at: Millis
    order: int
    arrival: StepArrival


class Drive(Execution):
    """One execution, which records itself. ``calls`` are the calls to make, oldest first, which callers remove."""

    def __init__(self, facts: Facts, now: Millis, observer: Observer | None = None) -> None:
        super().__init__(facts, ExecutionState())
        self.now = now
        self.began = now
        self.history: list[Event] = []
        self.times: list[Millis] = []
        self.calls: list[CallService] = []
        self._observer = observer
        self._wakeups: dict[tuple[int, StepTimer], Millis] = {}
        self._due: list[Due] = []
        self._posted = 0

    @property
    def is_over(self) -> bool:
        """Whether the execution has ended."""
        return self.state.outcome is not None

    def begin(self, step_input: Any) -> None:
        """Record the start of the execution with *step_input*, which may differ from ``facts.input``."""
        self.record((ExecutionStarted(with_text(step_input)),))

    def advance(self) -> None:
        """Record decisions until every strand waits for something."""
        self.go_on(self)

    def arrive(self, arrival: Arrival) -> Events:
        """Deliver an arrival now; return the events that it caused."""
        return self.take(self, arrival)

    def follow(self, recorded: Recorded) -> None:
        """Record an event that another execution has recorded, at its time.

        Raises: as `Execution.follow`, and what the observer raises.
        """
        self.now = recorded.at
        self.record((read(recorded, self.facts.program.notation),))

    def record(self, recorded: Events) -> None:
        """Add events to the history, and apply each to the state."""
        for event in recorded:
            if self._observer is not None:
                self._observer.before(self.state, event)
            self.history.append(event)
            self.times.append(self.now)
            event.apply(self.facts.program, self.state, self.now)
            if self._observer is not None:
                self._observer.after(self.state, event)
            if self.is_over:
                return

    def ask(self, command: Command) -> None:
        """Add a call to ``calls``, or a timer to those that `wake` fires."""
        if isinstance(command, CallService):
            self.calls.append(command)
        else:
            self._wakeups[command.entry, command.kind] = command.at

    def post(self, delay_ms: int, arrival: StepArrival) -> None:
        """Schedule an arrival after a delay."""
        self._posted += 1
        heappush(self._due, Due(Millis(self.now + delay_ms), self._posted, arrival))

    def wake(self, *, until: frozenset[TimerKind] = frozenset(TIMERS)) -> bool:
        """Deliver the next posted arrival or timer, of timers only the kinds in *until*; return False without any."""
        while self._due and not self._is_awaited(self._due[0].arrival):
            heappop(self._due)
        timer = self._next_timer(until)
        deadline = self._deadline() if "deadline" in until else None
        posted_at = self._due[0].at if self._due else None
        earliest = min((at for at in (timer and timer.at, posted_at, deadline) if at is not None), default=None)
        if earliest is None:
            return False
        self.now = Millis(max(self.now, earliest))
        if deadline == earliest:
            self.arrive(DeadlinePassed("The execution has exceeded its timeout."))
        elif posted_at == earliest:
            self.arrive(heappop(self._due).arrival)
        elif timer is not None:
            self.fire(timer.entry, timer.kind)
        return True

    def fire(self, entry: int, kind: StepTimer) -> Events:
        """Fire a timer of an entry now."""
        at = self._wakeups.pop((entry, kind), self.now)
        self.now = Millis(max(self.now, at))
        return self.arrive(TimerFired(entry, kind, self.now))

    def timers(self) -> list[WakeAt]:
        """Return the timers that some step still waits for, the earliest first."""
        live = {entry.id: entry for entry in self.entries()}
        there = [
            WakeAt(number, kind, at)
            for (number, kind), at in self._wakeups.items()
            if number in live and _is_due(live[number], kind, at)
        ]
        return sorted(there, key=lambda each: (each.at, each.entry))

    def entries(self) -> Iterable[Entry]:
        """Yield the steps that are under way, the innermost of each strand."""
        for strand in self.state.strands.values():
            entry = strand.scopes[-1].entry
            if entry is not None:
                yield entry

    def _next_timer(self, kinds: frozenset[TimerKind]) -> WakeAt | None:
        return next((each for each in self.timers() if each.kind in kinds), None) if self._wakeups else None

    def _deadline(self) -> Millis | None:
        timeout_s = self.facts.program.timeout_s
        return None if timeout_s is None else Millis(self.began + min(timeout_s, EXECUTION_S) * SECOND)

    def _is_awaited(self, arrival: StepArrival) -> bool:
        live = self.state.find(arrival.entry)
        return live is not None and (isinstance(arrival, TimerFired) or live[1].retries == arrival.attempt)


def _is_due(entry: Entry, kind: StepTimer, at: Millis) -> bool:
    """Whether a timer belongs to the present phase of *entry*, not to an attempt or a pause that has ended."""
    match kind:
        case "wait":
            return entry.phase is Phase.STARTED
        case "retry":
            rules, _ = entry.step.policies()
            return entry.phase in {Phase.TROUBLED, Phase.FAILING} and at == retry_at(
                rules, entry.error, entry.retries, entry.at
            )
        case "timeout":
            timeout_s = entry.step.timeout_of(entry) if isinstance(entry.step, Task) else None
            is_called = entry.phase in {Phase.CALLING, Phase.SUBMITTED}
            return is_called and timeout_s is not None and at == time_out_at(timeout_s, entry)
        case _:
            assert_never(kind)


Answering = Callable[[Drive, CallService], None]
"""Posts the result of a call by `Drive.post`; posts nothing for a call that is never answered."""


def run(drive: Drive, answering: Answering) -> None:
    """Drive an execution to its end, or until it waits for an arrival that never comes."""
    while True:
        drive.advance()
        while drive.calls:
            answering(drive, drive.calls.pop(0))
        if drive.is_over or not drive.wake():
            return
