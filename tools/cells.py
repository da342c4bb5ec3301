"""Tables in Markdown, and docstrings as text of their cells."""

from __future__ import annotations

import re
from collections.abc import Iterable


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table with a line for *head* and for each of *rows*."""
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines).replace("| --- ", "|---").replace("--- |", "---|")


def markdown(text: str) -> str:
    """Return a line of a docstring for a cell of a table; the ``*name*`` of a parameter becomes code."""
    text = re.sub(r"(?<![*\w])\*(\w+)\*(?![*\w])", r"`\1`", text)
    return text.replace("``", "`").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
