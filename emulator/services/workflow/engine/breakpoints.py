"""Breakpoints: the places at which an execution stops and waits for a person.

An execution stops *before* an event of its history is recorded: before StepEntered, before the StepExited of a step
that has ended well, or before a failure becomes final. Nothing of a stop is part of the history, so an execution that
was stopped looks like any other. Its breakpoints and present stops are kept in a `Watch`, stored with the execution.

When a person changes the data at a stop, the held-back event is recorded with the new data, so that the history still
determines the state.
"""

import json
from typing import Any, Final, Literal, NamedTuple, get_args

from emulator.services.workflow.engine.events import (
    Event,
    FinalEvent,
    StepEntered,
    StepExited,
    StepFailed,
    TaskScheduled,
)
from emulator.services.workflow.engine.json_text import canonical, with_text
from emulator.services.workflow.engine.language import Events
from emulator.services.workflow.engine.model import Phase, Strand
from emulator.services.workflow.engine.state import ExecutionState

Moment = Literal["before", "after", "failure"]
"""Where an execution may stop: about to enter a step, to leave one that ended well, or to give one up that failed."""

MOMENTS: Final[tuple[str, ...]] = get_args(Moment)

_FORMAT: Final = 1


class Breakpoint(NamedTuple):
    """A place to stop at; an empty ``step`` stands for every step."""

    when: Moment
    step: str = ""


class Stop(NamedTuple):
    """A strand that waits. ``at`` is the id of its latest event.

    ``data`` is the step's input at a stop before it, its output at a stop after it; ``error`` and ``cause`` are those
    of a failure.
    """

    strand: int
    at: int
    when: Moment
    step: str
    data: Any = None
    error: str = ""
    cause: str = ""


class Watch:
    """The breakpoints and stops of one execution.

    With ``stepping`` it stops before every step and at every failure. ``stops`` are the present stops by strand;
    ``passed`` has, by strand, the id of the latest event at the stop that was left; ``changes`` has, by strand, the new
    data for the next event. ``is_changed`` is set when the watch has to be stored again.
    """

    __slots__ = ("breakpoints", "changes", "is_changed", "passed", "stepping", "stops")

    def __init__(self, breakpoints: tuple[Breakpoint, ...] = (), *, stepping: bool = False) -> None:
        self.breakpoints = breakpoints
        self.stepping = stepping
        self.stops: dict[int, Stop] = {}
        self.passed: dict[int, int] = {}
        self.changes: dict[int, Any] = {}
        self.is_changed = True

    def admitted(self, state: ExecutionState, decided: Events) -> Events:
        """Return those of the *decided* events of one strand that may be recorded now: up to its next stop.

        They have to be applied before the next events are decided.
        """
        for index, event in enumerate(decided):
            strand = state.strands.get(event.strand)
            if strand is None or isinstance(event, FinalEvent):  # the end of an execution is not held up
                return decided
            if strand.id in self.stops:
                return decided[:index]
            at = decided[index - 1].id if index else strand.last
            if self.passed.get(strand.id) == at:
                return self._let_go(event, strand) if index == 0 else decided[:index]
            stop = self._stop(state, strand, event, at)
            if stop is not None:
                if index == 0:
                    self.stops[strand.id] = stop
                    self.is_changed = True
                return decided[:index]
        return decided

    def release(self, stop: Stop) -> None:
        """Resume the strand that is stopped at *stop*."""
        del self.stops[stop.strand]
        self.passed[stop.strand] = stop.at
        self.is_changed = True

    def change(self, stop: Stop, data: Any) -> None:
        """Replace the data of the event that *stop* holds back."""
        self.changes[stop.strand] = data
        self.stops[stop.strand] = stop._replace(data=data)
        self.is_changed = True

    def _let_go(self, event: Event, strand: Strand) -> Events:
        del self.passed[strand.id]
        self.is_changed = True
        if strand.id not in self.changes:
            return (event,)
        return (with_data(event, self.changes.pop(strand.id)),)

    def _stop(self, state: ExecutionState, strand: Strand, event: Event, at: int) -> Stop | None:
        when = _moment(strand, event)
        if when is None or not self._wants(when, event.step):
            return None
        if isinstance(event, StepEntered):
            return Stop(strand.id, at, when, event.step, event.input.value)
        if isinstance(event, StepExited) and when == "after":
            return Stop(strand.id, at, when, event.step, event.left.value)
        assert isinstance(event, StepExited | StepFailed)
        return Stop(strand.id, at, when, event.step, error=event.error, cause=event.cause)

    def _wants(self, when: Moment, step: str) -> bool:
        if self.stepping and when != "after":
            return True
        return any(each.when == when and each.step in {"", step} for each in self.breakpoints)

    def dump(self) -> str:
        """Return the watch as text, for `load`."""
        return canonical(
            [
                _FORMAT,
                [list(each) for each in self.breakpoints],
                self.stepping,
                [list(stop) for stop in self.stops.values()],
                sorted(self.passed.items()),
                sorted(self.changes.items()),
            ]
        )

    @classmethod
    def load(cls, text: str) -> "Watch | None":
        """Return the watch that `dump` wrote as *text*; None when it is of another format."""
        version, *rest = json.loads(text)
        if version != _FORMAT:
            return None
        breakpoints, stepping, stops, passed, changes = rest
        watch = cls(tuple(Breakpoint(*each) for each in breakpoints), stepping=stepping)
        watch.stops = {stop[0]: Stop(*stop) for stop in stops}
        watch.passed = dict(passed)
        watch.changes = dict(changes)
        watch.is_changed = False
        return watch


def _moment(strand: Strand, event: Event) -> Moment | None:
    """Return the kind of stop that is possible before *event*, None when there is none."""
    entry = strand.scopes[-1].entry
    match event:
        case StepEntered():
            return "before"
        case StepFailed():
            # a step that is taken along by a failure inside is not where it happened
            return None if entry is not None and entry.phase is Phase.FAILING else "failure"
        case StepExited():
            if entry is not None and entry.phase is Phase.FAILED:
                return None
            return "failure" if event.error else "after"
        case _:
            return None


def with_data(event: Event, data: Any) -> Event:
    """Return *event* with *data* as the input of its step or attempt, or as the output of its step."""
    match event:
        case StepEntered() | TaskScheduled():
            event.input = with_text(data)
        case StepExited():
            event.left = with_text(data)
        case _:
            raise TypeError(f"{event.type} has no data")
    return event
