"""The view of one execution: its history up to an event, as rows, as a graph, as a timeline.

The events read are kept as a `Fold` and continued at the next request, so a long history is read once while it grows.
Long lists of branches and iterations are shown as a summary and a window.

`compared` puts two histories side by side, from the first event in which they differ.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from emulator.drawing.execution_tree import Execution, Outcome, StepSequence, Visit, duration
from emulator.drawing.picture import picture
from emulator.drawing.words import Say
from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.services.workflow.engine.language import DefinitionError
from emulator.services.workflow.model import HistoryEvent, HistoryId

Row = dict[str, Any]
ReadEvents = Callable[[int], list[HistoryEvent]]
"""Reads a page of events from an id on; empty at the end."""

WINDOW = 20
"""How many branches or iterations of a step are shown at a time."""

EVENTS_SHOWN = 100
_KEPT = 3
_BARS = 50
"""How many attempts of a step have a bar of their own."""

_LOUD: tuple[Outcome, ...] = ("failed", "running", "caught", "abandoned", "succeeded")


class Fold:
    """A history up to the event ``upto``, as an execution tree."""

    def __init__(self) -> None:
        self.execution = Execution()
        self.upto = 0
        self.at = Millis(0)
        self.by_id: dict[int, Visit] = {}

    def add(self, event: HistoryEvent) -> None:
        """Add the next event."""
        visit = self.execution.record(event.id, event.cause, event.step, event.type, event.at, event.detail)
        if event.type == "StepEntered" and visit is not None:
            self.by_id[event.id] = visit
        self.upto, self.at = event.id, event.at

    def advance(self, read: ReadEvents, stop: int | None) -> None:
        """Add events up to the one with the id *stop*, or all."""
        while stop is None or self.upto < stop:
            events = read(self.upto + 1)
            if not events:
                return
            for event in events:
                if stop is not None and event.id > stop:
                    return
                self.add(event)


class Folds:
    """The folds of the executions viewed last."""

    def __init__(self) -> None:
        self._folds: OrderedDict[tuple[HistoryId, bool], Fold] = OrderedDict()

    def upto(self, history: HistoryId, read: ReadEvents, stop: int | None) -> Fold:
        """Return the fold of a history up to the event *stop*, or of all of it."""
        key = (history, stop is None)
        fold = self._folds.pop(key, None)
        if fold is None or (stop is not None and fold.upto > stop):
            fold = Fold()
        fold.advance(read, stop)
        self._folds[key] = fold
        while len(self._folds) > _KEPT:
            self._folds.popitem(last=False)
        return fold


@frozen
class Look:
    """The part of an execution that is viewed: the history up to ``at``, a step, and windows into long lists."""

    at: int | None = None
    visit: int = 0
    opened: int = 0
    offset: int = 0


def took(begin: Millis, end: Millis | None) -> str:
    """Return a duration for people, "" when *end* is None."""
    return "" if end is None else duration(end - begin)


def rows(fold: Fold, look: Look, now: Millis, restarts: Sequence[Millis] = ()) -> list[Row]:
    """Return a row per visit, or per folded list of sequences, in the order of the tree.

    ``restarts`` of a row are the positions on its bar of the *restarts* during it.
    """
    begin = fold.execution.started
    whole = max(1, (fold.execution.ended or now) - begin)
    return [_placed(row, begin, whole, now, restarts) for row in _rows(fold.execution.sequence, 0, look)]


def with_restarts(events: Iterable[HistoryEvent], restarts: Sequence[Millis]) -> list[Row]:
    """Return events, newest first, with the *restarts* between them: ``at``, and ``event`` or None."""
    found: list[Row] = [{"at": event.at, "event": event} for event in events]
    earliest = found[-1]["at"] if found else 0
    found += [{"at": at, "event": None} for at in restarts if at >= earliest]
    return sorted(found, key=lambda row: (row["at"], row["event"].id if row["event"] else 0), reverse=True)


def _placed(row: Row, begin: Millis, whole: int, now: Millis, restarts: Sequence[Millis]) -> Row:
    end = row["ended"] if row["ended"] is not None else max(now, row["entered"])
    row["took"] = duration(end - row["entered"])
    spans = row.pop("spans", None) or [(row["entered"], end, row["state"])]
    row["bars"] = [
        {
            "left": round((start - begin) / whole * 1000),
            "width": max(4, round(((stop if stop is not None else end) - start) / whole * 1000)),
            "state": state,
        }
        for start, stop, state in spans
    ]
    row["restarts"] = [round((at - begin) / whole * 1000) for at in restarts if row["entered"] <= at <= end]
    return row


def _row(of: Visit | StepSequence, kind: str, depth: int, step: str, state: Outcome, **more: Any) -> Row:
    common = {"kind": kind, "depth": depth, "step": step, "state": state, "entered": of.entered, "ended": of.ended}
    return {**common, "id": 0, "attempts": 0, "error": "", **more}


def _rows(sequence: StepSequence, depth: int, look: Look) -> Iterator[Row]:
    for visit in sequence.visits:
        yield _row(
            visit,
            "step",
            depth,
            visit.step,
            visit.outcome,
            id=visit.number,
            attempts=len(visit.attempts),
            error=visit.error or next((each.error for each in reversed(visit.attempts) if each.error), ""),
            spans=[(each.started, each.ended, each.state) for each in visit.attempts[-_BARS:]],
        )
        yield from _parts(visit, depth, look)


def _parts(visit: Visit, depth: int, look: Look) -> Iterator[Row]:
    sequences = visit.sequences
    if not sequences:
        return
    if sequences[0].kind == "option":
        for sequence in sequences:
            yield from _rows(sequence, depth + 1, look)
        return
    offset = look.offset if look.opened == visit.number else 0
    offset = max(0, min(offset, len(sequences) - 1))
    if len(sequences) > WINDOW:
        yield _summary(visit, depth + 1, offset)
    for sequence in sequences[offset : offset + WINDOW]:
        yield _row(sequence, sequence.kind, depth + 1, str(sequence.index), outcome(sequence))
        yield from _rows(sequence, depth + 2, look)


def _summary(visit: Visit, depth: int, offset: int) -> Row:
    outcomes = [outcome(sequence) for sequence in visit.sequences]
    states, end = Counter(outcomes), offset + WINDOW
    loud: tuple[Outcome, ...] = ("failed", "running")
    return _row(
        visit,
        "summary",
        depth,
        visit.step,
        visit.outcome,
        id=visit.number,
        total=len(outcomes),
        states=[(each, states[each]) for each in _LOUD if states[each]],
        first=offset + 1,
        last=min(end, len(outcomes)),
        before=max(0, offset - WINDOW) if offset else None,
        after=end if end < len(outcomes) else None,
        loud=[(each, outcomes.index(each)) for each in loud if each in states],
    )


def outcome(sequence: StepSequence) -> Outcome:
    """Return the outcome of a branch or iteration: failed when one of its steps did, running until it has ended."""
    last = sequence.visits[-1].outcome if sequence.visits else "succeeded"
    if last in {"failed", "abandoned"}:
        return last
    return "running" if sequence.ended is None else last


def graph(definition: str, fold: Fold | None, title: str, say: Say) -> str:
    """Return the graph as SVG with words translated by *say*, empty for a definition that cannot be drawn."""
    try:
        return picture(definition, title, fold.execution if fold is not None else None, "svg", say)
    except DefinitionError:
        return ""


BEFORE = 10
AFTER = 30
_SHOWN = 2_000


def compared(one: list[HistoryEvent], other: list[HistoryEvent]) -> Row:
    """Return rows of both around the first difference, whose number is ``first``, None when they are the same.

    ``step`` is the one at which they differ first. Two events are the same when type, step and detail are; times
    differ always.
    """
    pairs = list(zip_longest(one, other))
    first = next((at for at, pair in enumerate(pairs) if not _same(*pair)), None)
    named = [next((each.step for each in pair if each and each.step), "") for pair in pairs if not _same(*pair)]
    begin = max(0, (first if first is not None else len(pairs)) - BEFORE)
    return {
        "first": None if first is None else first + 1,
        "step": next(filter(None, named), ""),
        "begin": begin,
        "total": len(pairs),
        "rows": [
            {
                "number": at + 1,
                "same": _same(left, right),
                "is_first": at == first,
                "sides": (_side(left, right), _side(right, left)),
            }
            for at, (left, right) in enumerate(pairs[begin : begin + BEFORE + AFTER], begin)
        ],
    }


def _same(left: HistoryEvent | None, right: HistoryEvent | None) -> bool:
    if left is None or right is None:
        return False
    return (left.type, left.step, left.detail) == (right.type, right.step, right.detail)


def _side(event: HistoryEvent | None, other: HistoryEvent | None) -> Row | None:
    """Return an event, its detail in three parts: the common beginning, the difference, the common end."""
    if event is None:
        return None
    text, against = event.detail[:_SHOWN], other.detail[:_SHOWN] if other is not None else event.detail[:_SHOWN]
    return {"type": event.type, "step": event.step, "detail": parts(text, against)}


def parts(text: str, other: str) -> tuple[str, str, str]:
    """Return *text* in three parts: the beginning and the end that it has in common with *other*, and the middle."""
    least = min(len(text), len(other))
    begin = next((at for at in range(least) if text[at] != other[at]), least)
    end = next((at for at in range(least - begin) if text[-1 - at] != other[-1 - at]), least - begin)
    return text[:begin], text[begin : len(text) - end], text[len(text) - end :]
