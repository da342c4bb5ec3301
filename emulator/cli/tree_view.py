"""An execution as text: one line per step, nested as it ran, with inputs, outputs and errors.

`render` prints a whole execution, `Follower` one that is still running, `event_row` and `event_line` each event.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, assert_never

from emulator.cli.output import _, padded, short, words_of
from emulator.drawing.execution_tree import FAILED_ATTEMPT, Attempt, Execution, StepSequence, Visit, duration
from emulator.drawing.text_width import cells, cut, fold, terminal_width
from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.wire.dates import parse_iso

VALUES = ("input", "output", "reply", "error", "cause")
"""Labels of values, for the catalogues."""

_LABEL = 8
"""Cells for ``output``, the longest label, and two blanks."""

_MOST_LINES = 3
"""The most lines of one text that are shown."""

MARGIN = "  "
"""The indentation of one level of nesting."""

_BLANK_COLUMNS = " " * 21
"""Blanks as wide as the columns before a step's name."""

Tone = Literal["", "good", "warn", "bad", "busy", "dim"]
_COLOURS: Mapping[Tone, str] = {"": "", "good": "32", "warn": "33", "bad": "31", "busy": "36", "dim": "2"}
_COLUMNS = re.compile(r" *\+[\dms.hd]+ {2} *[\dms.hd]* *")

Event = Mapping[str, Any]
HEADINGS = ("id", "time", "step", "event", "detail")
_DETAIL_WIDTH = 100

_TELLING = (("error", "cause"), ("goto",), ("output",), ("duration",), ("timestamp",), ("input",))
"""Groups of keys, the most informative first; the first group with a value is shown."""

_WAITING = {
    **dict.fromkeys(("waitForCallback", "WaitForCustomCallback"), "waits for its callback"),
    **dict.fromkeys(("sync", "WaitForSystemCallback"), "waits for the end of what it started"),
}
"""What a submitted task waits for, by the ``pattern`` or ``taskMode`` of the two languages."""

OUTCOMES = ("running", "failed", "caught", "abandoned", "submitted", *dict.fromkeys(_WAITING.values()))
"""Words for the end of a visit or what it waits for, for the catalogues."""

STATES = ("starting", "stopped", "timed out")
"""Further words for the end of an execution."""

PARTS = ("branch", "iteration")

_OPENS = frozenset({"StepEntered", "BranchEntered", "IterationEntered"})


@frozen
class Style:
    """``width`` is the number of cells of a line; None cuts nothing."""

    width: int | None = None
    colour: bool = False

    @classmethod
    def of_terminal(cls, *, full: bool = False) -> "Style":
        """Return the style for standard output: its width unless *full*, colours on a terminal without ``NO_COLOR``."""
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return cls(width=None if full else terminal_width(sys.stdout), colour=colour)

    def fit(self, line: str, tone: Tone = "") -> str:
        """Return *line* cut to the width, in the colour of *tone*; the columns before a step are dim."""
        text = line if self.width is None else cut(line, self.width)
        if not self.colour:
            return text
        columns, rest = text[: len(_BLANK_COLUMNS)], text[len(_BLANK_COLUMNS) :]
        if tone != "dim" and _COLUMNS.fullmatch(columns):
            return f"\x1b[2m{columns}\x1b[0m{_painted(rest, tone)}"
        return _painted(text, tone)

    def has_room(self, text: str) -> bool:
        """Whether *text* fits on a line."""
        return self.width is None or cells(text) <= self.width

    def whole(self, indent: str, label: str, text: str, tone: Tone) -> Iterator[str]:
        """Yield *text* after its label, in as many lines as needed."""
        margin = indent + " " * cells(label)
        lines = [text] if self.width is None else fold(text, max(self.width - len(margin), 20))
        for number, line in enumerate(lines):
            shown = (margin if number else indent + label) + line
            yield _painted(shown, tone) if self.colour else shown

    def fold(self, text: str) -> Iterator[str]:
        """Yield *text* folded to the width, lines after the first indented; a long text is cut."""
        if self.width is None or self.has_room(text):
            yield text
            return
        lines = fold(text, self.width - len(MARGIN))
        lines[_MOST_LINES - 1 :] = filter(None, [" ".join(lines[_MOST_LINES - 1 :])])
        yield cut(lines[0], self.width)
        for line in lines[1:]:
            yield cut(MARGIN + line, self.width)


def _painted(text: str, tone: Tone) -> str:
    return f"\x1b[{_COLOURS[tone]}m{text}\x1b[0m" if tone and text else text


def tone_of(visit: Visit) -> Tone:
    """Return the colour for a visit's outcome."""
    match visit.outcome:
        case "succeeded":
            return "warn" if visit.retries else "good"
        case "failed":
            return "bad"
        case "caught" | "abandoned":
            return "warn"
        case "running":
            return "busy"
        case _:
            assert_never(visit.outcome)


def render(execution: Execution, title: str, style: Style) -> Iterator[str]:
    """Yield the lines that show *execution* under *title*."""
    how = _(words_of(execution.status))
    if execution.ended is not None:
        how = _("{ended} after {time}", ended=how, time=duration(execution.ended - execution.started))
    if style.has_room(f"{title}  {how}"):
        yield f"{title}  {how}"
    else:
        yield from style.fold(title)
        yield style.fit(MARGIN + how)
    for name, value in (
        ("input", execution.input),
        ("output", execution.output),
        ("error", execution.error or None),
    ):
        if value is not None:
            yield style.fit(f"{MARGIN}{_label(name)}{value_text(value)}")
    if execution.cause:
        yield from style.whole(MARGIN, _label("cause"), value_text(execution.cause), "")
    if execution.sequence.visits:
        yield ""
        yield f"{_right(_('start'), 9)}  {_right(_('took'), 8)}  {_('step')}"
    yield from _sequence(execution, execution.sequence, 0, style, {value_text(execution.cause)})


def _label(name: str) -> str:
    return padded(_(name), _LABEL)


def _right(text: str, width: int) -> str:
    return " " * (width - cells(text)) + text


def _sequence(
    execution: Execution, sequence: StepSequence, depth: int, style: Style, causes: set[str]
) -> Iterator[str]:
    """Yield the lines of a sequence. A cause is shown in full only once: *causes* are those already shown."""
    for visit in sequence.visits:
        columns = _columns(execution, visit.entered, visit.ended)
        line = f"{columns}  {MARGIN * depth}{visit.step}  {'  '.join(_remarks(visit))}".rstrip()
        yield style.fit(line, tone_of(visit))
        indent = _BLANK_COLUMNS + MARGIN * (depth + 1)
        for name, text in _values(visit):
            if name == "cause" and text not in causes:
                causes.add(text)
                yield from style.whole(indent, _label(name), text, "bad")
            else:
                yield style.fit(f"{indent}{_label(name)}{text}", "bad" if name in {"error", "cause"} else "dim")
        for line in _attempts(execution, visit):
            yield style.fit(indent + line, "dim")
        for inner in visit.sequences:
            if inner.kind == "option":
                yield from _sequence(execution, inner, depth + 1, style, causes)
            else:
                columns = _columns(execution, inner.entered, inner.ended)
                yield style.fit(f"{columns}  {MARGIN * (depth + 1)}[{_(inner.kind)} {inner.index}]")
                yield from _sequence(execution, inner, depth + 2, style, causes)


def _columns(execution: Execution, begin: Millis, end: Millis | None) -> str:
    took = "..." if end is None else duration(end - begin)
    return f"{offset(begin - execution.started):>9}  {took:>8}"


def _remarks(visit: Visit) -> Iterator[str]:
    if visit.resource:
        yield target(visit.resource)
    if visit.waits_for:
        yield f"({visit.waits_for})"
    if words := " ".join(outcome_words(visit)):
        yield words


def outcome_words(visit: Visit) -> Iterator[str]:
    """Yield the words for the end of a visit; none for a plain success."""
    if visit.outcome != "succeeded":
        yield _(visit.outcome)
    elif visit.retries:
        yield _("succeeded at attempt {number}", number=visit.retries + 1)
    if visit.error:
        yield visit.error
    if visit.goto:
        yield f"-> {visit.goto}"


def _values(visit: Visit) -> Iterator[tuple[str, str]]:
    if visit.input not in (None, {}):
        yield "input", value_text(visit.input)
    if visit.reply is not None and visit.reply != visit.output:
        yield "reply", value_text(visit.reply)
    if visit.output not in (None, {}):
        yield "output", value_text(visit.output)
    if visit.error:
        yield "error", visit.error
    if visit.cause:
        yield "cause", value_text(visit.cause)


def _attempts(execution: Execution, visit: Visit) -> Iterator[str]:
    """Yield a line per attempt if there was more than one, or if the last event is a failed attempt."""
    if len(visit.attempts) < 2 and not (visit.outcome == "running" and any(each.failed for each in visit.attempts)):
        return
    for number, attempt in enumerate(visit.attempts):
        following = visit.attempts[number + 1] if number + 1 < len(visit.attempts) else None
        begin = offset(attempt.started - execution.started)
        took = "..." if attempt.ended is None else duration(attempt.ended - attempt.started)
        which = _("attempt {number}", number=number + 1)
        yield f"{which}  {begin}  {took}  {_wait_after(attempt, following)}{attempt_result(attempt)}"


def attempt_result(attempt: Attempt) -> str:
    """Return the result of an attempt: its error and cause, or one word."""
    if attempt.failed:
        return " ".join(part for part in (attempt.error or _("failed"), value_text(attempt.cause)) if part)
    return _("running") if attempt.ended is None else _("succeeded")


def _wait_after(attempt: Attempt, following: Attempt | None) -> str:
    if following is None or attempt.ended is None:
        return ""
    return _("next after {time}", time=duration(following.started - attempt.ended)) + "  "


def target(arn: str) -> str:
    """Return the target of a task in short: ``fc:services/s/functions/f`` of its ARN."""
    parts = arn.split(":", 4)
    return f"{parts[1]}:{parts[4]}" if len(parts) == 5 and parts[0] == "acs" else arn


def value_text(value: Any) -> str:
    """Return a JSON value on one line; text is shown as it is, line breaks as blanks."""
    if isinstance(value, str):
        return " ".join(value.split())
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def offset(millis: int) -> str:
    """Return an offset from the start: ``+12.34s``, ``+1m05s``."""
    return "+" + (f"{millis / 1000:.2f}s" if millis < 60_000 else duration(millis))


def event_row(event: Event, first: Event) -> tuple[str, str, str, str, str]:
    """Return *event* as cells under `HEADINGS`; its time is counted from *first*."""
    offset_s = (parse_iso(event["Time"]) - parse_iso(first["Time"])) / 1000
    return (str(event["EventId"]), f"{offset_s:.2f}s", event.get("StepName") or "-", str(event["Type"]), detail(event))


def event_line(event: Event, first: Event) -> str:
    """Return *event* as a single line, for histories printed while they grow."""
    number, offset, step, kind, text = event_row(event, first)
    return f"{number:>4}  {offset:>8}  {step:<17} {kind:<19} {text}".rstrip()


def detail(event: Event) -> str:
    """Return the most important part of an event's detail, on one line."""
    try:
        content = json.loads(event.get("EventDetail") or "{}")
    except ValueError:
        return ""
    for keys in _TELLING:
        parts = [f"{key}={value_text(content[key])}" for key in keys if content.get(key) not in (None, "")]
        if parts:
            return short(" ".join(parts), _DETAIL_WIDTH)
    return ""


class Follower:
    """Turns the events of an execution, as they come, into lines: time, duration, step, and remark."""

    def __init__(self, style: Style) -> None:
        self.execution = Execution()
        self._style = style

    def lines(self, events: Sequence[Event]) -> Iterator[str]:
        """Yield the lines for the next *events*.

        A wait that ends within the same batch of events appears only in the step's own line, and so does the last
        failed attempt.
        """
        next_kind = {event.get("ScheduleEventId"): event["Type"] for event in reversed(events)}
        for event in events:
            visit = self.execution.add(event)
            if visit is None:
                continue
            for about, took, remark in self._remarks(event, visit, next_kind.get(event["EventId"], "")):
                tone = "warn" if event["Type"] in FAILED_ATTEMPT else tone_of(about)
                yield self._style.fit(self._line(event, about, took, remark), tone)

    def _remarks(self, event: Event, visit: Visit, then: str) -> Iterator[tuple[Visit, str, str]]:
        """Yield the remarks on an event: the visit, the duration and the words. *then* is the event it caused."""
        kind = event["Type"]
        if kind == "StepExited":
            yield visit, duration((visit.ended or 0) - visit.entered), " ".join(_end_words(visit))
        elif kind in FAILED_ATTEMPT and not then.startswith("Step"):
            attempt = visit.attempts[-1]
            took = duration((attempt.ended or 0) - attempt.started)
            fields = {"number": len(visit.attempts), "result": attempt_result(attempt)}
            yield visit, took, _("attempt {number} failed: {result}", **fields)
        elif kind == "TaskSubmitted" and not then:
            yield visit, "", _(_WAITING.get(visit.attempts[-1].pattern, "submitted"))
        elif kind == "StepStarted" and visit.waits_for and not then:
            yield visit, "", _("waits: {time}", time=visit.waits_for)
        elif kind in _OPENS and (owner := _just_opened(visit, kind)) is not None:
            yield owner, "", _("begins")

    def _line(self, event: Event, visit: Visit, took: str, remark: str) -> str:
        at = offset(parse_iso(event["Time"]) - self.execution.started)
        sequence = visit.sequence
        place = f"[{sequence.index}] " if sequence.kind in {"branch", "iteration"} else ""
        return f"{at:>9}  {took:>8}  {MARGIN * visit.depth}{place}{visit.step}  {remark}".rstrip()


def _just_opened(visit: Visit, kind: str) -> Visit | None:
    """Return the step for which this event opens its first nested sequence or step."""
    if kind != "StepEntered":
        return visit if len(visit.sequences) == 1 else None
    sequence = visit.sequence
    return sequence.owner if sequence.kind == "option" and sequence.visits[0] is visit else None


def _end_words(visit: Visit) -> Iterator[str]:
    yield from outcome_words(visit)
    if visit.cause:
        yield value_text(visit.cause)
    elif visit.output not in (None, {}):
        yield value_text(visit.output)
