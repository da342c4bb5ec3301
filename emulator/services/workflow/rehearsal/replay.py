"""Replays a recorded history against a definition, to see whether the flow still takes the same way.

Recorded arrivals (answers, reports, the ends of pauses, a stop) are given to the flow in their order; the events that
the flow decides are compared with the recorded ones. Events are matched by their trigger (ScheduleEventId), so that the
order of branches does not matter. Ids and tokens, which are new in every run, count as equal, and so does every name
that a history does not contain.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import replace
from emulator.services.workflow.engine.events import KINDS, Event
from emulator.services.workflow.engine.json_text import canonical
from emulator.services.workflow.engine.language import (
    DeadlinePassed,
    Program,
    Replied,
    Reported,
    Result,
    StopAsked,
    Submitted,
)
from emulator.services.workflow.engine.model import Entry, Phase, Task
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.languages.references import ZEROS
from emulator.services.workflow.rehearsal.answers import is_reported
from emulator.services.workflow.rehearsal.cases import facts_of
from emulator.services.workflow.rehearsal.drive import Drive
from emulator.wire.dates import parse_iso
from emulator.wire.yaml import Node, Scalar, Sequence, Table

_ID: Final = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_NAME: Final = "name-that-no-history-tells"
"""The name of the flow and of the execution: a history has neither."""

_UNTOLD: Final = re.compile(rf"token-\d+-\d+|{_NAME}")

_ACCOUNT: Final = re.compile(r"acs:[a-z]+:[\w-]*:(\d+):")

_FROM_OUTSIDE: Final = frozenset(
    {"TaskSucceeded", "TaskFailed", "TaskTimedOut", "TaskSubmitted", "TaskSubmitFailed", "MapRunStarted"}
)


_OUT: Final = frozenset({Phase.CALLING, Phase.SUBMITTED})
"""The phases of a task in which its result may arrive."""


class NoHistory(Exception):
    """A document is not a history; the message says why."""


class Entered(NamedTuple):
    """An event of a recorded history."""

    id: int
    scheduled: int
    step: str
    type: str
    detail: dict[str, Any]
    at: Millis

    @property
    def text(self) -> str:
        """The event in words."""
        return f"{self.type} {self.step}".rstrip()


class Difference(NamedTuple):
    """The first event in which a flow differs from a history, by its recorded id; ``expected`` is the recorded one."""

    event: int
    step: str
    expected: str
    found: str


class Note(NamedTuple):
    """A member of an event that only one side has, or whose wording differs; the flow takes the same way."""

    event: int
    type: str
    step: str
    member: str
    what: str


class Replayed(NamedTuple):
    """The result of a replay; ``events`` counts those that agree."""

    difference: Difference | None
    notes: list[Note]
    events: int


def read_pages(text: str) -> Any:
    """Parse the text of a history: one JSON document, or a JSON page in each line.

    Raises: NoHistory.
    """
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise NoHistory(str(error)) from error


def definition_in(document: Any) -> str | None:
    """Return the definition contained in a history's document, None when there is none."""
    for each in document if isinstance(document, list) else [document]:
        members = {name.lower(): value for name, value in each.items()} if isinstance(each, dict) else {}
        found = members.get("definition") or members.get("flowdefinition")
        if isinstance(found, str):
            return found
    return None


def read_history(document: Any) -> list[Entered]:
    """Read a history: the answer of GetExecutionHistory, several of them, or just the events, as any SDK spells them.

    Raises: NoHistory.
    """
    events = [_event(each) for each in _events(document)]
    if not events:
        raise NoHistory("there are no events in it")
    events.sort(key=lambda each: each.id)
    if events[0].type != "ExecutionStarted":
        raise NoHistory(f"it begins with {events[0].type}, not with ExecutionStarted; is a page missing?")
    for before, after in pairwise(events):
        if after.id != before.id + 1:
            raise NoHistory(f"event {before.id + 1} is missing; is a page missing?")
    return events


def _events(document: Any) -> Iterator[Any]:
    if isinstance(document, list):
        for each in document:
            yield from _events(each)
    elif isinstance(document, dict):
        members = {name.lower(): value for name, value in document.items()}
        if "eventid" in members:
            yield members
        for name in ("events", "body", "history"):
            if name in members:
                yield from _events(members[name])


def _event(members: Mapping[str, Any]) -> Entered:
    if "type" not in members:
        raise NoHistory(f"event {members['eventid']} has no Type")
    try:
        detail = members.get("eventdetail") or "{}"
        detail = json.loads(detail) if isinstance(detail, str) else detail
        kind = str(members["type"])
        if kind not in KINDS:
            raise NoHistory(f"there are no events of type {kind!r}")
        when = members.get("time")
        at = Millis(parse_iso(when)) if isinstance(when, str) and when else Millis(0)
        step = str(members.get("stepname") or "")
        return Entered(int(members["eventid"]), int(members.get("scheduleeventid") or 0), step, kind, dict(detail), at)
    except (KeyError, TypeError, ValueError) as error:
        raise NoHistory(f"an event cannot be read: {error}") from error


def account_in(history: list[Entered]) -> str:
    """Return the account id of the first resource in a history, zeros when there is none."""
    found = (_ACCOUNT.search(text) for each in history for text in each.detail.values() if isinstance(text, str))
    return next((match[1] for match in found if match is not None), ZEROS)


def line_of(root: Node | None, step: str) -> int | None:
    """Return the line of a definition in which a step begins, None for an unknown step."""
    if isinstance(root, Table):
        names = {key.text: value for key, value in root.entries}
        name = names.get("name") or names.get("Name")
        if isinstance(name, Scalar) and name.text == step and names.keys() & {"type", "Type"}:
            return root.line
        inner: Iterable[Node] = (value for _, value in root.entries)
    elif isinstance(root, Sequence):
        inner = root.items
    else:
        return None
    return next((line for each in inner if (line := line_of(each, step)) is not None), None)


def replay(program: Program, history: list[Entered], unknown: frozenset[str] = frozenset()) -> Replayed:
    """Replay *history* against *program*; *unknown* are texts of the definition that equal any recorded text."""
    player = _Player(program, history, unknown)
    try:
        difference = player.play()
    except _GoesAnotherWay as found:
        difference = found.difference
    return Replayed(difference, player.notes, len(history) - len(player.left))


class _GoesAnotherWay(Exception):
    def __init__(self, difference: Difference) -> None:
        self.difference = difference
        super().__init__(str(difference))


class _Player:
    """Delivers recorded arrivals, and compares the decided events with the recorded ones (`drive.Observer`)."""

    def __init__(self, program: Program, history: list[Entered], unknown: frozenset[str]) -> None:
        self.left = {event.id: event for event in history}
        self.notes: list[Note] = []
        self._ids = {0: 0}
        self._unknown = unknown
        given = history[0].detail.get("input")
        facts = facts_of(program, _NAME, given if isinstance(given, dict) else {})
        facts = replace(facts, flow_name=program.name or _NAME)
        self._drive = Drive(facts, history[0].at, self)

    def play(self) -> Difference | None:
        """Replay the history to its end; return a difference when the flow ends earlier or waits for more."""
        drive = self._drive
        while True:
            self._advance()
            drive.calls.clear()
            if drive.is_over or not self.left:
                break
            if not self._give_next():
                expected = self._lowest()
                waits = ", ".join(entry.step.name for entry in drive.entries()) or "nothing"
                return Difference(expected.id, expected.step, expected.text, f"the flow waits in {waits}")
        if self.left:
            expected = self._lowest()
            return Difference(expected.id, expected.step, expected.text, "the execution has ended")
        return None

    def _advance(self) -> None:
        """Record decisions until every strand waits, delivering arrivals that were recorded in between."""
        drive = self._drive
        while self.left and not drive.is_over:
            awaited = self._next_awaited()
            is_next = awaited is not None and awaited[0] == min(self.left) and self._give(*awaited)
            if not is_next and drive.go_on(drive, 1):
                return

    def before(self, state: ExecutionState, event: Event) -> None:
        """Do nothing: events are compared after they are applied."""

    def after(self, state: ExecutionState, event: Event) -> None:
        """Find the recorded event that corresponds to *event*, and compare both.

        Raises: _GoesAnotherWay.
        """
        parent = self._ids.get(event.scheduled)
        following = sorted(each.id for each in self.left.values() if each.scheduled == parent)
        what = _kind(event.type, event.step)
        alike = [number for number, each in sorted(self.left.items()) if _kind(each.type, each.step) == what]
        fitting = [each for each in alike if each in following]
        if not fitting and (following or not alike):
            if not self.left:  # the recorded history is not complete: what comes after it is not known
                return
            expected = self.left[following[0]] if following else self._lowest()
            found = f"{event.type} {event.step}".rstrip()
            raise _GoesAnotherWay(Difference(expected.id, expected.step, expected.text, found))
        recorded = self.left.pop(min(fitting or alike))
        self._ids[event.id] = recorded.id
        if recorded.step != event.step:
            self.notes.append(Note(recorded.id, event.type, recorded.step, "StepName", "worded otherwise"))
        self._compare(recorded, json.loads(event.detail(self._drive.facts.program.notation)), event.type)

    def _lowest(self) -> Entered:
        return self.left[min(self.left)]

    def _compare(self, recorded: Entered, found: dict[str, Any], kind: str) -> None:
        for member in sorted(recorded.detail.keys() | found.keys()):
            if member not in found or member not in recorded.detail:
                what = "only recorded" if member in recorded.detail else "only here"
                self.notes.append(Note(recorded.id, kind, recorded.step, member, what))
                continue
            mine, theirs = found[member], recorded.detail[member]
            if kind == "IterationEntered" and member == "input" and isinstance(theirs, dict):
                theirs = {name: theirs.get(name) for name in mine}  # kept without what all iterations share
            if alike(mine, theirs, self._unknown):
                continue
            if member == "cause":
                self.notes.append(Note(recorded.id, kind, recorded.step, member, "worded otherwise"))
                continue
            shown = f"{member} {_short(theirs)}", f"{member} {_short(mine)}"
            difference = Difference(recorded.id, recorded.step, *(f"{recorded.text} with {text}" for text in shown))
            raise _GoesAnotherWay(difference)

    def _next_awaited(self) -> tuple[int, Entry] | None:
        """Return the id of the next recorded event that the flow waits for, and the entry that waits."""
        found: list[tuple[int, Entry]] = []
        for strand in self._drive.state.strands.values():
            entry = strand.scopes[-1].entry
            if entry is not None and (strand.parked or entry.phase in _OUT):
                last = self._ids.get(strand.last)
                where = (last, entry.step.name)
                following = [each.id for each in self.left.values() if (each.scheduled, each.step) == where]
                found += [(min(following), entry)] if following else []
        return min(found, key=lambda each: each[0], default=None)

    def _give_next(self) -> bool:
        """Deliver the next recorded arrival; return False when none that the flow waits for was recorded."""
        awaited = self._next_awaited()
        if awaited is None:
            return len(self.left) == 1 and self._end(self._lowest())
        return self._give(*awaited)

    def _give(self, number: int, entry: Entry) -> bool:
        recorded = self.left[number]
        self._drive.now = max(self._drive.now, recorded.at)
        before = len(self._drive.history)
        self._arrive(entry, recorded)
        return len(self._drive.history) > before

    def _arrive(self, entry: Entry, recorded: Entered) -> None:
        drive, step = self._drive, entry.step
        if recorded.type == "TaskTimedOut":
            drive.fire(entry.id, "timeout")
        elif recorded.type in _FROM_OUTSIDE and isinstance(step, Task):
            result = _result_of(recorded)
            if recorded.type in {"TaskSubmitted", "MapRunStarted"}:
                drive.arrive(Submitted(entry.id, entry.retries, result))
            elif entry.phase is Phase.SUBMITTED and is_reported(step):
                drive.arrive(Reported(entry.id, entry.retries, result))
            else:
                drive.arrive(Replied(entry.id, entry.retries, result))
        elif entry.phase is Phase.STARTED:
            drive.fire(entry.id, "wait")
        else:
            drive.fire(entry.id, "retry")

    def _end(self, recorded: Entered) -> bool:
        texts = {name: str(recorded.detail.get(name, "")) for name in ("error", "cause")}
        if recorded.type == "ExecutionStopped":
            self._drive.arrive(StopAsked(texts["error"], texts["cause"]))
        elif recorded.type == "ExecutionTimedOut":
            self._drive.arrive(DeadlinePassed(texts["cause"]))
        else:
            return False
        return True


def _kind(kind: str, step: str) -> tuple[str, str]:
    """Return the key by which events are matched; the names of branches, which are assumed, do not count."""
    return (kind, "" if kind in {"BranchEntered", "BranchExited"} else step)


def _result_of(recorded: Entered) -> Result:
    if "error" in recorded.detail or recorded.type in {"TaskFailed", "TaskSubmitFailed"}:
        error, cause = (str(recorded.detail.get(name, "")) for name in ("error", "cause"))
        return Result(error=error, cause=cause, refused=recorded.type == "TaskSubmitFailed")
    return Result(output=canonical(recorded.detail.get("output", {})))


def alike(mine: Any, theirs: Any, unknown: frozenset[str] = frozenset()) -> bool:
    """Whether two values are equal apart from ids, times, tokens and names of a run, and *unknown* texts."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return mine.keys() == theirs.keys() and all(alike(mine[name], theirs[name], unknown) for name in mine)
    if isinstance(mine, list) and isinstance(theirs, list):
        pairs = zip(mine, theirs, strict=False)
        return len(mine) == len(theirs) and all(alike(one, other, unknown) for one, other in pairs)
    if isinstance(mine, str) and mine in unknown:
        return True
    if isinstance(mine, str) and isinstance(theirs, str) and mine != theirs:
        plain_mine, plain_theirs = (_TIME.sub("@", _ID.sub("#", text)) for text in (mine, theirs))
        if not _UNTOLD.search(mine):
            return plain_mine == plain_theirs
        pattern = ".+".join(re.escape(part) for part in _UNTOLD.split(plain_mine))
        return re.fullmatch(pattern, plain_theirs, re.DOTALL) is not None
    return bool(mine == theirs) and isinstance(mine, bool) == isinstance(theirs, bool)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:300]}..."


def report(replayed: Replayed) -> dict[str, Any]:
    """Return the differences without names and data: ids and types of events, and names of members."""
    difference = replayed.difference
    shown = None
    if difference is not None:
        kinds = (text.split(" ")[0] for text in (difference.expected, difference.found))
        expected, found = (kind if kind in KINDS else "nothing more" for kind in kinds)
        shown = {"event": difference.event, "expected": expected, "found": found}
    counted: dict[tuple[str, str, str], int] = {}
    for note in replayed.notes:
        key = (note.type, note.member, note.what)
        counted[key] = counted.get(key, 0) + 1
    notes = [
        {"type": kind, "member": member, "what": what, "times": times}
        for (kind, member, what), times in sorted(counted.items())
    ]
    return {"events": replayed.events, "difference": shown, "notes": notes}
