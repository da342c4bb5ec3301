"""The width of text: in cells on a terminal, where East Asian characters take two, and in pixels in a picture.

Pixels are estimated so that no usual sans-serif font is wider.
"""

import os
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from typing import TextIO

PIPE_WIDTH = 120
"""Cells of a line when the output is not a terminal and COLUMNS is not set."""

LINE_HEIGHT = 1.35
"""Distance of lines, as a multiple of the font size."""

_NARROW = frozenset("ijl.,:;'|!()[] tfI/\\-`")
_BROAD = frozenset("mwMW@%&—…")
_BREAK = r"(?<=[\s_.,:;/&|=)\]-])|(?<=[a-z0-9])(?=[A-Z])|(?<=[\u2e80-\uffef])"
_FOLD = r"(?<= )(?=\S)|(?<=[\u2e80-\uffef])(?=[^\u3000-\u303f\uff00-\uff60])"
"""Where a line may end: never in front of Chinese punctuation. `re` compiles it where a line is folded, in 1.5 ms."""


def terminal_width(stream: TextIO) -> int:
    """Return the cells of a line on *stream*, by COLUMNS where that is set."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns):
        return int(columns)
    with suppress(AttributeError, ValueError, OSError):
        return os.get_terminal_size(stream.fileno()).columns or PIPE_WIDTH
    return PIPE_WIDTH


def is_wide(character: str) -> bool:
    """Whether *character* takes two cells."""
    return character > "\u02ff" and unicodedata.east_asian_width(character) in "WF"


def cells(text: str) -> int:
    """Return how many cells *text* takes on a line."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(each) else 2 if is_wide(each) else 1 for each in text)


def cut(text: str, limit: int) -> str:
    """Return *text* cut to *limit* cells (at least 4), ending in ``...`` if it was longer."""
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


def fold(text: str, limit: int) -> list[str]:
    """Break *text* into lines of *limit* cells, at blanks and between Chinese characters.

    A part without either, such as a path or an address, stays whole even if it is longer.
    """
    lines = [""]
    for piece in re.split(_FOLD, text):
        if lines[-1] and cells((lines[-1] + piece).rstrip()) > limit:
            lines[-1] = lines[-1].rstrip()
            lines.append("")
        lines[-1] += piece
    return [*lines[:-1], lines[-1].rstrip()]


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return how many pixels *text* takes at most at the font size *size*."""
    ems = 0.0
    for character in text:
        if is_wide(character) or character > "\uffff":
            ems += 1.05
        elif character in _NARROW:
            ems += 0.42
        elif character in _BROAD:
            ems += 1.0
        elif character.isupper():
            ems += 0.76
        else:
            ems += 0.64
    return ems * size * (1.09 if bold else 1.0)


def wrap(text: str, size: float, room: float, most: int, *, bold: bool = False) -> tuple[str, ...]:
    """Break *text* into at most *most* lines of *room* pixels, behind blanks, signs or humps where there are any.

    A longer text is cut and ends in an ellipsis.
    """
    lines: list[str] = [""]
    for piece in _pieces(" ".join(text.split()), size, room, bold=bold):
        if lines[-1] and text_width((lines[-1] + piece).rstrip(), size, bold=bold) > room:
            lines.append("")
        lines[-1] += piece
    lines = [line.strip() for line in lines]
    if len(lines) <= most:
        return tuple(lines)
    last = lines[most - 1]
    while last and text_width(last + "…", size, bold=bold) > room:
        last = last[:-1]
    return (*lines[: most - 1], last + "…")


def _pieces(text: str, size: float, room: float, *, bold: bool) -> Iterator[str]:
    """Yield the parts that stay together on a line; a part longer than a line is yielded by characters."""
    for piece in re.split(_BREAK, text):
        if piece and text_width(piece, size, bold=bold) > room:
            yield from piece
        elif piece:
            yield piece
