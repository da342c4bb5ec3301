"""Rewrites the expectations in a file of cases to the actual results, leaving the rest of the file as it is."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from emulator.services.workflow.model import Status
from emulator.services.workflow.rehearsal.cases import Suite
from emulator.wire.yaml import Node, Scalar, Sequence, Table, read_nodes


def updated(suite: Suite, actual: Mapping[int, dict[str, Any]]) -> str:
    """Return the text of a suite's file with the values of ``expect`` replaced; *actual* has results by a case's line.

    A value is written in one line, as JSON, which is YAML too; a comment behind it in that line is lost.
    """
    text = suite.file.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    root = read_nodes(text)
    cases = _member(root, "cases")
    edits: list[tuple[int, int, str]] = []
    for case in cases.items if isinstance(cases, Sequence) else ():
        if case.line in actual:
            expect = _member(case, "expect")
            edits += _edits(lines, expect.entries if isinstance(expect, Table) else (), actual[case.line])
    for begin, end, written in sorted(edits, reverse=True):
        lines[begin:end] = [written]
    return "".join(lines)


def _edits(
    lines: list[str], entries: tuple[tuple[Scalar, Node], ...], actual: Mapping[str, Any]
) -> Iterator[tuple[int, int, str]]:
    """Yield (first line, line after, text) of replacements, from 0 on; members that share a line with others stay."""
    for number, (key, _) in enumerate(entries):
        end = entries[number + 1][0].line if number + 1 < len(entries) else _end(lines, key)
        margin = lines[key.line - 1][: key.column - 1]
        if end > key.line and key.text in actual:
            yield key.line - 1, end - 1, f"{margin}{key.text}: {_written(key.text, actual[key.text])}\n"
        says_end = any(other.text in {"status", "error"} for other, _ in entries)
        if number == 0 and end > key.line and not says_end and actual["status"] != Status.SUCCEEDED.value:
            yield key.line - 1, key.line - 1, f"{margin}status: {actual['status']}\n"


def _member(node: Node | None, name: str) -> Node | None:
    entries = node.entries if isinstance(node, Table) else ()
    return next((value for key, value in entries if key.text == name), None)


def _end(lines: list[str], key: Scalar) -> int:
    """Return the line after the value of the member *key*."""
    for number in range(key.line, len(lines)):
        line = lines[number]
        if line.strip() and len(line) - len(line.lstrip()) < key.column:
            return number + 1
    return len(lines) + 1


def _written(name: str, value: Any) -> str:
    return f"{value}ms" if name == "lasts" else json.dumps(value, ensure_ascii=False)
