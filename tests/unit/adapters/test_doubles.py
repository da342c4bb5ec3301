"""Which calls a mock has had: those it has answered, and those it has left to the function."""

import pytest

from emulator.adapters.lab import Doubles
from emulator.kernel.clock import VirtualClock
from emulator.kernel.ids import CountingIds
from emulator.kernel.timers import VirtualTimers
from emulator.lab.service import Bench
from emulator.services.fc.errors import FcError
from emulator.services.fc.ports import Called, Ended
from emulator.services.fc.runtime.model import InvocationResult


@pytest.fixture
def lab():
    clock = VirtualClock()
    timers = VirtualTimers(clock)
    bench = Bench(
        clock, CountingIds(), timers=lambda: timers, changed=lambda: None, address=lambda: "http://127.0.0.1:1",
        interfere=lambda stage: None, sign=lambda text: None, operations=lambda service: (),
        errors=lambda: (),
    )  # fmt: skip
    return bench, Doubles(bench, clock)


def called(number):
    return Called("", "f", "", "client", f"request-{number}", str(number).encode(), 0)


def end(doubles, call):
    """Do as the invoker does when the function itself has answered."""
    result = InvocationResult(
        body=b"real", error_type=None, log=b"", duration_ms=1.0, max_memory_mb=1.0, instance_id="i", cold=False
    )
    doubles.ended.append(Ended(call, result, call.request_id, call.since))


def events(calls):
    return [(call.event, call.answer, bool(call.mock)) for call in calls]


async def test_calls_left_to_the_function_are_the_mocks_own_and_no_others(lab):
    """Neither one that had ended before the mock was there, nor one whose mock has gone meanwhile, changes hands."""
    bench, doubles = lab
    end(doubles, called(0))  # recorded only when somebody looks
    mock = bench.mocks.add({"function": "f", "answers": [{"return": "mocked"}], "then": "real"})

    assert (await doubles.answer(called(1))).body == b"mocked"
    assert await doubles.answer(called(2)) is None
    end(doubles, called(2))

    assert events(bench.calls_of_mock(mock.id)) == [(b"1", b"mocked", True), (b"2", b"real", True)]
    assert events(bench.calls) == [(b"0", b"real", False), (b"1", b"mocked", True), (b"2", b"real", True)]


async def test_a_call_belongs_to_the_mock_that_let_it_through(lab):
    """A newer mock of the function has no part in it, and a call that the platform refuses is counted too."""
    bench, doubles = lab
    first = bench.mocks.add({"function": "f", "then": "real"})
    assert await doubles.answer(called(1)) is None
    assert await doubles.answer(called(2)) is None
    second = bench.mocks.add({"function": "f", "answers": [{"return": 1}]})

    end(doubles, called(1))
    doubles.refused(called(2), FcError("ResourceThrottled", reason="full"))

    assert [call.request_id for call in bench.calls_of_mock(first.id)] == ["request-1", "request-2"]
    assert events(bench.calls_of_mock(second.id)) == []
