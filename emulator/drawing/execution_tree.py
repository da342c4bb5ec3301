"""The history of an execution as a tree: the steps visited, their nesting, durations and outcomes.

`Execution` takes events one at a time, so that a growing history can be shown while it grows. Each entry of a step is a
`Visit`; steps nested in an option, branch or iteration stand in a `StepSequence` of the visit that owns them. The place
of an event follows from the event that caused it: a branch continues where its latest event ended.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from emulator.kernel.clock import Millis
from emulator.wire.dates import parse_iso

Outcome = Literal["running", "succeeded", "failed", "caught", "abandoned"]
"""``caught``: left with an error that led to another step; ``abandoned``: open when the enclosing step ended."""

SequenceKind = Literal["flow", "option", "branch", "iteration"]

FAILED_ATTEMPT = frozenset({"TaskFailed", "TaskSubmitFailed", "TaskTimedOut"})
"""Events that end an attempt of a task without a result."""

_PARTS = frozenset({"BranchEntered", "BranchExited", "IterationEntered", "IterationExited"})
_FINAL = frozenset({"ExecutionSucceeded", "ExecutionFailed", "ExecutionStopped", "ExecutionTimedOut"})


class Detail:
    """The detail of an event: a JSON object, decoded at the first access to a member whose name is in the text.

    Inputs and outputs are most of a history, and few of them are looked at.
    """

    __slots__ = ("_content", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._content: Mapping[str, Any] | None = None

    def get(self, name: str) -> Any:
        """Return the value of a member, None when there is none."""
        if f'"{name}"' not in self._text:
            return None
        if self._content is None:
            try:
                content = json.loads(self._text)
            except ValueError:
                content = {}
            self._content = content if isinstance(content, dict) else {}
        return self._content.get(name)


@dataclass(slots=True, kw_only=True)
class Attempt:
    """One call of a task; ``error`` and ``cause`` are set when it ``failed``."""

    started: Millis
    ended: Millis | None = None
    pattern: str = ""
    submitted: bool = False
    failed: bool = False
    error: str = ""
    cause: str = ""

    @property
    def state(self) -> Outcome:
        """``failed``, ``running`` or ``succeeded``."""
        return "failed" if self.failed else "running" if self.ended is None else "succeeded"


@dataclass(slots=True, kw_only=True)
class Visit:
    """One entry of a step. ``input``, ``output`` and ``reply`` are JSON values, None when not recorded.

    ``number`` is the id of the event that entered it, ``goto`` the target of a jump. ``entry``, ``start``, ``exit`` and
    ``answer`` are the details of its events, decoded on access; ``task`` is the ARN of the scheduled task.
    """

    step: str
    number: int = 0
    entered: Millis
    sequence: "StepSequence"
    ended: Millis | None = None
    outcome: Outcome = "running"
    entry: "Detail"
    start: "Detail | None" = None
    exit: "Detail | None" = None
    answer: "Detail | None" = None
    error: str = ""
    cause: str = ""
    goto: str = ""
    task: str = ""
    attempts: list[Attempt] = field(default_factory=list)
    sequences: list["StepSequence"] = field(default_factory=list)

    @property
    def input(self) -> Any:
        """The input of the step."""
        return self.entry.get("input")

    @property
    def mapped(self) -> Any:
        """The input after the mappings, None when the step has not started."""
        return None if self.start is None else self.start.get("input")

    @property
    def output(self) -> Any:
        """The output of the step."""
        return None if self.exit is None else self.exit.get("output")

    @property
    def reply(self) -> Any:
        """The answer to the task's call."""
        return None if self.answer is None else self.answer.get("output")

    @property
    def waits_for(self) -> str:
        """``10 s`` or a time, for a wait; empty for other steps."""
        if self.start is None:
            return ""
        seconds = self.start.get("duration")
        if seconds is None:
            seconds = self.start.get("seconds")
        return str(self.start.get("timestamp") or "") if seconds is None else f"{seconds} s"

    @property
    def resource(self) -> str:
        """The ARN that a task calls, empty for other steps."""
        return str(self.entry.get("resourceArn") or self.entry.get("action") or self.task)

    @property
    def depth(self) -> int:
        """How many steps this one is nested in."""
        return 0 if self.sequence.owner is None else self.sequence.owner.depth + 1

    @property
    def retries(self) -> int:
        """How often the task was called again."""
        return max(len(self.attempts) - 1, 0)


@dataclass(slots=True, kw_only=True)
class StepSequence:
    """Steps that ran one after the other: the flow, a chosen option, a branch, an iteration."""

    kind: SequenceKind
    index: int = 0
    entered: Millis
    owner: Visit | None = None
    ended: Millis | None = None
    visits: list[Visit] = field(default_factory=list)


class _Strand:
    """A line of control: the open visits, outermost first, and the sequence that the next visit is added to."""

    __slots__ = ("open", "parent", "sequence")

    def __init__(self, sequence: StepSequence, parent: "_Strand | None") -> None:
        self.sequence = sequence
        self.parent = parent
        self.open: list[Visit] = []


class Execution:
    """An execution, as far as the events added so far tell."""

    def __init__(self) -> None:
        self.sequence = StepSequence(kind="flow", entered=Millis(0))
        self.ended: Millis | None = None
        self.status = "Running"
        self.input: Any = None
        self.output: Any = None
        self.error = ""
        self.cause = ""
        self._root = _Strand(self.sequence, None)
        self._strands: dict[int, _Strand] = {}

    @property
    def started(self) -> Millis:
        """The time of the first event; offsets are counted from it."""
        return self.sequence.entered

    def visits(self) -> Iterator[Visit]:
        """Yield every visit in all depths, in the order they stand in the tree."""
        yield from _visits_in(self.sequence)

    def add(self, event: Mapping[str, Any]) -> Visit | None:
        """Add the next event; return the visit it belongs to, None for an event of the whole execution.

        An event of a kind that is not known belongs to its step and changes nothing.
        """
        number, cause = event["EventId"], event.get("ScheduleEventId") or 0
        name, kind = str(event.get("StepName") or ""), str(event["Type"])
        return self.record(number, cause, name, kind, parse_iso(event["Time"]), event.get("EventDetail") or "")

    def record(self, number: int, cause: int, name: str, kind: str, at: Millis, text: str) -> Visit | None:
        """Add the next event as `add` does, given by its values; *cause* is the id of the event that caused it."""
        detail = Detail(text)
        if kind.startswith("Execution"):
            self._execution_event(kind, at, detail)
            self._strands[number] = self._root
            return None
        caused_by = self._strands.get(cause, self._root)
        if kind == "StepEntered":
            self._strands[number] = caused_by
            return _enter(caused_by, name, number, at, detail)
        if kind in _PARTS:
            return self._part_event(number, caused_by, kind, at, detail)
        strand = _strand_at(caused_by, name)
        visit = _innermost(strand, name)
        if visit is None:
            return None
        _step_event(strand, visit, kind, at, detail)
        self._strands[number] = strand
        return visit

    def _execution_event(self, kind: str, at: Millis, detail: Detail) -> None:
        if kind == "ExecutionStarted":
            self.sequence.entered = at
            self.input = detail.get("input")
        elif kind in _FINAL:
            self.status = kind.removeprefix("Execution")
            self.ended = self.sequence.ended = at
            self.output = detail.get("output")
            self.error, self.cause = str(detail.get("error") or ""), str(detail.get("cause") or "")
            _abandon(self.sequence, at)

    def _part_event(self, number: int, caused_by: _Strand, kind: str, at: Millis, detail: Detail) -> Visit | None:
        """Add the begin or the end of a branch or an iteration, which may have a name of its own."""
        is_end = kind.endswith("Exited")
        around = caused_by.parent if is_end else caused_by
        if around is None or not around.open:
            return None
        visit = around.open[-1]
        if is_end:
            caused_by.sequence.ended = at
            self._strands[number] = around
        else:
            self._strands[number] = self._open_part(around, visit, kind, at, detail)
        return visit

    @staticmethod
    def _open_part(strand: _Strand, visit: Visit, kind: str, at: Millis, detail: Detail) -> _Strand:
        opened: SequenceKind = "branch" if kind == "BranchEntered" else "iteration"
        sequence = StepSequence(kind=opened, index=int(detail.get("index") or 0), entered=at, owner=visit)
        visit.sequences.append(sequence)
        return _Strand(sequence, strand)


def duration(millis: int) -> str:
    """Return a span for people: ``12ms``, ``1.50s``, ``1m05s``, ``2h03m``, ``3d04h``."""
    if millis < 1000:
        return f"{max(millis, 0)}ms"
    if millis < 60_000:
        return f"{millis // 10 / 100:.2f}s"
    minutes, seconds = divmod(millis // 1000, 60)
    if minutes < 60:
        return f"{minutes}m{seconds:02d}s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}h{minutes:02d}m"
    days, hours = divmod(hours, 24)
    return f"{days}d{hours:02d}h"


def _innermost(strand: _Strand, name: str) -> Visit | None:
    return strand.open[-1] if strand.open and strand.open[-1].step == name else None


def _strand_at(strand: _Strand, name: str) -> _Strand:
    """Return the innermost enclosing strand at the step *name*: what follows a branch's end belongs outside of it."""
    candidate: _Strand | None = strand
    while candidate is not None:
        if _innermost(candidate, name) is not None:
            return candidate
        candidate = candidate.parent
    return strand


def _enter(strand: _Strand, name: str, number: int, at: Millis, detail: Detail) -> Visit:
    sequence = strand.sequence
    if strand.open:
        # Only a choice can be open here: branches and iterations have strands of their own.
        choice = strand.open[-1]
        if not choice.sequences:
            choice.sequences.append(StepSequence(kind="option", entered=at, owner=choice))
        sequence = choice.sequences[-1]
    visit = Visit(step=name, number=number, entered=at, sequence=sequence, entry=detail)
    sequence.visits.append(visit)
    strand.open.append(visit)
    return visit


def _step_event(strand: _Strand, visit: Visit, kind: str, at: Millis, detail: Detail) -> None:
    match kind:
        case "StepStarted":
            visit.start = detail
        case "StepSucceeded":
            visit.exit = detail
        case "StepFailed":
            visit.outcome = "failed"
            visit.error, visit.cause = str(detail.get("error") or ""), str(detail.get("cause") or "")
        case "StepExited":
            strand.open.pop()
            _exit(visit, at, detail)
        case _:
            _task_event(visit, kind, at, detail)


def _task_event(visit: Visit, kind: str, at: Millis, detail: Detail) -> None:
    if kind == "TaskScheduled":
        visit.task = str(detail.get("resourceArn") or "")
        visit.attempts.append(Attempt(started=at, pattern=str(detail.get("pattern") or detail.get("taskMode") or "")))
        return
    if not visit.attempts:
        return
    attempt = visit.attempts[-1]
    if kind == "TaskSubmitted":
        attempt.submitted = True
    elif kind == "TaskSucceeded":
        attempt.ended = at
        visit.answer = detail
    elif kind in FAILED_ATTEMPT:
        attempt.ended = at
        attempt.failed = True
        attempt.error, attempt.cause = str(detail.get("error") or ""), str(detail.get("cause") or "")


def _exit(visit: Visit, at: Millis, detail: Detail) -> None:
    visit.ended = at
    visit.goto = str(detail.get("goto") or "")
    if visit.exit is None or detail.get("output") is not None:
        visit.exit = detail
    if visit.outcome == "running":
        caught = bool(detail.get("error")) or bool(visit.attempts and visit.attempts[-1].failed)
        visit.outcome = "caught" if caught else "succeeded"
    visit.error = visit.error or str(detail.get("error") or "")
    visit.cause = visit.cause or str(detail.get("cause") or "")
    for sequence in visit.sequences:
        sequence.ended = sequence.ended if sequence.ended is not None else at
        _abandon(sequence, at)


def _abandon(sequence: StepSequence, at: Millis) -> None:
    for visit in _visits_in(sequence):
        if visit.ended is None:
            visit.ended = at
            if visit.outcome == "running":
                visit.outcome = "abandoned"


def _visits_in(sequence: StepSequence) -> Iterator[Visit]:
    for visit in sequence.visits:
        yield visit
        for inner in visit.sequences:
            yield from _visits_in(inner)
