"""The events of an execution as a whole."""

from typing import Self

from emulator.kernel.clock import Millis
from emulator.services.workflow.engine.events.kind import Event, Members
from emulator.services.workflow.engine.history import Recorded
from emulator.services.workflow.engine.json_text import Json, quoted, written
from emulator.services.workflow.engine.model import ROOT, Beginning, Definition, Scope, Strand
from emulator.services.workflow.engine.notation import Notation
from emulator.services.workflow.engine.state import ExecutionState


class ExecutionStarted(Event):
    """The execution begins with *input*."""

    __slots__ = ("input",)

    def __init__(self, input: Json) -> None:
        self.id = 1
        self.strand = ROOT
        self.scheduled = 0
        self.step = ""
        self.input = input

    @classmethod
    def read(cls, kept: Recorded, members: Members, notation: Notation) -> Self:
        return cls(members.json("input"))

    def detail(self, notation: Notation) -> str:
        return f'{{"input":{self.input.text}}}'

    def apply(self, definition: Definition, state: ExecutionState, at: Millis) -> None:
        state.last = self.id
        state.at = state.started_at = at
        beginning = Beginning(state.flow_name, state.execution_name, at)
        strand = Strand(ROOT, ROOT, 0, Scope(definition.steps, definition.begin(self.input.value, beginning)))
        strand.last = self.id
        state.open(strand)


class FinalEvent(Event):
    """Ends the execution. Exactly one ends every history."""

    __slots__ = ()


class ExecutionSucceeded(FinalEvent):
    """The execution succeeded with *output*."""

    __slots__ = ("output",)

    def __init__(self, number: int, scheduled: int, output: Json) -> None:
        self.id = number
        self.strand = ROOT
        self.scheduled = scheduled
        self.step = ""
        self.output = output

    @classmethod
    def read(cls, kept: Recorded, members: Members, notation: Notation) -> Self:
        return cls(kept.id, kept.scheduled, members.json("output"))

    def detail(self, notation: Notation) -> str:
        return f'{{"output":{self.output.text}}}'

    def apply(self, definition: Definition, state: ExecutionState, at: Millis) -> None:
        state.last = self.id
        state.at = at
        state.output_text = self.output.text
        state.end(self.type)


class UnhappyEnd(FinalEvent):
    """Ends the execution without success: with the name of an error and its cause, both empty where there are none."""

    __slots__ = ("cause", "error")

    def __init__(self, number: int, scheduled: int, error: str, cause: str) -> None:
        self.id = number
        self.strand = ROOT
        self.scheduled = scheduled
        self.step = ""
        self.error = error
        self.cause = cause

    @classmethod
    def read(cls, kept: Recorded, members: Members, notation: Notation) -> Self:
        return cls(kept.id, kept.scheduled, members.text("error"), members.text("cause"))

    def detail(self, notation: Notation) -> str:
        return written(error=quoted(self.error), cause=quoted(self.cause))

    def apply(self, definition: Definition, state: ExecutionState, at: Millis) -> None:
        state.last = self.id
        state.at = at
        state.error, state.cause = self.error, self.cause
        state.end(self.type)


class ExecutionFailed(UnhappyEnd):
    """An error was left that nothing caught, or a limit was reached."""

    __slots__ = ()


class ExecutionStopped(UnhappyEnd):
    """The execution was asked to stop, or its flow was deleted."""

    __slots__ = ()


class ExecutionTimedOut(UnhappyEnd):
    """The execution has run for as long as it may."""

    __slots__ = ()
