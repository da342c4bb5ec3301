"""An execution as text: one line per step, nested as it ran, with what went in, what came out and what went wrong."""

import json
from collections.abc import Iterator
from typing import Any

from emulator.cli.visits import Attempt, Execution, Part, Visit
from emulator.cli.width import cut
from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen

_LABEL = 8
"""Cells of ``output``, the longest name of a value, and two blanks."""

MARGIN = "  "
"""What one level of nesting indents by."""

_BLANK_COLUMNS = " " * 21
"""As wide as the columns in front of a step's name."""


@frozen
class Style:
    """``width`` is the number of cells of a line; None cuts nothing."""

    width: int | None = None

    def fit(self, line: str) -> str:
        """Return *line* cut to the width."""
        return line if self.width is None else cut(line, self.width)


def render(execution: Execution, title: str, style: Style) -> Iterator[str]:
    """Yield the lines that show *execution*; *title* says which one it is."""
    took = "" if execution.ended is None else f" after {duration(execution.ended - execution.started)}"
    yield style.fit(f"{title}  {spoken(execution.status)}{took}")
    for name, value in (
        ("input", execution.input),
        ("output", execution.output),
        ("error", execution.error or None),
        ("cause", execution.cause or None),
    ):
        if value is not None:
            yield style.fit(f"{MARGIN}{name:<{_LABEL}}{value_text(value)}")
    if execution.part.visits:
        yield ""
        yield f"{'start':>9}  {'took':>8}  step"
    yield from _part(execution, execution.part, 0, style)


def _part(execution: Execution, part: Part, depth: int, style: Style) -> Iterator[str]:
    for visit in part.visits:
        yield style.fit(_step_line(execution, visit, depth))
        indent = _BLANK_COLUMNS + MARGIN * (depth + 1)
        for name, text in _values(visit):
            yield style.fit(f"{indent}{name:<{_LABEL}}{text}")
        for line in _attempts(execution, visit):
            yield style.fit(indent + line)
        for inner in visit.parts:
            if inner.kind == "option":
                yield from _part(execution, inner, depth + 1, style)
            else:
                yield style.fit(_part_line(execution, inner, depth + 1))
                yield from _part(execution, inner, depth + 2, style)


def _step_line(execution: Execution, visit: Visit, depth: int) -> str:
    columns = _columns(execution, visit.entered, visit.ended)
    return f"{columns}  {MARGIN * depth}{visit.step}  {'  '.join(_remarks(visit))}".rstrip()


def _part_line(execution: Execution, part: Part, depth: int) -> str:
    columns = _columns(execution, part.entered, part.ended)
    return f"{columns}  {MARGIN * depth}[{part.kind} {part.index}]"


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
    """Yield what there is to say about how a visit ended: nothing for a plain success."""
    if visit.outcome != "succeeded":
        yield visit.outcome
    elif visit.retries:
        yield f"succeeded at attempt {visit.retries + 1}"
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
    """Yield a line per attempt when there was more than one, or one that failed and is the last thing known."""
    if len(visit.attempts) < 2 and not (visit.outcome == "running" and any(each.failed for each in visit.attempts)):
        return
    for number, attempt in enumerate(visit.attempts):
        following = visit.attempts[number + 1] if number + 1 < len(visit.attempts) else None
        begin = offset(attempt.started - execution.started)
        took = "..." if attempt.ended is None else duration(attempt.ended - attempt.started)
        yield f"attempt {number + 1}  {begin}  {took}  {_wait_after(attempt, following)}{attempt_result(attempt)}"


def attempt_result(attempt: Attempt) -> str:
    """Return how an attempt went: its error and cause, or one word."""
    if attempt.failed:
        return " ".join(part for part in (attempt.error or "failed", value_text(attempt.cause)) if part)
    return "running" if attempt.ended is None else "succeeded"


def _wait_after(attempt: Attempt, following: Attempt | None) -> str:
    if following is None or attempt.ended is None:
        return ""
    return f"next after {duration(following.started - attempt.ended)}  "


def target(arn: str) -> str:
    """Return what a task calls in few words: ``fc:services/s/functions/f`` of its ARN."""
    parts = arn.split(":", 4)
    return f"{parts[1]}:{parts[4]}" if len(parts) == 5 and parts[0] == "acs" else arn


def value_text(value: Any) -> str:
    """Return a JSON value on one line; text is shown as it is, line breaks as blanks."""
    if isinstance(value, str):
        return " ".join(value.split())
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def spoken(status: str) -> str:
    """Return a status as words: ``TimedOut`` is ``timed out``."""
    return "".join(f" {each.lower()}" if each.isupper() else each for each in status).strip()


def offset(millis: int) -> str:
    """Return an offset from the start: ``+12.34s``, ``+1m05s``."""
    return "+" + (f"{millis / 1000:.2f}s" if millis < 60_000 else duration(millis))


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
