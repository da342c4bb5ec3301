"""How wide text is in pixels, guessed so that no usual sans-serif font is wider; breaking text into lines."""

import re
from collections.abc import Iterator

from emulator.cli.width import is_wide

LINE_HEIGHT = 1.35
"""Distance of lines, in font sizes."""

_NARROW = frozenset("ijl.,:;'|!()[] tfI/\\-`")
_BROAD = frozenset("mwMW@%&—…")
_BREAK = re.compile(r"(?<=[\s_.,:;/&|=)\]-])|(?<=[a-z0-9])(?=[A-Z])|(?<=[\u2e80-\uffef])")


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

    What does not fit is cut and ends in an ellipsis.
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
    """Yield what stays together on a line; what is longer than a line by itself comes in characters."""
    for piece in _BREAK.split(text):
        if piece and text_width(piece, size, bold=bold) > room:
            yield from piece
        elif piece:
            yield piece
