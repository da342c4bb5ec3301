"""What the gateway counts of requests: how many, how they ended, how long they took."""

from typing import Final

from emulator.kernel.metrics import Family, Histogram, Sample

MOST_OPERATIONS: Final = 400
"""Operations counted apart. All APIs together have fewer; what a client invents beyond that is counted as one."""

OTHER: Final = "other"


class Traffic:
    """Counts the answers of one gateway."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[list[int], Histogram]] = {}

    def count(self, service: str, operation: str, status: int, spent_s: float) -> None:
        """Count an answer; a microsecond, on every request."""
        known = self._known.get((service, operation)) or self._add(service, operation)
        known[0][status // 100] += 1
        known[1].observe(spent_s)

    def _add(self, service: str, operation: str) -> tuple[list[int], Histogram]:
        if len(self._known) >= MOST_OPERATIONS:
            operation = OTHER
        return self._known.setdefault((service, operation), ([0] * 10, Histogram()))

    def figures(self) -> list[Family]:
        """Return the counts by service, operation and class of status, and the spans by service and operation."""
        counts, spans = [], []
        for (service, operation), (by_class, histogram) in self._known.items():
            labels = {"service": service, "operation": operation}
            counts += [
                Sample({**labels, "status": f"{first}xx"}, number) for first, number in enumerate(by_class) if number
            ]
            spans += histogram.samples(labels)
        return [
            Family("localyun_requests_total", "counter", "Requests answered, by class of HTTP status.", counts),
            Family(
                "localyun_request_duration_seconds",
                "histogram",
                "Time from a whole request to its answer; long polls and function calls are in it.",
                spans,
            ),
        ]
