"""The emulator's work during a test, for the report of its failure."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emulator.testing.kit import Localyun

Line = dict[str, Any]
"""A line of the emulator's log."""

_LINES = 150
"""Lines shown of each part: the first of a tree, which has the cause at its top, and the last of logs."""

_TREES = 10


def story(kit: "Localyun") -> str:
    """Return a report of what the emulator did; when it does not answer, a line that says so."""
    try:
        lines: list[Line] = kit.api.admin("GET", "report")["lines"]
    except Exception as error:  # an error here must not hide the test's failure
        return f"the emulator does not answer: {error}"
    parts = [_waiting(kit), _unused(kit), _requests(lines), _output(lines), *_trees(kit)]
    return "\n\n".join(part for part in parts if part) or "no request reached the emulator"


def _end_of(title: str, lines: list[str]) -> str:
    """Return a part of the report: its title and its last lines."""
    if len(lines) > _LINES:
        lines = [f"... {len(lines) - _LINES} lines before", *lines[-_LINES:]]
    return "\n".join([title, *lines]) if lines else ""


def _waiting(kit: "Localyun") -> str:
    status = kit.api.admin("GET", "status")
    parts = (("triggers that wait", status["waiting"]), ("problems", status["problems"]))
    return "\n\n".join("\n".join([title, *lines]) for title, lines in parts if lines)


def _unused(kit: "Localyun") -> str:
    """Return the mocks that were not called: perhaps their names are misspelt."""
    mocks = kit.api.admin("GET", "mocks")["mocks"]
    return _end_of("mocks that were not called", [each["of"] for each in mocks if not each["calls"]])


def _requests(lines: list[Line]) -> str:
    asked = {line["request"]: line for line in lines if "operation" in line}
    effects: dict[str, list[Line]] = {}
    others = []
    for line in lines:
        if "operation" in line or line["logger"] == "function":
            continue
        cause = next((name for name in (line.get("trace"), line.get("cause")) if name in asked), None)
        if cause is None:
            others.append(line)
        else:
            effects.setdefault(cause, []).append(line)
    shown: list[tuple[Line, str]] = []
    for request, line in asked.items():
        result = f"{line['status']} {line.get('error') or ''}".rstrip()
        shown.append((line, f"{_time(line)}  {line['service']} {line['operation']}  {result}  {request}"))
        shown += [(each, f"    {_time(each)}  {each['message']}") for each in effects.get(request, ())]
    shown += [(each, f"{_time(each)}  {each['message']}") for each in others]
    return _end_of("requests and what they caused", list(_dated(shown)))


def _dated(shown: list[tuple[Line, str]]) -> Iterator[str]:
    """Yield the texts, with the date before the first and before each of another day."""
    day = str(shown[0][0]["time"])[:10] if shown else ""
    for line, text in shown:
        if day != (day := str(line["time"])[:10]):
            yield day
        yield text


def _output(lines: list[Line]) -> str:
    shown = []
    for line in lines:
        if line["logger"] == "function":
            shown += [f"{line['function']}  {text}" for text in line["message"].splitlines()]
    return _end_of("function logs", shown)


def _trees(kit: "Localyun") -> list[str]:
    trees = []
    for flow, execution in kit.begun()[-_TREES:]:
        try:
            tree = kit.command("flow", "history", flow, execution).rstrip().splitlines()
        except Exception as error:  # the test may have deleted it
            tree = str(error).splitlines()
        if len(tree) > _LINES:
            tree = [*tree[:_LINES], f"... {len(tree) - _LINES} lines more"]
        trees.append("\n".join([f"execution {flow}/{execution}", *tree]))
    return trees


def _time(line: Line) -> str:
    return re.sub(r"^.*T|Z$", "", str(line["time"]))
