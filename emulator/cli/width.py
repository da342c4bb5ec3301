"""How wide text is on a terminal: East Asian characters take two cells, combining marks none."""

import shutil
import unicodedata

PIPE_WIDTH = 120
"""Cells of a line when the output is not a terminal and COLUMNS does not tell."""


def terminal_width() -> int:
    """Return the cells of a line on standard output."""
    return shutil.get_terminal_size((PIPE_WIDTH, 24)).columns


def is_wide(character: str) -> bool:
    """Tell whether *character* takes two cells."""
    return character > "\u02ff" and unicodedata.east_asian_width(character) in "WF"


def cells(text: str) -> int:
    """Return how many cells *text* takes on a line."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(each) else 2 if is_wide(each) else 1 for each in text)


def cut(text: str, limit: int) -> str:
    """Return *text* cut to *limit* cells (at least 4), with ``...`` where something is left out."""
    if cells(text) <= limit:
        return text
    room = max(limit, 4) - 3
    kept = 0
    for position, character in enumerate(text):
        room -= cells(character)
        if room < 0:
            break
        kept = position + 1
    return text[:kept] + "..."
