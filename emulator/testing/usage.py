"""The usage of a test or an execution, as the cloud would meter it."""

from collections.abc import Mapping, Sequence
from typing import Any


class Usage:
    """Amounts by item; ``items`` has the sums by name, ``rows`` the amounts with resource and kind."""

    items: Mapping[str, float]
    rows: Sequence[Mapping[str, Any]]

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.items = content["items"]
        self.rows = content["rows"]

    def of(self, item: str, *, resource: str = "", kind: str = "") -> float:
        """Return the amount of an item, limited to one resource or kind if given.

        *item* is a name such as ``fnf.transitions``, or the beginning of some: ``mns.requests``, ``fc``.
        """
        return sum(
            float(row["amount"])
            for row in self.rows
            if (row["item"] == item or row["item"].startswith(f"{item}."))
            and (not resource or row["resource"] == resource)
            and (not kind or row["kind"] == kind)
        )

    @property
    def calls(self) -> float:
        """Calls of functions."""
        return self.of("fc.calls")

    @property
    def gb_seconds(self) -> float:
        """Memory of functions while they served calls, in GB-seconds."""
        return self.of("fc.memory_gb_seconds.active")

    @property
    def transitions(self) -> float:
        """Steps that executions entered."""
        return self.of("fnf.transitions")

    @property
    def message_requests(self) -> float:
        """Requests to queues and topics."""
        return self.of("mns.requests")

    def __repr__(self) -> str:
        return f"<Usage {dict(self.items)}>"
