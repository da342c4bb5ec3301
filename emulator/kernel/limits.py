"""Numbers with a range: every service keeps its own in ``limits.py`` in these terms."""

from typing import NamedTuple


class Range(NamedTuple):
    """An inclusive range of whole numbers and the value that holds when nothing is given."""

    low: int
    high: int
    default: int

    def contains(self, value: int) -> bool:
        """Tell whether *value* lies in the range."""
        return self.low <= value <= self.high
