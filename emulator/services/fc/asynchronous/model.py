"""Queued calls, their configuration, and the rule for retries: whether a call has ended or is tried again, and when.

A function that fails is tried again as often as its configuration says, after 1 s, 2 s, 4 s ...; a platform that could
not run it is tried again with doubling delays from 0.5 s on for five hours. Both end at the event's maximum age.

Source: API reference of asynchronous invocation for counts, ages and the platform's back-off; that the five hours are
the whole of it, and the delay between retries of a failing function, are assumed.
"""

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from emulator.kernel.clock import SECOND, Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.instrumentation import Origin
from emulator.services.fc import limits
from emulator.services.fc.errors import GONE, FcError, InvalidArgument
from emulator.services.fc.model import Dated, FunctionRef, parse_function_arn
from emulator.services.fc.runtime.model import HttpCall
from emulator.wire.schema.kinds import FLAG, TEXT, Field, Ruled, Shape, duration, needed, record, whole


class Status(StrEnum):
    """The state of a call; the values are those of task records."""

    ENQUEUED = "Enqueued"
    DEQUEUED = "Dequeued"
    RUNNING = "Running"
    RETRYING = "Retrying"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    STOPPING = "Stopping"
    STOPPED = "Stopped"
    EXPIRED = "Expired"
    INVALID = "Invalid"


FINAL = frozenset({Status.SUCCEEDED, Status.FAILED, Status.STOPPED, Status.EXPIRED, Status.INVALID})


@frozen
class AsyncConfig:
    """The settings of asynchronous calls through one qualifier; None stands for the default.

    ``destinations`` is the API's ``destinationConfig``. ``task_mode`` keeps a record of every call.
    """

    destinations: Mapping[str, Any] | None = None
    max_age_s: int | None = None
    max_retries: int | None = None
    task_mode: bool | None = None


@frozen
class StoredConfig(Dated):
    """The configuration of asynchronous calls through ``lane``: a function and a qualifier."""

    lane: FunctionRef
    config: AsyncConfig


@frozen
class Policy:
    """How long and how often a call is tried."""

    max_age_ms: int
    max_retries: int


def policy_of(config: AsyncConfig | None) -> Policy:
    """Return the policy of *config*, with the defaults for what it leaves out."""
    age_s = config.max_age_s if config and config.max_age_s is not None else limits.ASYNC_AGE_S.default
    retries = config.max_retries if config and config.max_retries is not None else limits.ASYNC_RETRIES.default
    return Policy(max_age_ms=age_s * SECOND, max_retries=retries)


def destination_of(config: AsyncConfig | None, status: Status) -> str:
    """Return the resource name of the destination for a call that ended with *status*, empty when there is none.

    A call that was stopped, or whose function is gone, is reported to no destination.
    """
    if status is Status.SUCCEEDED:
        side = "onSuccess"
    elif status in {Status.FAILED, Status.EXPIRED}:
        side = "onFailure"
    else:
        return ""
    target = ((config and config.destinations) or {}).get(side) or {}
    return str(target.get("destination", ""))


@frozen
class AsyncCall:
    """A call that was accepted.

    ``due_at`` is the time of the next attempt, None while one runs and after the end. ``task_id`` is empty outside
    task mode. ``call_key`` is the caller's own name for it. ``running_from`` is the start of the first attempt.
    ``http_status``, ``error`` and ``result`` are those of the last attempt; ``destination`` is how its delivery ended.
    ``trace`` is the request it comes from; ``http`` the HTTP request that it serves, whose body is the event.
    ``origin`` is who queued it: ``async`` for a client and for the destination of another call. ``version`` is what the
    alias of its lane has chosen for it, for all its attempts, empty where there was nothing to choose.
    """

    seq: int
    lane: FunctionRef
    request_id: str
    task_id: str
    call_key: str
    event: bytes
    tracing: Mapping[str, str]
    accepted_at: Millis
    status: Status
    due_at: Millis | None
    function_failures: int = 0
    platform_failures: int = 0
    running_from: Millis | None = None
    ended_at: Millis | None = None
    http_status: int = 0
    error: str = ""
    result: bytes = b""
    instance_id: str = ""
    destination: str = ""
    trace: str = ""
    http: HttpCall | None = None
    origin: Origin = "async"
    version: str = ""

    @property
    def retries(self) -> int:
        """How many attempts have failed so far: what the function sees as its retry count."""
        return self.function_failures + self.platform_failures

    @property
    def is_kept(self) -> bool:
        """Whether a record stays after the end: of tasks, and of calls that may be handed over again."""
        return bool(self.task_id or self.call_key)


@frozen
class TaskEvent:
    """One change in the life of a task; ``event_id`` counts from 1."""

    event_id: int
    status: Status
    at: Millis
    detail: str = ""


@frozen
class AsyncOutcome:
    """How an asynchronous call ended.

    ``status`` is final. ``body`` is what the last attempt answered; ``error`` is its error type or code, empty after
    success, and ``http_status`` the status a synchronous caller would have got (0 when there was no attempt).
    ``destination`` is ``Succeeded`` or ``Failed`` where one was told, else empty.
    """

    request_id: str
    status: Status
    body: bytes
    error: str
    http_status: int
    attempts: int = 0
    destination: str = ""


@frozen
class TaskQuery:
    """Which tasks of a function to list; times are inclusive. ``after`` is the marker of an earlier page."""

    limit: int
    after: int | None = None
    qualifier: str | None = None
    status: Status | None = None
    prefix: str = ""
    begin: Millis | None = None
    end: Millis | None = None
    newest_first: bool = True


class Accepted(NamedTuple):
    """A call that is queued once the transaction is committed; ``task_id`` is empty outside task mode."""

    request_id: str
    task_id: str


@frozen
class Attempt:
    """How one attempt ended.

    ``error`` is the error type of a failed function or the code of a refusal, empty after success; ``refused`` means
    that the platform did not run the function, ``retryable`` that it may later, ``gone`` that there is nothing to run.
    """

    http_status: int
    body: bytes
    error: str = ""
    refused: bool = False
    retryable: bool = False
    gone: bool = False
    instance_id: str = ""


_TASK_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def check_task_id(task_id: str) -> str:
    """Check the id that a caller has chosen for a task.

    Raises: InvalidArgument.
    """
    if len(task_id) > limits.ASYNC_ID_LENGTH or not _TASK_ID.fullmatch(task_id):
        raise InvalidArgument(
            f"async invocation id '{task_id[:200]}' is invalid: it must have 1 to {limits.ASYNC_ID_LENGTH} letters, "
            "digits, '_' and '-' and must start with a letter or '_'"
        )
    return task_id


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


def function_delay_ms(failures: int) -> int:
    """Return the pause after the *failures*-th failure of a function."""
    return int(limits.ASYNC_RETRY_DELAY_MS * 2 ** (failures - 1))


def platform_delay_ms(failures: int) -> int | None:
    """Return the pause after the *failures*-th failure of the platform, None when its back-off has no time left.

    The last pause is shortened so that the last attempt comes when the whole back-off has taken its full time.
    """
    spent = limits.ASYNC_BACKOFF_MS * (2 ** (failures - 1) - 1)
    left = limits.ASYNC_BACKOFF_TOTAL_MS - spent
    return min(limits.ASYNC_BACKOFF_MS * 2 ** (failures - 1), left) if left > 0 else None


def judge(call: AsyncCall, attempt: Attempt, policy: Policy, now: Millis) -> Verdict:
    """Return the state of *call* after *attempt*, which its failure counters already include."""
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
        delay_ms = function_delay_ms(call.function_failures)
    # an event that grows too old while it waits is given up at that very moment
    return Verdict(Status.RETRYING, Millis(min(now + delay_ms, max(now, expires_at(call, policy)))))


def event_detail(error: str) -> str:
    """Return the ``detail`` of a task's event, a JSON object with *error*; empty without one."""
    return json.dumps({"Error": error}, separators=(",", ":")) if error else ""


_KINDS = ("acs:fc:", "acs:mns:", "acs:eventbridge:", "acs:mq:", "acs:rocketmq:", "acs:alikafka:")


def _destination(value: Any, field: str) -> str:
    """Check the resource name of a destination; one of a service that is not emulated is kept and never reached."""
    arn = str(value)
    if arn and not arn.startswith(_KINDS):
        raise InvalidArgument(f"{field} '{arn[:200]}' is invalid: it must be the resource name of a destination")
    if arn.startswith("acs:fc:") and parse_function_arn(arn) is None:
        raise InvalidArgument(f"{field} '{arn[:200]}' is invalid: it does not name a function")
    return arn


_SIDE = record(needed("destination", Ruled(TEXT, _destination)))


_SHARED = (
    Field(
        "destinationConfig", "destinations", record(onSuccess=_SIDE, onFailure=_SIDE),
        names={"file": ("destinationConfig", "destination", "Destination")},
    ),
    Field("maxAsyncEventAgeInSeconds", "max_age_s", duration(limits.ASYNC_AGE_S), unset=None),
    Field("maxAsyncRetryAttempts", "max_retries", whole(limits.ASYNC_RETRIES), unset=None),
)  # fmt: skip
CONFIG_2 = Shape(
    "AsyncInvokeConfig", (*_SHARED, Field("statefulInvocation", "task_mode", FLAG, unset=False)), AsyncConfig
)
"""A configuration of asynchronous calls of a function in a service.

Source: fc-java-sdk FunctionComputeClientTest, whose configuration without an age reads null.
"""


CONFIG_3 = Shape(
    "AsyncInvokeConfig",
    (
        *_SHARED,
        Field(
            "asyncTask", "task_mode", FLAG, unset=False,
            names={"file": ("asyncTask", "AsyncTask", "statefulInvocation")},
        ),
    ),
    AsyncConfig,
)  # fmt: skip
"""A configuration of asynchronous calls of a function without a service.

Source: terraform-provider-alicloud, resource_alicloud_fcv3_async_invoke_config_test.go, whose plan is clean after a
configuration with destinations alone.
"""
