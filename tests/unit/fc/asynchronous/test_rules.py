"""What follows an attempt: tables of delays and verdicts."""

from itertools import pairwise

import pytest

from emulator.kernel.clock import HOUR, Millis
from emulator.kernel.identity import Tenant
from emulator.services.fc.asynchronous.model import (
    AsyncCall,
    AsyncConfig,
    Attempt,
    Policy,
    Status,
    expires_at,
    function_delay_ms,
    judge,
    platform_delay_ms,
    policy_of,
    refused,
)
from emulator.services.fc.errors import FcError, function_not_found
from emulator.services.fc.model import FunctionRef

START = Millis(1_700_000_000_000)
POLICY = Policy(max_age_ms=24 * HOUR, max_retries=3)
SUCCESS = Attempt(http_status=200, body=b"")
FAILURE = Attempt(http_status=200, body=b"", error="UnhandledInvocationError")


def a_call(function_failures=0, platform_failures=0):
    return AsyncCall(
        seq=1, lane=FunctionRef(Tenant("1", "cn"), "s", "f", "LATEST"), request_id="r", task_id="", call_key="",
        event=b"",
        tracing={}, accepted_at=START, status=Status.RUNNING, due_at=None,
        function_failures=function_failures, platform_failures=platform_failures,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("failures", "delay_ms"), [(1, 1000), (2, 2000), (3, 4000), (8, 128_000)], ids=lambda value: str(value)
)
def test_pause_after_a_failure_of_the_function_doubles(failures, delay_ms):
    """The first is the configured one."""
    assert function_delay_ms(failures) == delay_ms


def test_pauses_after_failures_of_the_platform_double_from_half_a_second_and_take_five_hours():
    """Half a second, one, two, four ...; the last is shortened to end with the five hours, then there is none."""
    pauses = []
    while (pause := platform_delay_ms(len(pauses) + 1)) is not None:
        pauses.append(pause)

    assert pauses[:6] == [500, 1000, 2000, 4000, 8000, 16_000]
    assert sum(pauses) == 5 * HOUR
    assert all(later == 2 * earlier for earlier, later in pairwise(pauses[:-1]))


@pytest.mark.parametrize(
    ("call", "attempt", "status", "delay_ms"),
    [
        (a_call(), SUCCESS, Status.SUCCEEDED, None),
        (a_call(1), FAILURE, Status.RETRYING, 1000),
        (a_call(3), FAILURE, Status.RETRYING, 4000),
        (a_call(4), FAILURE, Status.FAILED, None),
        (a_call(0, 1), refused(FcError("ResourceExhausted")), Status.RETRYING, 500),
        (a_call(0, 4), refused(FcError("ResourceThrottled")), Status.RETRYING, 4000),
        (a_call(3, 2), refused(FcError("InternalServerError")), Status.RETRYING, 1000),
        (a_call(0, 17), refused(FcError("InternalServerError")), Status.FAILED, None),
        (a_call(1), refused(FcError("CAExited", detail="x")), Status.RETRYING, 1000),
        (a_call(4), refused(FcError("CAExited", detail="x")), Status.FAILED, None),
        (a_call(), refused(function_not_found("f")), Status.INVALID, None),
        (a_call(), refused(FcError("AliasNotFound", alias="a", owner="f")), Status.INVALID, None),
    ],
    ids=lambda value: value.error or "success" if isinstance(value, Attempt) else "",
)
def test_verdict(call, attempt, status, delay_ms):
    """Each kind of failure counts and waits for itself."""
    verdict = judge(call, attempt, POLICY, START)

    assert verdict.status is status
    assert verdict.due_at == (None if delay_ms is None else START + delay_ms)


def test_call_waits_no_longer_than_its_age_allows():
    """The next attempt is due when the event expires, where it is given up."""
    policy = Policy(max_age_ms=2500, max_retries=3)

    verdict = judge(a_call(3), FAILURE, policy, Millis(START + 1000))

    assert verdict.due_at == expires_at(a_call(), policy) == START + 2500


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (None, (86_400_000, 3)),
        (AsyncConfig(max_retries=0), (86_400_000, 0)),
        (AsyncConfig(max_age_s=60), (60_000, 3)),
    ],
    ids=["none", "retries", "age"],
)
def test_policy_takes_defaults_for_what_is_not_configured(config, expected):
    """A day and three retries."""
    policy = policy_of(config)

    assert (policy.max_age_ms, policy.max_retries) == expected
