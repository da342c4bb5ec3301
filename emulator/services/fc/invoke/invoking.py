"""One call of a function: its target, the keys of its role, the run, and the errors when it cannot be run."""

import json
import logging
from asyncio import CancelledError
from collections.abc import Callable, Mapping
from math import ceil
from typing import NamedTuple

from emulator.http.message import Request
from emulator.kernel.clock import Clock, Millis
from emulator.kernel.frozen import field, frozen, replace
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.instrumentation import Origin, Subject
from emulator.kernel.tracing import current_trace
from emulator.kernel.turnstile import Turnstile, befallen
from emulator.services.fc import limits
from emulator.services.fc.capacity.admission import Admission
from emulator.services.fc.catalog.affinity import Affinity
from emulator.services.fc.catalog.resolving import FunctionKeys, Resolver, Target, is_fixed
from emulator.services.fc.errors import EntityTooLarge, FcError, InvalidArgument
from emulator.services.fc.model import CUSTOM_CONTAINER, LATEST, FunctionRef, display_name, invocation_of
from emulator.services.fc.ports import Called, Ended, FunctionDoubles, Instances, Ports
from emulator.services.fc.runtime import logs
from emulator.services.fc.runtime.model import (
    HttpCall,
    InstancesExhausted,
    InstanceStartFailed,
    Invocation,
    InvocationResult,
    RequestBroken,
    ResponseTooLarge,
    RuntimeFailure,
    RuntimeUnavailable,
    SeatBusy,
    Size,
)
from emulator.services.fc.runtime.streaming import RequestPieces
from emulator.services.fc.sessions.visits import Arrival, Reception, Visit

_log = logging.getLogger(__name__)

_RECORDED_TOGETHER = 200
_BROKEN_OFF = frozenset({"crash-after", "timeout"})
_SMALL = 64 * 1024
"""Ended calls with more bytes than this are recorded at once, as records keep only the beginning of long bodies."""


@frozen
class FunctionCall:
    """A call to make.

    ``service`` is empty for a 3.0 function; ``tracing``, ``http``, ``stream`` and ``body`` as in `Invocation`.
    ``request`` is the HTTP request it comes with, for aliases that route by content. ``origin`` is who calls;
    ``attempt`` marks an attempt at a queued call. ``session`` as in `Arrival.drawn`. ``version`` is what the alias has
    chosen already, empty when it has not.
    """

    service: str
    function: str
    qualifier: str | None
    event: bytes
    request_id: str
    now: Millis
    retry_count: int = 0
    tracing: Mapping[str, str] = field(default_factory=dict)
    http: HttpCall | None = None
    stream: bool = False
    request: Request | None = None
    origin: Origin = "client"
    attempt: bool = False
    body: RequestPieces | None = None
    session: tuple[str, str] | None = None
    version: str = ""

    @property
    def subject(self) -> Subject:
        """The names and origins of the call, by which faults and mocks select it."""
        origins: tuple[Origin, ...] = (self.origin, "async") if self.attempt else (self.origin,)
        return invocation_of(self.service, self.function, self.qualifier, *origins)


Enqueue = Callable[[Tenant, FunctionCall, str], str]
"""Queues a call in the current transaction and returns its request id; a key that is known queues nothing.

Raises: FcError.
"""


class Invoked(NamedTuple):
    """A call that was made. ``version`` is what ran (``LATEST`` or a number), ``checksum`` that of its code.

    ``fields`` are header fields of the answer that tell the caller its session, such as a cookie.
    """

    result: InvocationResult
    version: str
    checksum: str
    fields: tuple[tuple[str, str], ...] = ()


class Invoker:
    """Calls functions: finds the target, gets keys, runs the call in an instance or lets a mock answer it."""

    def __init__(
        self,
        resolver: Resolver,
        instances: Instances,
        ids: Ids,
        keys: FunctionKeys,
        admission: Admission,
        clock: Clock,
        ports: Ports,
        reception: Reception,
        turns: Turnstile,
    ) -> None:
        self._clock = clock
        self._reception = reception
        self._turns = turns
        self._interference = ports.interference
        self._doubles = ports.doubles
        self._resolver = resolver
        self._instances = instances
        self._admission = admission
        self._ids = ids
        self._keys = keys
        self.ended: dict[tuple[str, str], int] = {}
        """Calls that have ended since the start: by result (succeeded, failed, refused) and start (cold, warm)."""
        self._made: dict[str, int] = {}
        self.spent: dict[tuple[str, Size | None], list[int]] = {}
        """Since the start, by function and size of its instances (None for calls that a mock has answered): the number
        of calls, milliseconds billed, and those on instances kept ready. A started millisecond is billed."""

    def running(self) -> list[tuple[str, Millis, str]]:
        """Return the calls that run: the function's name, since when, request id; without those of `connected`."""
        return self._running(connected=False)

    def connected(self) -> list[tuple[str, Millis, str]]:
        """Return the calls that are connections kept open, on which functions wait for their clients."""
        return self._running(connected=True)

    def _running(self, *, connected: bool) -> list[tuple[str, Millis, str]]:
        return [
            (display_name(ticket.place.service, ticket.place.function), ticket.since, ticket.request_id)
            for ticket in self._admission.running()
            if ticket.connected is connected
        ]

    def made(self, function: str) -> int:
        """Return how many calls of ``service/function`` or ``function`` have ended since the start."""
        return self._made.get(function, 0)

    def check(self, tenant: Tenant, call: FunctionCall) -> Target:
        """Return the target of *call* without running it; the choice between an alias's versions is made here.

        A call of a session runs the target with which the session began, even if its alias or function has changed.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, EntityTooLarge, InvalidArgument.
        """
        if len(call.event) > limits.SYNC_PAYLOAD_BYTES:
            raise EntityTooLarge(limit=limits.SYNC_PAYLOAD_BYTES)
        target = self._resolver.target(
            tenant, call.service, call.function, call.qualifier, self._ids.fraction(), call.request, call.version
        )
        if target.affinity is None and (call.service or is_fixed(call.qualifier)):
            return target
        return self._kept_to(tenant, call, target)

    def _kept_to(self, tenant: Tenant, call: FunctionCall, target: Target) -> Target:
        """Return *target*, or what the session runs that *call* names by any of the versions of its alias."""
        arrival = _arrival(tenant, call)
        if arrival is None:
            return target
        choices = [target]
        if not is_fixed(call.qualifier):
            choices += self._resolver.choices(tenant, call.service, call.function, call.qualifier or LATEST)
        return self._reception.kept_to(arrival, choices) or target

    def drawn(self, call: FunctionCall, target: Target) -> tuple[str, str] | None:
        """Return the header field of the session that *call* begins on *target*, for an event that shows it."""
        if call.request is None or target.affinity is None:
            return None
        return self._reception.drawn(call.request, target.affinity)

    def check_callable(self, tenant: Tenant, call: FunctionCall) -> str:
        """Check that the function of *call* exists and that its invocation is enabled.

        Return the version that an alias has chosen for *call*, empty when there was nothing to choose.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, InvalidArgument, InvocationDisabled.
        """
        if self._mocks(call.service, call.function, call.qualifier):
            return call.version
        fixed = is_fixed(call.qualifier)
        draw = 1.0 if fixed or call.version else self._ids.fraction()
        target = self._resolver.target(
            tenant, call.service, call.function, call.qualifier, draw, call.request, call.version
        )
        self._admission.check_enabled(tenant, call.service, call.function)
        return "" if fixed else target.version

    def is_undisturbed(self, call: FunctionCall) -> bool:
        """Whether *call* goes to its function as it is: no mock answers it, and no schedule is set."""
        return not self._turns.active and self._mocks(call.service, call.function, call.qualifier) is None

    async def invoke(self, tenant: Tenant, call: FunctionCall) -> Invoked:
        """Make *call*. A function that fails is a result with ``error_type``, not an exception.

        Raises: as `check`; InvocationDisabled, InvocationAborted, ResourceExhausted, ResourceThrottled, CAExited,
        CAFileNotFound, EntityTooLarge for an oversized result.
        """
        if self._turns.active:
            self._turns.touch(f"function {display_name(call.service, call.function)}")
        invoked = await self.mocked(call)
        target = self.check(tenant, call) if invoked is None else None
        if target is not None:
            invoked = await self.run(tenant, call, target)
        assert invoked is not None
        return self._broken_off(invoked, target) if self._turns.active and befallen() in _BROKEN_OFF else invoked

    def _broken_off(self, invoked: Invoked, target: Target | None) -> Invoked:
        """Return the failure of a call that a schedule of effects breaks off after the function has done its work.

        The message has zero for time and memory rather than measured values, so that the answer is the same every time.
        """
        message = logs.process_exited(0.0, 0.0)
        if befallen() == "timeout":
            message = logs.timed_out(target.image.timeout_s if target is not None else limits.TIMEOUT_S.default, 0.0)
        if target is not None:
            self._instances.retire_family(target.image.family)
        result = replace(invoked.result, body=logs.error_body(message), error_type="UnhandledInvocationError")
        return invoked._replace(result=result)

    def _mocks(self, service: str, function: str, qualifier: str | None) -> FunctionDoubles | None:
        """Return the doubles if the function has a mock, else None."""
        doubles = self._doubles
        if doubles is not None and doubles.mocked and doubles.mocks(service, function, qualifier or ""):
            return doubles
        return None

    async def mocked(self, call: FunctionCall) -> Invoked | None:
        """Return the result of *call* by a mock, None when the function itself is to be called."""
        doubles = self._mocks(call.service, call.function, call.qualifier)
        result = await doubles.answer(_called(call)) if doubles is not None else None
        if result is None:
            return None
        label = display_name(call.service, call.function)
        ended = "failed" if result.error_type else "succeeded"
        self._note_end(call.request_id, label, None, ended, "mock", result.duration_ms)
        return Invoked(result=result, version=LATEST, checksum="")

    async def run(self, tenant: Tenant, call: FunctionCall, target: Target) -> Invoked:
        """Make *call* on what `check` has found for it.

        Raises: CAExited, CAFileNotFound, ResourceExhausted, EntityTooLarge for an oversized result; InvalidArgument,
        SessionNotActive for its session.
        """
        visit = self._visit(tenant, call, target, target.affinity) if target.affinity is not None else None
        if visit is not None:
            target = visit.target
        function = target.function
        code = function.code
        checksum = code.checksum if code else ""
        if function.problem:
            result = _broken(function.problem, call.request_id)
            return Invoked(result=result, version=target.version, checksum=checksum)
        invocation = self.invocation(tenant, call, target)
        admission = self._admission
        place = FunctionRef(tenant, call.service, call.function, call.qualifier or LATEST)
        ticket = admission.enter(place, function.config, call.request_id, call.now)
        stream = None
        try:
            if visit is None:
                result = await self._instances.invoke(target.image, invocation)
            else:
                result = await visit.run(invocation)
            stream = result.stream
            ticket.connected = stream is not None and (
                stream.upstream is not None or (visit is not None and visit.listens)
            )
        except RuntimeFailure as failure:
            self._note_end(call.request_id, target.image.label, target.image.size, "refused", "", 0.0)
            refused = refusal(failure)
            if self._doubles is not None:
                self._doubles.refused(_called(call), refused)
            raise refused from failure
        except CancelledError:
            aborted = admission.aborted(ticket)
            if aborted is None:
                raise
            raise aborted from None
        finally:
            if stream is None:
                admission.leave(ticket)
            else:
                stream.at_end(lambda _: admission.leave(ticket))
        started = "cold" if result.cold else "provisioned" if result.provisioned else "warm"
        self._note_end(
            call.request_id,
            target.image.label,
            target.image.size,
            "failed" if result.error_type else "succeeded",
            started,
            result.duration_ms,
        )
        if self._doubles is not None:
            ended = self._doubles.ended
            ended.append(Ended(_called(call), result, current_trace(), self._clock.now()))
            if len(ended) > _RECORDED_TOGETHER or len(call.event) + len(result.body) + len(result.log) > _SMALL:
                self._doubles.record()
        return Invoked(result, target.version, checksum, visit.fields if visit is not None else ())

    def _visit(self, tenant: Tenant, call: FunctionCall, target: Target, affinity: Affinity) -> Visit | None:
        """Return the `Visit` of a call, None for one without a session, such as an attempt at a queued call.

        Raises: InvalidArgument, SessionNotActive.
        """
        arrival = _arrival(tenant, call)
        return None if arrival is None else self._reception.receive(arrival, target, affinity)

    def invocation(self, tenant: Tenant, call: FunctionCall, target: Target) -> Invocation:
        """Return *call* in the form for an instance of *target*."""
        return Invocation(
            request_id=call.request_id,
            event=call.event,
            qualifier=call.qualifier or LATEST,
            retry_count=call.retry_count,
            credentials=self._keys.of(tenant, target, call.now),
            tracing={**call.tracing, **target.tracing} if target.tracing else call.tracing,
            http=call.http,
            stream=call.stream,
            fault=self._interference.function_fault(call.subject) if self._interference.active else "",
            body=call.body,
        )

    def _note_end(
        self, request_id: str, label: str, size: Size | None, result: str, started: str, spent_ms: float
    ) -> None:
        """Count a call and log it; one that the platform could not run is not metered."""
        self.ended[result, started] = self.ended.get((result, started), 0) + 1
        self._made[label] = self._made.get(label, 0) + 1
        if result != "refused":
            spent = self.spent.get((label, size)) or self.spent.setdefault((label, size), [0, 0, 0])
            billed_ms = ceil(spent_ms)
            spent[0] += 1
            spent[1] += billed_ms
            if started == "provisioned":
                spent[2] += billed_ms
        _log.info(
            "call %(request)s of function %(function)s %(result)s %(start)s %(ms).1fms",
            {
                "request": request_id, "function": label, "result": result,
                "start": started or "-", "ms": spent_ms,
            },
        )  # fmt: skip


def _arrival(tenant: Tenant, call: FunctionCall) -> Arrival | None:
    """Return *call* as an `Arrival`, None for a call that cannot belong to a session."""
    if call.request is None or call.attempt or call.origin == "async":
        return None
    lane = FunctionRef(tenant, call.service, call.function, call.qualifier or LATEST)
    return Arrival(lane=lane, request=call.request, http=call.http, body=call.event, drawn=call.session)


def too_large(part: str, limit: int) -> InvalidArgument:
    """Return the error for a *part* of an HTTP request that is larger than *limit* bytes."""
    return InvalidArgument(f"the {part} of the request must not be larger than {limit} bytes")


def _called(call: FunctionCall) -> Called:
    event = call.event if call.body is None else call.body.beginning
    return Called(call.service, call.function, call.qualifier or "", call.origin, call.request_id, event, call.now)


def refusal(failure: RuntimeFailure) -> FcError:
    """Return the error for a call that the platform could not run.

    Source: 412 and 429 from the error table; that a runtime missing on this machine looks like a program that cannot
    be found, and a container that cannot be run like one that has exited, is the emulator's choice.
    """
    match failure:
        case RuntimeUnavailable() if failure.runtime != CUSTOM_CONTAINER:
            return FcError("CAFileNotFound", detail=str(failure).rstrip("."))
        case RuntimeUnavailable() | InstanceStartFailed():
            detail = str(failure)
            ends_in_output = "\n" in detail  # of the program, which gets no full stop
            return FcError("CAExited", detail=detail if ends_in_output else f"{detail.rstrip('.')}.")
        case InstancesExhausted():
            return FcError("ResourceExhausted")
        case SeatBusy():
            return FcError("ResourceExhausted", str(failure))
        case RequestBroken() if failure.limit:
            return too_large("body", failure.limit)
        case RequestBroken():
            return InvalidArgument(str(failure))
        case ResponseTooLarge():
            return EntityTooLarge(limit=failure.limit_bytes)
        case _:
            return FcError("InternalServerError")


def _broken(problem: str, request_id: str) -> InvocationResult:
    """Return the failure of a function whose files cannot be used: its callers see why."""
    body = json.dumps({"errorMessage": problem, "errorType": "InvalidFunctionFile"}, ensure_ascii=False).encode()
    log = (
        f"FC Invoke Start RequestId: {request_id}\n{problem}\n"
        f"FC Invoke End RequestId: {request_id}, Error: Unhandled function error\n"
    )
    return InvocationResult(
        body=body,
        error_type="UnhandledInvocationError",
        log=log.encode(),
        duration_ms=0.0,
        max_memory_mb=0.0,
        instance_id="",
        cold=False,
    )
