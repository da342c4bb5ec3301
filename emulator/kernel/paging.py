"""Marker and limit arithmetic shared by every list operation."""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from emulator.kernel.frozen import frozen

T = TypeVar("T")


@frozen(kw_only=False)
class Page(Generic[T]):
    """One page of a list, and the marker at which the next page begins (None at the end)."""

    items: Sequence[T]
    next_marker: str | None


def cut(rows: Sequence[T], limit: int, marker_of: Callable[[T], str]) -> Page[T]:
    """Make a page of *rows*, which were read with ``limit + 1``: the extra row becomes the marker."""
    if len(rows) <= limit:
        return Page(rows, None)
    return Page(rows[:limit], marker_of(rows[limit]))


class Range(NamedTuple):
    """An inclusive range of whole numbers, and the default."""

    low: int
    high: int
    default: int

    def contains(self, value: int) -> bool:
        """Whether *value* lies in the range."""
        return self.low <= value <= self.high
