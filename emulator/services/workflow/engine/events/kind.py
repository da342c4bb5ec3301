"""The base classes of events, and the members that several kinds share.

An event holds values; they become JSON where they leave the engine (`Event.detail`), and `events.read` turns stored
text into events. The type of an event, as the API shows it, is the name of its class.

All languages have the same kinds of events with the same meaning; how the members of their details are called differs
(`Notation`).
"""

import json
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from emulator.kernel.clock import Millis
from emulator.services.workflow.engine.history import Recorded
from emulator.services.workflow.engine.json_text import Json, quoted, with_text, written
from emulator.services.workflow.engine.model import Definition, Strand
from emulator.services.workflow.engine.notation import Notation
from emulator.services.workflow.engine.state import ExecutionState


class Members:
    """The members of a detail, as `Event.read` asks for them."""

    __slots__ = ("_detail", "_members")

    def __init__(self, detail: str) -> None:
        self._detail = detail
        self._members: dict[str, Any] = json.loads(detail)

    def json(self, name: str) -> Json:
        """Return a JSON value with its text.

        Raises: KeyError when it is missing.
        """
        value = self._members[name]
        if len(self._members) == 1 and self._detail.startswith(f'{{"{name}":'):
            return Json(value, self._detail[len(name) + 4 : -1])  # as it was written
        return with_text(value)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def text(self, name: str) -> str:
        """Return a text, empty when it is missing."""
        return str(self._members.get(name, ""))

    def get(self, name: str) -> Any:
        """Return a value, None when it is missing."""
        return self._members.get(name)


class Event(ABC):
    """One entry of a history.

    ``strand`` is the id of the event that opened the branch or iteration it belongs to (0: the flow itself);
    ``scheduled`` the id of the event that triggered it (the API's ScheduleEventId). ``mark`` is kept beside the detail
    (`Recorded.mark`).
    """

    __slots__ = ("id", "scheduled", "step", "strand")

    type: ClassVar[str]

    id: int
    strand: int
    scheduled: int
    step: str
    mark: int | None = None

    def __init_subclass__(cls) -> None:
        cls.type = cls.__name__

    @classmethod
    @abstractmethod
    def read(cls, kept: Recorded, members: Members, notation: Notation) -> Self:
        """Return the event that was stored as *kept*.

        Raises: LookupError, ValueError or TypeError when its detail makes no sense.
        """

    @abstractmethod
    def detail(self, notation: Notation) -> str:
        """Return the JSON text of the API."""

    @abstractmethod
    def apply(self, definition: Definition, state: ExecutionState, at: Millis) -> None:
        """Apply the event, recorded at *at*, to *state*.

        Raises: LookupError for an event that cannot follow.
        """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self.type == other.type and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((self.type, self.id))

    def __repr__(self) -> str:
        return f"{self.type}({', '.join(f'{name}={value!r}' for name, value in self._values())})"

    def _values(self) -> list[tuple[str, Any]]:
        names = [name for kind in type(self).__mro__[::-1] for name in getattr(kind, "__slots__", ())]
        return [(name, getattr(self, name)) for name in names]


class StepEvent(Event):
    """An event of a strand."""

    __slots__ = ()

    def apply(self, definition: Definition, state: ExecutionState, at: Millis) -> None:
        state.last = self.id
        state.at = at
        strand = state.strands[self.strand]
        strand.last = self.id
        if strand.parked:
            state.unpark(strand)
        self._go_on(state, strand, at)

    @abstractmethod
    def _go_on(self, state: ExecutionState, strand: Strand, at: Millis) -> None:
        """Change the state by the event; `apply` has made *strand* ready before."""


class OutputEvent(StepEvent):
    """An event that has an output and nothing else."""

    __slots__ = ("output",)

    def __init__(self, number: int, strand: int, scheduled: int, step: str, output: Json) -> None:
        self.id = number
        self.strand = strand
        self.scheduled = scheduled
        self.step = step
        self.output = output

    @classmethod
    def read(cls, kept: Recorded, members: Members, notation: Notation) -> Self:
        return cls(*kept.head, members.json("output"))

    def detail(self, notation: Notation) -> str:
        return f'{{"output":{self.output.text}}}'


class Failure(StepEvent):
    """The failure of a step or an attempt, with the name of an error and its cause."""

    __slots__ = ("cause", "error")

    def __init__(self, number: int, strand: int, scheduled: int, step: str, error: str, cause: str) -> None:
        self.id = number
        self.strand = strand
        self.scheduled = scheduled
        self.step = step
        self.error = error
        self.cause = cause

    @classmethod
    def read(cls, kept: Recorded, members: Members, notation: Notation) -> Self:
        return cls(*kept.head, members.text("error"), members.text("cause"))

    def detail(self, notation: Notation) -> str:
        return written(error=quoted(self.error), cause=quoted(self.cause))
