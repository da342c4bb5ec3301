"""The requests of one gateway: which are in work, how many were answered, how they ended, how long they took."""

from collections.abc import Callable, Container, Iterator
from typing import Final

from emulator.kernel.clock import Millis
from emulator.kernel.instrumentation import Busy, Upcoming, Waiting, Watchers
from emulator.kernel.metrics import Family, Histogram, Sample
from emulator.wire.request import Front, OperationRequest

_OWN_FRONTS = frozenset({"admin", "console", "deployments"})
"""Fronts whose calls are no work of the emulator's: they wait for it to be quiet themselves."""

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


class OpenRequests:
    """The requests that are not answered at once (`emulator.kernel.instrumentation.Observed`).

    *resting* returns the ids of calls that a mock keeps waiting by the emulator's clock: these are not busy.
    """

    def __init__(self, resting: Callable[[], Container[str]] = frozenset) -> None:
        self._resting = resting
        self._in_work: dict[OperationRequest, Front | None] = {}
        self.watchers = Watchers()
        """Called when a request has ended or has begun to wait."""

    def begin(self, call: OperationRequest, front: Front | None) -> None:
        """Count *call* as unfinished until `end`."""
        self._in_work[call] = front

    def end(self, call: OperationRequest) -> None:
        """Count *call* as finished, and notify the watchers."""
        del self._in_work[call]
        self.notify()

    def notify(self) -> None:
        """Call the watchers."""
        for notify in self.watchers:
            notify()

    def busy(self, now: Millis) -> Iterator[Busy]:
        """Yield the requests in work; parked long polls and calls of the emulator's own API are not among them."""
        resting = self._resting()
        for call, front in self._in_work.items():
            if call.request_id in resting:
                continue
            if not call.parked and front is not None and front.name not in _OWN_FRONTS:
                resource = f"{front.name} {call.operation}"
                yield Busy(kind="request", resource=resource, since=call.now, detail=f"request {call.request_id}")

    def upcoming(self, now: Millis, limit: int) -> Iterator[Upcoming]:
        """Requests come when clients send them."""
        yield from ()

    def waiting(self) -> Iterator[Waiting]:
        """Requests wait for nothing that the services do not name."""
        yield from ()
