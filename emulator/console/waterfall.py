"""A trace as a waterfall: a row for each node, indented below its cause, with a bar for its duration.

Injected faults are rows too, and so are choices of a schedule during the trace; choices of another option than the
first are marked.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from emulator.drawing.execution_tree import duration
from emulator.kernel.clock import Millis
from emulator.wire.dates import parse_iso

Row = dict[str, Any]

WHOLE = 1000
"""The length of the time line."""

_THINNEST = 3


def waterfall(roots: Iterable[Row], choices: Iterable[Row] = ()) -> list[Row]:
    """Return the rows of a trace's *roots* and of a schedule's *choices*, in the order of the tree.

    A row has the members of its node, and ``depth``, ``left`` and ``width`` of its bar, ``after`` (the time since the
    first row) and ``took``.
    """
    rows = [row for root in roots for row in _rows(root, 0)]
    if not rows:
        return []
    begin = min(row["at_ms"] for row in rows)
    end = max(row["at_ms"] + (row["duration_ms"] or 0) for row in rows)
    rows += [_choice(each) for each in choices if begin <= parse_iso(each["at"]) <= end]
    if any(row["kind"] == "choice" for row in rows):
        rows = _in_time(rows)
    return [row | _bar(row, begin, max(1, end - begin)) for row in rows]


def _rows(node: Row, depth: int) -> Iterator[Row]:
    yield {**node, "depth": depth}
    for each in node["children"]:
        yield from _rows(each, depth + 1)


def _choice(choice: Row) -> Row:
    name = f"{choice['n']}: {choice['options'][choice['taken']]}"
    return {
        "kind": "choice", "name": name, "id": "", "status": "", "failed": False, "at_ms": parse_iso(choice["at"]),
        "at": choice["at"], "duration_ms": None, "depth": 0, "deviates": choice["taken"] != 0,
    }  # fmt: skip


def _in_time(rows: list[Row]) -> list[Row]:
    """Put each choice before the first row of the tree that began after it."""
    choices = sorted((row for row in rows if row["kind"] == "choice"), key=lambda row: row["at_ms"])
    placed: list[Row] = []
    for row in (row for row in rows if row["kind"] != "choice"):
        while choices and choices[0]["at_ms"] < row["at_ms"]:
            placed.append(choices.pop(0) | {"depth": row["depth"]})
        placed.append(row)
    return placed + choices


def _bar(row: Row, begin: Millis, whole: int) -> Row:
    spent = row["duration_ms"]
    width = max(_THINNEST, round((spent or 0) / whole * WHOLE))
    left = min(round((row["at_ms"] - begin) / whole * WHOLE), WHOLE - width)
    state = "failed" if row["failed"] or row["kind"] == "fault" else "pending" if row.get("deviates") else "succeeded"
    return {
        "left": left,
        "width": width,
        "state": "running" if row["kind"] == "choice" and state == "succeeded" else state,
        "after": duration(row["at_ms"] - begin),
        "took": "" if spent is None else duration(spent),
    }
