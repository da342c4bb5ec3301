"""An engine without a driver: decisions applied one event at a time, time that jumps, replies from a script."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Any

import pytest

from emulator.kernel.clock import Millis
from emulator.services.workflow.engine.decide import decide, react
from emulator.services.workflow.engine.events import Event, fold, read
from emulator.services.workflow.engine.history import line_of, unpacked, whole_iteration
from emulator.services.workflow.engine.json_text import member_texts, parse_object
from emulator.services.workflow.engine.language import (
    Arrival,
    CallService,
    Events,
    Facts,
    Park,
    Replied,
    Reported,
    Result,
    TimerFired,
    WakeAt,
)
from emulator.services.workflow.engine.snapshot import dump, load
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.languages.programs import read_program

START = 1_700_000_000_000
HOUR_MS = 3_600_000


def token(entry: int, attempt: int) -> str:
    return f"token-{entry}-{attempt}"


_read = functools.lru_cache(maxsize=4)(read_program)
"""A test of crashes plays one definition a hundred times, and a program does not change."""


@dataclass
class Play:
    """One execution, played to its end or until nothing is left to happen.

    ``script`` gives the result of each attempt by step name; the last one is repeated. ``reports`` gives, by step name,
    what is reported a second after the attempt was called. ``crash_at`` are event ids after which the state is lost
    and rebuilt, from the history alone or from a snapshot of it.
    """

    definition: str
    given: str = "{}"
    script: dict[str, list[Result]] = field(default_factory=dict)
    reports: dict[str, list[Result]] = field(default_factory=dict)
    crash_at: frozenset[int] = frozenset()
    crash_with_snapshot: bool = False
    call_ms: int = 10
    until: int = START + 1000 * HOUR_MS
    check: Callable[[Facts, ExecutionState], None] | None = None

    def __post_init__(self) -> None:
        self.program = _read(self.definition)
        self.facts = Facts(
            program=self.program, flow_name="f", execution_name="e", input=parse_object(self.given), token=token
        )
        self.state = ExecutionState()
        self.history: list[tuple[Event, Millis]] = []
        self.now = START
        self._agenda: list[tuple[int, int, int, Arrival]] = []
        self._wished: set[Any] = set()
        self._number = 0

    @property
    def types(self) -> list[str]:
        return [event.type for event, _ in self.history]

    def steps(self, name: str) -> list[str]:
        return [event.type for event, _ in self.history if event.step == name]

    def details(self, name: str, kind: str) -> list[dict[str, Any]]:
        return [
            parse_object(self._whole(event)) for event, _ in self.history if (event.step, event.type) == (name, kind)
        ]

    @property
    def last_detail(self) -> dict[str, Any]:
        return parse_object(self.history[-1][0].detail(self.program.notation))

    @property
    def shown(self) -> list[tuple[int, int, str, str, str, int]]:
        """The history as the API shows it."""
        return [
            (event.id, event.scheduled, event.step, event.type, self._whole(event), at) for event, at in self.history
        ]

    def _whole(self, event: Event) -> str:
        detail = event.detail(self.program.notation)
        if event.type != "IterationEntered" or event.mark is None:
            return detail
        entered = self.history[event.mark - 1][0].detail(self.program.notation)
        return whole_iteration(detail, member_texts(parse_object(entered)["input"]))

    def run(self) -> "Play":
        while True:
            self._advance()
            if self.state.outcome is not None or not self._agenda or self._agenda[0][0] > self.until:
                return self
            instant, _, _, arrival = heappop(self._agenda)
            self.now = max(self.now, instant)
            if isinstance(arrival, TimerFired):
                arrival = arrival._replace(now=Millis(self.now))
            self.arrive(arrival)

    def arrive(self, arrival: Arrival) -> Events:
        recorded = react(self.facts, self.state, arrival)
        self._record(recorded)
        if isinstance(arrival, Reported) and recorded and self.history[-1][0].id < recorded[-1].id:
            self._plan(self.now, arrival.entry, arrival)  # it was never acknowledged, so it is reported again
        return recorded

    def _advance(self) -> None:
        while (decided := decide(self.facts, self.state)) is not None:
            if isinstance(decided, Park):
                self.state.park(self.state.strands[decided.strand])
                for command in decided.commands:
                    self._wish(command)
            else:
                self._record(decided)
            assert len(self.history) < 10_000, "the engine does not come to an end"

    def _record(self, events: Events) -> None:
        """Append the events one by one; a crash in between loses the rest of them, as a torn batch would."""
        for event in events:
            assert event.id == self.state.last + 1
            assert event.scheduled < event.id
            event.apply(self.program, self.state, Millis(self.now))
            self.state.abandoned.clear()
            self.history.append((event, Millis(self.now)))
            if self.check is not None:
                self.check(self.facts, self.state)
            if event.id in self.crash_at and self.state.outcome is None:
                self._crash()
                return

    def _crash(self) -> None:
        """Lose the state, the timers and the calls; what was wished for will be wished for again."""
        if self.crash_with_snapshot:
            restored = load(self.program, dump(self.state))
            assert restored is not None
            for strand in restored.strands.values():
                restored.unpark(strand)
            self.state = restored
        else:
            self.state = replayed(self)
        self._agenda = [item for item in self._agenda if isinstance(item[3], Reported)]  # others hold these tokens
        heapify(self._agenda)
        self._wished.clear()

    def _wish(self, command: WakeAt | CallService) -> None:
        if isinstance(command, WakeAt):
            if (command.entry, command.kind, command.at) not in self._wished:
                self._wished.add((command.entry, command.kind, command.at))
                self._plan(command.at, command.entry, TimerFired(command.entry, command.kind, Millis(0)))
            return
        found = self.state.find(command.entry)
        assert found is not None
        called_at = found[1].scheduled_at
        name, attempt = command.step.name, command.attempt
        if (results := self.script.get(name)) is not None:
            result = results[min(attempt, len(results) - 1)]
            self._plan(called_at + self.call_ms, command.entry, Replied(command.entry, attempt, result))
        reports = self.reports.get(name, [])
        if attempt < len(reports) and ("report", command.entry, attempt) not in self._planned_reports():
            self._plan(called_at + 1000, command.entry, Reported(command.entry, attempt, reports[attempt]))

    def _planned_reports(self) -> set[Any]:
        return {("report", item[3].entry, item[3].attempt) for item in self._agenda if isinstance(item[3], Reported)}

    def _plan(self, instant: int, entry: int, arrival: Arrival) -> None:
        self._number += 1
        order = {TimerFired: 0, Replied: 1, Reported: 2}[type(arrival)]
        heappush(self._agenda, (instant, entry, order, arrival))


def replayed(play: Play) -> ExecutionState:
    """Fold the history as it would be read from the store."""
    notation = play.program.notation
    lines = [line_of(event, event.detail(notation)) for event, _ in play.history]
    kept = [next(unpacked(event.id, at, line, event.id)) for (event, at), line in zip(play.history, lines, strict=True)]
    stored = [read(each, notation) for each in kept]
    assert [line_of(event, event.detail(notation)) for event in stored] == lines
    return fold(play.program, zip(stored, [each.at for each in kept], strict=True))


@pytest.fixture(scope="session")  # not per test: hypothesis runs many examples with one
def play() -> type[Play]:
    return Play


@pytest.fixture(scope="session")
def replay() -> Callable[[Play], ExecutionState]:
    return replayed
