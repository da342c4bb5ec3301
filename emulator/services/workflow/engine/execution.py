"""An execution as it is driven: what is decided is recorded, what arrives is taken, stops are kept.

Everything that lets a flow go on is an `Execution`. `run.Run` is one that the store has, in real time; a
`rehearsal.drive.Drive` is one with a time of its own and no store: cases, replays, single steps. Where events are
recorded, and who does what the execution asks for, is the `Recorder`'s.
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
    """Takes what an execution decides."""

    def record(self, recorded: Events) -> None:
        """Record events, and move the state on by each."""
        ...

    def ask(self, command: Command) -> None:
        """Arm the timers and make the calls that a parked strand waits for."""
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
        """Go on until every strand waits or has stopped; False when *at_most* events or more were recorded first."""
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
        """Record what *arrival* causes by itself, and return it."""
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
        """Return how many of the *decided* events may be recorded now; none when their strand stops."""
        return decided if self.watch is None else self.watch.admitted(self.state, decided)

    def _stop(self, decided: Events) -> bool:
        strand = self.state.strands.get(decided[0].strand)
        if strand is None:
            return False
        self.state.park(strand)
        return True
