"""The requests of one gateway: those under way, and counts and durations of those answered.

Each answer is counted, recorded while somebody records, and logged in one line.

For metering, requests, refusals and bytes in both directions are counted by resource.
"""

import logging
from collections.abc import Callable, Container, Iterator
from typing import Final, NamedTuple

from emulator.gateway.recording import Record
from emulator.http.message import Response
from emulator.kernel.clock import Clock, Millis
from emulator.kernel.instrumentation import Busy, Upcoming, Waiting, Watchers
from emulator.kernel.metering import MESSAGE_UNIT_BYTES, UNMETERED
from emulator.kernel.metrics import Family, Histogram, Sample
from emulator.wire.request import Front, OperationRequest
from emulator.wire.rpc import RpcFront

_log = logging.getLogger("emulator.access")

_OWN_FRONTS = frozenset({"admin", "console", "deployments"})
"""Fronts whose calls do not count as the emulator's work: calls that wait until it is idle are among them."""

MOST_OPERATIONS: Final = 400
"""Operations counted apart. All APIs together have fewer; what a client invents beyond that is counted as one."""

OTHER: Final = "other"


MOST_RESOURCES: Final = 2_000
"""Resources counted apart for each operation; names that clients invent beyond that are counted as one."""

_NAMES = (
    *("FlowName", "Name", "ScheduleName", "ExecutionName", "QueueName", "TopicName", "SubscriptionName"),
    *("RoleName", "PolicyName", "UserName"),
)
"""Parameters of RPC calls that name the resource, the outer before the inner."""

_LONGEST_RESOURCE = 300

_LINE = "%(request)s %(service)s %(operation)s %(status)d %(ms).1fms"


class Carried(NamedTuple):
    """What an operation on a resource has carried since the start.

    ``units`` is how many requests the message service would meter: each started 64 KB of the larger way is one.
    """

    service: str
    operation: str
    resource: str
    requests: int
    refused: int
    units: int
    received_bytes: int
    sent_bytes: int


class Traffic:
    """Counts the answers of one gateway."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[list[int], Histogram, dict[str, list[int]]]] = {}

    def count(
        self,
        service: str,
        operation: str,
        status: int,
        spent_s: float,
        resource: str = "",
        received: int = 0,
        sent: int = 0,
        *,
        metered: bool = True,
    ) -> None:
        """Count an answer of *sent* bytes to a request of *received*; two microseconds, on every request.

        One that is not *metered* is left out of `carried`.
        """
        known = self._known.get((service, operation)) or self._add(service, operation)
        known[0][status // 100] += 1
        known[1].observe(spent_s)
        if not metered:
            return
        carried = known[2].get(resource) or self._add_resource(known[2], resource)
        carried[0] += 1
        if status >= 400:
            carried[1] += 1
        most = received if received > sent else sent
        carried[2] += -(-most // MESSAGE_UNIT_BYTES) or 1
        carried[3] += received
        carried[4] += sent

    def _add(self, service: str, operation: str) -> tuple[list[int], Histogram, dict[str, list[int]]]:
        if len(self._known) >= MOST_OPERATIONS:
            operation = OTHER
        return self._known.setdefault((service, operation), ([0] * 10, Histogram(), {}))

    def _add_resource(self, resources: dict[str, list[int]], resource: str) -> list[int]:
        return resources.setdefault(resource if len(resources) < MOST_RESOURCES else OTHER, [0] * 5)

    def carried(self) -> Iterator[Carried]:
        """Yield what was carried, by service, operation and resource."""
        for (service, operation), (_, _, resources) in self._known.items():
            for resource, numbers in resources.items():
                yield Carried(service, operation, resource, *numbers)

    def figures(self) -> list[Family]:
        """Return the counts by service, operation and class of status, and the spans by service and operation."""
        counts, spans = [], []
        for (service, operation), (by_class, histogram, _) in self._known.items():
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


class AccessLog:
    """The answers of one gateway, as they leave."""

    __slots__ = ("_clock", "_record", "_traffic")

    def __init__(self, clock: Clock, traffic: Traffic) -> None:
        self._clock = clock
        self._traffic = traffic
        self._record: Record | None = None

    def record(self, record: Record | None) -> None:
        """Call *record* with the front, call and answer of each request from now on; None ends that."""
        self._record = record

    @property
    def records(self) -> bool:
        """Whether a recording runs, for which bodies have to come whole."""
        return self._record is not None

    def answered(
        self, front: Front | None, call: OperationRequest, response: Response, started: float | None = None
    ) -> None:
        """Note an answer; *started* is the monotonic second in which its request began, None when that took no time."""
        spent_s = self._clock.monotonic() - started if started is not None else 0.0
        service = front.name if front is not None else "-"
        path, body = call.path, response.body
        resource = path.get("queue") or path.get("topic") or path.get("bucket") or ""
        size = len(body) if type(body) is bytes else _announced(response)
        self._traffic.count(
            service,
            call.operation,
            response.status,
            spent_s,
            resource,
            call.http.body_size,
            size,
            metered=UNMETERED not in call.http.headers,
        )
        if self._record is not None:
            self._record(service, call, response)
        if _log.isEnabledFor(logging.INFO):
            fields: dict[str, object] = {
                "request": call.request_id,
                "service": service,
                "operation": call.operation if call.operation != "-" else _asked(front, call),
                "status": response.status,
                "ms": round(spent_s * 1000, 3),
            }
            if resource := _resource(front, call):
                fields["resource"] = resource
            if call.principal is not None:
                fields["caller"] = call.principal.arn
            if call.about is not None:
                fields |= call.about
            _log.info(_LINE, fields)


def _resource(front: Front | None, call: OperationRequest) -> str:
    """Return the names in a call, joined by slashes: a queue, a topic and its subscription, a flow and so on."""
    if call.path:
        names = list(call.path.values())
    elif isinstance(front, RpcFront):
        parameters = call.parameters
        names = [parameters[each] for each in _NAMES if each in parameters]
    else:
        return ""
    return "/".join(names)[:_LONGEST_RESOURCE]


def _asked(front: Front | None, call: OperationRequest) -> str:
    """Return what a call asked for that came to no operation, fit for a log line: method and path, or host and action.

    No query, which can hold signatures and tokens; no control characters.
    """
    is_rpc = isinstance(front, RpcFront) and call.action
    text = f"{call.host} {call.action}" if is_rpc else f"{call.http.method} {call.http.path}"
    return ascii(text[:200])[1:-1]


def _announced(response: Response) -> int:
    """Return the Content-Length of an answer in pieces, 0 without one."""
    length = response.header("content-length")
    return int(length) if length.isdecimal() else 0


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
        if self.watchers:
            self.watchers.notify()

    def notify(self) -> None:
        """Call the watchers."""
        if self.watchers:
            self.watchers.notify()

    def busy(self, now: Millis) -> Iterator[Busy]:
        """Yield the requests in work; parked long polls and calls of the emulator's own API are not among them."""
        resting = self._resting()
        for call, front in self._in_work.items():
            if call.request_id in resting:
                continue
            if not call.parked and front is not None and front.name not in _OWN_FRONTS:
                resource = f"{front.name} {call.operation}"
                yield Busy(
                    kind="request", resource=resource, since=call.now, detail=f"request {call.request_id}",
                    waits="function" if front.name == "fc" else "",
                )  # fmt: skip

    def open(self) -> Iterator[tuple[OperationRequest, str]]:
        """Yield the requests that have no answer yet, each with the name of its front, parked long polls too."""
        for call, front in self._in_work.items():
            yield call, front.name if front is not None else ""

    def upcoming(self, now: Millis, limit: int) -> Iterator[Upcoming]:
        """Yield nothing: when clients send requests is not known."""
        yield from ()

    def waiting(self) -> Iterator[Waiting]:
        """Return nothing: what requests wait for is named by the services."""
        yield from ()
