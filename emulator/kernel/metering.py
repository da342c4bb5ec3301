"""Counts of what the cloud would meter: plain numbers, kept by the services and read by `emulator.usage` now and then.

A service keeps a `Tally`, or makes amounts when they are read from numbers that it has anyway. They begin at 0 with the
process; `emulator.usage.meter` adds what earlier processes have counted.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

UNMETERED: Final = "x-localyun-unmetered"
"""The header of requests that the cloud would not see, and that are not metered.

The emulator's own commands send it when they read resources to plan a deployment, to export or to compare.
"""


class Amount(NamedTuple):
    """How much of an item a resource has used since the start.

    ``item`` is one of `emulator.usage.items`, ``resource`` a name such as ``queues/orders`` or ``service/function``,
    ``kind`` what the item is told apart by: an operation, a kind of step, a type of instance; "" for nothing.
    """

    item: str
    resource: str
    kind: str
    value: float


class Tally:
    """Amounts since the start, by item, resource and kind."""

    __slots__ = ("_amounts",)

    def __init__(self) -> None:
        self._amounts: dict[tuple[str, str, str], float] = {}

    def add(self, item: str, resource: str, kind: str = "", value: float = 1) -> None:
        """Add *value* to an amount."""
        key = item, resource, kind
        self._amounts[key] = self._amounts.get(key, 0) + value

    def amounts(self) -> Iterator[Amount]:
        """Yield what was counted."""
        for key, value in self._amounts.items():
            yield Amount(*key, value)


MESSAGE_UNIT_BYTES = 64 * 1024
"""A request of the message service is metered once for each started 64 KB. Source: MNS, "Billing"."""


def message_units(size: int) -> int:
    """Return how many requests one of *size* bytes is metered as."""
    return -(-size // MESSAGE_UNIT_BYTES) or 1


def added(amounts: Iterable[Amount]) -> dict[tuple[str, str, str], float]:
    """Return *amounts* by item, resource and kind, those of the same added up."""
    totals: dict[tuple[str, str, str], float] = {}
    for item, resource, kind, value in amounts:
        totals[item, resource, kind] = totals.get((item, resource, kind), 0) + value
    return totals
