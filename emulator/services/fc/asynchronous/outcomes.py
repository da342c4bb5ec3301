"""Delivers the result of an asynchronous call to its destination and to its waiters.

Messages are sent in the transaction that records the end, so none is lost and none is sent twice.

Source: the result callback page for the message; the values of ``condition`` and ``functionError`` are assumed.
"""

import asyncio
import json
import logging
from collections.abc import Callable

from emulator.kernel.clock import Millis
from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import Tenant
from emulator.services.fc import limits
from emulator.services.fc.asynchronous.model import FINAL, AsyncCall, AsyncOutcome, Status
from emulator.services.fc.asynchronous.store import AsyncStore
from emulator.services.fc.catalog.resolving import Resolver
from emulator.services.fc.model import (
    LATEST,
    FunctionName,
    FunctionRef,
    MessageTarget,
    function_arn,
    parse_function_arn,
    parse_message_arn,
)
from emulator.services.fc.ports import FC, DestinationRefused, Ports
from emulator.storage.database import CommitFailed, Database

_log = logging.getLogger(__name__)

HandOver = Callable[[Tenant, FunctionName, bytes, str], None]
"""Queues an asynchronous call of a function: tenant, function, event, key. Raises: ServiceError."""


class Destinations:
    """Delivers messages about ended calls, with the rights of the function's role."""

    def __init__(self, ports: Ports, resolver: Resolver, hand_over: HandOver) -> None:
        self._messages = ports.destinations
        self._guard = ports.guard
        self._resolver = resolver
        self._hand_over = hand_over

    def deliver(self, arn: str, call: AsyncCall, now: Millis) -> bool:
        """Send the result of *call* to the resource *arn*; return whether the destination accepted the message.

        A destination that refuses, or does not exist in the emulator, is logged; the call's own result stays.
        """
        try:
            self._send(arn, call, message(call, now))
        except (DestinationRefused, ServiceError) as error:
            _log.error("%s: the destination %s did not accept the result: %s", call.request_id, arn, error)
            return False
        except Exception:
            # the call has ended and is recorded as ended, however its receiver failed
            _log.exception("%s: the destination %s failed", call.request_id, arn)
            return False
        return True

    def _send(self, arn: str, call: AsyncCall, body: str) -> None:
        lane = call.lane
        if (function := parse_function_arn(arn)) is not None:
            self._check(lane, function)
            key = f"{call.request_id}:{call.seq}:{'success' if call.status is Status.SUCCEEDED else 'failure'}"
            self._hand_over(lane.tenant, function, body.encode("utf-8", "replace"), key)
            return
        target = parse_message_arn(arn)
        if target is not None:
            self._check(lane, target)
        if target is None or self._messages is None:
            raise DestinationRefused("this emulator does not serve destinations of this kind")
        self._messages.send(lane.tenant, target, body)

    def _check(self, lane: FunctionRef, target: FunctionName | MessageTarget) -> None:
        """Check that the role of the function whose call has ended may send its result to *target*.

        Raises: DestinationRefused; FcError when the function is gone.
        """
        if self._guard is None:
            return
        role = self._resolver.target(lane.tenant, lane.service, lane.function, lane.qualifier, 0.0).role
        reason = self._guard.refusal(lane.tenant, role, FC, target)
        if reason is not None:
            raise DestinationRefused(reason)


def message(call: AsyncCall, now: Millis) -> str:
    """Return the JSON text that a destination gets about *call*, which has ended.

    Source: the page's sample for ``service.qualifier``; that 3.0 leaves out LATEST is assumed.
    """
    lane = call.lane
    was_refused = call.http_status != 200
    condition = call.error or ("" if call.status is Status.SUCCEEDED else call.status.value)
    return json.dumps(
        {
            "timestamp": now,
            "requestContext": {
                "requestId": call.request_id,
                "functionArn": function_arn(
                    lane.tenant,
                    lane.service,
                    lane.function,
                    lane.qualifier if lane.service or lane.qualifier != LATEST else "",
                ),
                "condition": condition,
                "approximateInvokeCount": _attempts(call),
            },
            "requestPayload": call.event.decode("utf-8", "replace"),
            "responseContext": {
                "statusCode": call.http_status or 500,
                "functionError": "" if was_refused else call.error,
            },
            "responsePayload": call.result[: limits.TASK_PAYLOAD_BYTES].decode("utf-8", "replace"),
        },
        ensure_ascii=False,
        separators=(",", ":"),
    )


def _attempts(call: AsyncCall) -> int:
    return max(1, call.retries + (call.status is Status.SUCCEEDED))


class Completions:
    """Lets callers wait for the end of an asynchronous call, by request id; `close` cancels the waiters."""

    def __init__(self, store: AsyncStore, database: Database) -> None:
        self._store = store
        self._database = database
        self._waiting: dict[str, tuple[FunctionRef, list[asyncio.Future[AsyncOutcome]]]] = {}

    async def wait(self, tenant: Tenant, request_id: str) -> AsyncOutcome:
        """Return how a call has ended, once it has.

        Raises: LookupError for a call that is not known (any more).
        """
        call = self._store.by_request(tenant, request_id)
        if call is None:
            raise LookupError(request_id)
        if call.status in FINAL:
            return outcome_of(call, call.result)
        waiter: asyncio.Future[AsyncOutcome] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(request_id, (call.lane, []))[1].append(waiter)
        return await waiter

    def resolve(self, call: AsyncCall, body: bytes) -> None:
        """Release the waiters for *call*, which has ended with *body*, once that is on disk."""
        if call.request_id in self._waiting:
            self._database.after_commit(self._release(outcome_of(call, body)))

    def resolve_removed(self, tenant: Tenant, service: str, function: str) -> None:
        """Release, with the status Invalid, the waiters for calls of a deleted function whose rows were removed."""
        for request_id, (lane, _) in list(self._waiting.items()):
            if lane[:3] == (tenant, service, function) and self._store.by_request(tenant, request_id) is None:
                gone = AsyncOutcome(request_id=request_id, status=Status.INVALID, body=b"", error="", http_status=0)
                self._database.after_commit(self._release(gone))

    def close(self) -> None:
        """Cancel every waiter."""
        for _, waiting in self._waiting.values():
            for waiter in waiting:
                waiter.cancel()
        self._waiting.clear()

    def _release(self, outcome: AsyncOutcome) -> Callable[[CommitFailed | None], None]:
        def release(failure: CommitFailed | None) -> None:
            if failure is not None:
                return
            _, waiting = self._waiting.pop(outcome.request_id, (None, []))
            for waiter in waiting:
                if not waiter.done():
                    waiter.set_result(outcome)

        return release


def outcome_of(call: AsyncCall, body: bytes) -> AsyncOutcome:
    """Return how a call has ended; *body* is what its last attempt answered."""
    return AsyncOutcome(
        request_id=call.request_id, status=call.status, body=body, error=call.error, http_status=call.http_status,
        attempts=_attempts(call), destination=call.destination,
    )  # fmt: skip
