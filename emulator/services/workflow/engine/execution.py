"""The loop of one execution: decide events, record them, take arrivals, stop at breakpoints.

`run.Run` is an execution in the store, in real time; `rehearsal.drive.Drive` is one with a time of its own and without
a store, for cases, replays and single steps. A `Recorder` says where events are recorded and who carries out commands.
"""

import sys
from typing import TYPE_CHECKING, Protocol

from emulator.services.workflow.engine import events
from emulator.services.workflow.engine.decide import decide, react
from emulator.services.workflow.engine.history import Recorded
from emulator.services.workflow.engine.language import Arrival, Command, Events, Facts, Park
from emulator.services.workflow.engine.state import ExecutionState

if TYPE_CHECKING:
    from emulator.services.workflow.engine.breakpoints import Watch


class Recorder(Protocol):
    """Receives the events and commands of an execution."""

    def record(self, recorded: Events) -> None:
        """Record events, and apply each to the state."""
        ...

    def ask(self, command: Command) -> None:
        """Arm the timer, or make the call, that a parked strand waits for."""
        ...


class Execution:
    """The fixed facts of an execution and its state. ``watch`` is set while it is being debugged."""

    __slots__ = ("facts", "state", "watch")

    def __init__(self, facts: Facts, state: ExecutionState, watch: "Watch | None" = None) -> None:
        self.facts = facts
        self.state = state
        state.flow_name, state.execution_name = facts.flow_name, facts.execution_name
        self.watch = watch

    def go_on(self, recorder: Recorder, at_most: int = sys.maxsize) -> bool:
        """Record decisions until every strand waits or has stopped; return False when *at_most* events came first."""
        while at_most > 0:
            decided = decide(self.facts, self.state)
            if decided is None:
                return True
            if isinstance(decided, Park):
                self.state.park(self.state.strands[decided.strand])
                for command in decided.commands:
                    recorder.ask(command)
                continue
            admitted = self.admitted(decided)
            if admitted:
                recorder.record(admitted)
                at_most -= len(admitted)
            elif not self._stop(decided):
                return True
        return False

    def take(self, recorder: Recorder, arrival: Arrival) -> Events:
        """Record the events that *arrival* causes directly, and return them."""
        decided = react(self.facts, self.state, arrival)
        if not decided:
            return ()
        admitted = self.admitted(decided)
        if admitted:
            recorder.record(admitted)
        else:
            self._stop(decided)
        return admitted

    def follow(self, recorded: Recorded) -> None:
        """Apply a recorded event to the state, without deciding anything.

        Raises: LookupError, ValueError, TypeError or AttributeError when the event does not fit the program.
        """
        program = self.facts.program
        events.read(recorded, program.notation).apply(program, self.state, recorded.at)

    def admitted(self, decided: Events) -> Events:
        """Return those of the *decided* events that may be recorded now; none when their strand stops."""
        return decided if self.watch is None else self.watch.admitted(self.state, decided)

    def _stop(self, decided: Events) -> bool:
        strand = self.state.strands.get(decided[0].strand)
        if strand is None:
            return False
        self.state.park(strand)
        return True
