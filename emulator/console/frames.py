"""The history of an execution as changes of its picture, event by event: the browser scrubs without requests.

Of each step it is the events at which its state or its note changes, of each way the event with which it was gone.
Events that enter a step are named beside them, for going from step to step.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from emulator.drawing.execution_tree import Execution, StepSequence, Visit
from emulator.drawing.model import START
from emulator.drawing.states import State, StepState, loudest, taken, visit_state
from emulator.drawing.words import Say
from emulator.services.workflow.model import HistoryEvent


class _Tally:
    """All visits of a step together, counted up and down, because a step may be entered thousands of times."""

    def __init__(self) -> None:
        self.seen: dict[int, tuple[State, int | None, int]] = {}
        self.states = Counter[State]()
        self.took_ms = 0
        self.running = 0
        self.retries = 0
        self.error = ""

    def count(self, visit: Visit) -> None:
        """Count a visit with its present state, in place of the state it was counted with before."""
        before = self.seen.get(visit.number)
        if before is not None:
            self._add(before, -1)
        span = None if visit.ended is None else visit.ended - visit.entered
        now = self.seen[visit.number] = (visit_state(visit), span, visit.retries)
        self._add(now, 1)
        self.error = visit.error or self.error

    def _add(self, seen: tuple[State, int | None, int], sign: int) -> None:
        state, span, retries = seen
        self.states[state] += sign
        self.retries += sign * retries
        if span is None:
            self.running += sign
        else:
            self.took_ms += sign * span

    def shown(self) -> StepState:
        """Return the state of the step."""
        return StepState(
            state=loudest(state for state, number in self.states.items() if number),
            entered=len(self.seen),
            took_ms=None if self.running else self.took_ms,
            retries=self.retries,
            error=self.error,
        )


def frames(events: Iterable[HistoryEvent], say: Say) -> dict[str, Any]:
    """Return ``times`` by event, ``steps``: the changes of each as event, state, note, and ``ways`` from and to.

    ``entered`` are the events that enter a step.
    """
    execution, tallies = Execution(), defaultdict[str, _Tally](_Tally)
    times: list[int] = []
    steps = defaultdict[str, list[list[Any]]](list)
    ways: dict[str, int] = {}
    entered: list[int] = []
    for event in events:
        times.append(event.at)
        visit = execution.record(event.id, event.cause, event.step, event.type, event.at, event.detail)
        changed = set()
        for each in _touched(execution, event.type, visit):
            tallies[each.step].count(each)
            changed.add(each.step)
        for step in changed:
            state = tallies[step].shown()
            row = [event.id, state.state, state.note(say)]
            if not steps[step] or steps[step][-1][1:] != row[1:]:
                steps[step].append(row)
        if event.type == "StepEntered" and visit is not None:
            entered.append(event.id)
            before = visit.sequence.visits[-2:-1]
            ways.setdefault(f"{before[0].step if before else START}\n{visit.step}", event.id)
    for way in taken(execution):
        ways.setdefault(f"{way.source}\n{way.target}", len(times))
    return {"times": times, "steps": steps, "ways": ways, "entered": entered, "unentered": StepState().note(say)}


def _touched(execution: Execution, kind: str, visit: Visit | None) -> Iterator[Visit]:
    """Yield the visits that an event may have changed: its own, and those within it if it ends them."""
    if visit is None:
        if execution.ended is not None:
            yield from execution.visits()
        return
    yield visit
    if kind == "StepExited":
        yield from _within(visit.sequences)


def _within(sequences: Iterable[StepSequence]) -> Iterator[Visit]:
    for sequence in sequences:
        for visit in sequence.visits:
            yield visit
            yield from _within(visit.sequences)
