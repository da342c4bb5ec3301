"""The states of a flow's steps in an execution: state, number of entries, duration."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, assert_never

from emulator.drawing.execution_tree import Execution, Visit, duration
from emulator.drawing.model import END, START, Node
from emulator.kernel.frozen import frozen
from emulator.kernel.phrases import COMMA

State = Literal["not entered", "running", "succeeded", "caught or retried", "failed", "abandoned"]

COLOURS: dict[State, tuple[str, str]] = {
    "not entered": ("#ffffff", "#64748b"),
    "running": ("#dbeafe", "#1d4ed8"),
    "succeeded": ("#dcfce7", "#15803d"),
    "caught or retried": ("#fef3c7", "#b45309"),
    "failed": ("#fee2e2", "#b91c1c"),
    "abandoned": ("#ede9fe", "#6d28d9"),
}
"""Fill and outline by state, in the order of the legend."""

_LOUDNESS: tuple[State, ...] = ("succeeded", "caught or retried", "abandoned", "failed", "running")
"""States in ascending precedence: of several visits of a step, the last state here gives the colour."""


@frozen
class StepState:
    """The state of a step: of all visits together, how often it was entered, and for how long in all.

    ``took_ms`` is None while a visit runs.
    """

    state: State = "not entered"
    entered: int = 0
    took_ms: int | None = None
    retries: int = 0
    error: str = ""

    def note(self, say: Callable[[str], str] = str) -> str:
        """Return a line for the step's box, such as ``3x, 30.01s``, in the words of *say*."""
        if not self.entered:
            return say("not entered")
        parts = [f"{self.entered}x"] if self.entered > 1 else []
        if self.retries and self.entered > 1:  # for a single entry the badge shows the retries
            parts.append(say("1 retry") if self.retries == 1 else say("{number} retries").format(number=self.retries))
        match self.state:
            case "failed" | "abandoned":
                parts.append(say(self.state))
            case "caught or retried" if self.error:
                parts.append(say("caught"))
            case "caught or retried" | "succeeded" | "running" | "not entered":
                pass
            case _:
                assert_never(self.state)
        parts.append(say("running") if self.took_ms is None else duration(self.took_ms))
        return say(COMMA).join(parts)


def badges(states: Mapping[str, StepState], steps: Iterable[Node], say: Callable[[str], str] = str) -> dict[str, str]:
    """Return ``2 of 3 retries``, in the words of *say*, for each step that was entered once and called again."""
    return {
        step.name: say("{number} of {limit} retries").format(number=states[step.name].retries, limit=step.retry_limit)
        for step in steps
        if step.retry_limit and states[step.name].entered == 1 and states[step.name].retries
    }


def states(execution: Execution, steps: Iterable[str]) -> dict[str, StepState]:
    """Return the state of each of *steps*, by name."""
    visits: dict[str, list[Visit]] = defaultdict(list)
    for visit in execution.visits():
        visits[visit.step].append(visit)
    return {step: _state(visits[step]) if step in visits else StepState() for step in steps}


class Passage(NamedTuple):
    """A way that was taken: from step to step, on an error or not, out of the option that begins with ``first``."""

    source: str
    target: str
    caught: bool = False
    first: str = ""


def taken(execution: Execution) -> frozenset[Passage]:
    """Return the ways that the execution has taken, from the starts to the ends of scopes."""
    ways: set[Passage] = set()
    sequences = [execution.sequence, *(sequence for visit in execution.visits() for sequence in visit.sequences)]
    for sequence in sequences:
        if not sequence.visits:
            continue
        ways.add(Passage(START, sequence.visits[0].step))
        ways.update(_way(visit, following.step) for visit, following in pairwise(sequence.visits))
        last = sequence.visits[-1]
        if last.outcome == "succeeded":
            ways.add(_way(last, END))
    return frozenset(ways)


def _way(visit: Visit, target: str) -> Passage:
    options = [sequence for sequence in visit.sequences if sequence.kind == "option" and sequence.visits]
    first = options[0].visits[0].step if options else ""
    return Passage(visit.step, target, visit.outcome == "caught", first)


def _state(visits: Sequence[Visit]) -> StepState:
    shown = [visit_state(visit) for visit in visits]
    spans = [None if visit.ended is None else visit.ended - visit.entered for visit in visits]
    ended = [span for span in spans if span is not None]
    return StepState(
        state=loudest(shown),
        entered=len(visits),
        took_ms=sum(ended) if len(ended) == len(spans) else None,
        retries=sum(visit.retries for visit in visits),
        error=next((visit.error for visit in reversed(visits) if visit.error), ""),
    )


def loudest(shown: Iterable[State]) -> State:
    """Return the state of a step, given those of its visits."""
    return max(shown, key=_LOUDNESS.index)


def visit_state(visit: Visit) -> State:
    """Return the state of one entry of a step."""
    outcome = visit.outcome
    if outcome == "caught" or (outcome == "succeeded" and visit.retries):
        return "caught or retried"
    return outcome
