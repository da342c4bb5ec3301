"""What follows an attempt: the end, or another attempt at a time. Pure.

A function that fails is tried again as often as its configuration says, after 1 s, 2 s, 4 s ...; a platform that could
not run it is tried again with doubling delays from 0.5 s on for five hours. Both end when the event's age is over.

Source: API reference of asynchronous invocation for counts, ages and the platform's back-off; that the five hours are
the whole of it, and the delay between retries of a failing function, are assumed.
"""

import json
from typing import NamedTuple

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.services.fc import limits
from emulator.services.fc.asynchronous.model import AsyncCall, Policy, Status
from emulator.services.fc.errors import GONE, FcError


@frozen
class Attempt:
    """How one attempt ended.

    ``error`` is the error type of a failed function or the code of a refusal, empty after success; ``refused`` tells
    that the platform did not run the function, ``retryable`` that it may later, ``gone`` that there is nothing to run.
    """

    http_status: int
    body: bytes
    error: str = ""
    refused: bool = False
    retryable: bool = False
    gone: bool = False
    instance_id: str = ""


class Verdict(NamedTuple):
    """The state after an attempt; ``due_at`` is None for a final one."""

    status: Status
    due_at: Millis | None


def refused(error: FcError) -> Attempt:
    """Return the attempt that ended with a refusal of the platform."""
    body = json.dumps({"errorMessage": error.message, "errorType": error.code}, ensure_ascii=False)
    return Attempt(
        http_status=error.http_status,
        body=body.encode("utf-8", "replace"),
        error=error.code,
        refused=True,
        retryable=error.retryable,
        gone=error.code in GONE,
    )


def expires_at(call: AsyncCall, policy: Policy) -> Millis:
    """Return the time from which *call* is too old to be tried."""
    return Millis(call.accepted_at + policy.max_age_ms)


def function_delay_ms(failures: int, policy: Policy) -> int:
    """Return the pause after the *failures*-th failure of a function."""
    return int(policy.retry_delay_ms * 2 ** (failures - 1))


def platform_delay_ms(failures: int) -> int | None:
    """Return the pause after the *failures*-th failure of the platform, None when its time is over.

    The last pause is shortened so that the last attempt comes when the whole back-off has taken its full time.
    """
    spent = limits.ASYNC_BACKOFF_MS * (2 ** (failures - 1) - 1)
    left = limits.ASYNC_BACKOFF_TOTAL_MS - spent
    return min(limits.ASYNC_BACKOFF_MS * 2 ** (failures - 1), left) if left > 0 else None


def judge(call: AsyncCall, attempt: Attempt, policy: Policy, now: Millis) -> Verdict:
    """Return what becomes of *call*, whose failure counters already include this *attempt*."""
    if not attempt.error:
        return Verdict(Status.SUCCEEDED, None)
    if attempt.gone:
        return Verdict(Status.INVALID, None)
    if attempt.refused and attempt.retryable:
        delay_ms = platform_delay_ms(call.platform_failures)
        if delay_ms is None:
            return Verdict(Status.FAILED, None)
    elif call.function_failures > policy.max_retries:
        return Verdict(Status.FAILED, None)
    else:
        delay_ms = function_delay_ms(call.function_failures, policy)
    # an event that grows too old while it waits is given up at that very moment
    return Verdict(Status.RETRYING, Millis(min(now + delay_ms, max(now, expires_at(call, policy)))))


def event_detail(error: str) -> str:
    """Return what an event of a task says about an error."""
    return json.dumps({"Error": error}, separators=(",", ":")) if error else ""
