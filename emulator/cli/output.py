"""What commands print: tables for people, JSON for programs, progress for terminals only."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def say(text: str = "") -> None:
    """Print a line of the command's result."""
    print(text, flush=True)


def complain(text: str) -> None:
    """Print a line about a problem on the error stream."""
    print(f"localyun: {text}", file=sys.stderr, flush=True)


def note(text: str) -> None:
    """Print a line that a person needs while the command goes on, apart from its result."""
    print(text, file=sys.stderr, flush=True)


def progress(text: str) -> None:
    """Tell a person at a terminal what is going on; says nothing in a pipe."""
    if sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)


def say_json(value: object) -> None:
    """Print *value* as indented JSON."""
    say(json.dumps(value, indent=2, ensure_ascii=False))


def say_json_line(value: object) -> None:
    """Print *value* as one line of JSON."""
    say(json.dumps(value, ensure_ascii=False))


def say_table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows in columns under headings; the last column is as wide as it needs."""
    texts = [[("" if cell is None else str(cell)) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in [list(headings), *texts]) for column in range(len(headings))]
    for row in [list(headings), *texts]:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def say_pairs(pairs: Mapping[str, Any]) -> None:
    """Print one name and value per line, values in a column."""
    width = max((len(name) for name in pairs), default=0)
    for name, value in pairs.items():
        say(f"{name.ljust(width)}  {value}".rstrip())


def short(text: str, limit: int) -> str:
    """Return *text* on one line, cut to *limit* characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."
