"""Mocks: which calls they answer, in which order, and what follows; recorded calls within bounds."""

import asyncio

import pytest

from emulator.kernel.clock import VirtualClock
from emulator.kernel.timers import VirtualTimers
from emulator.lab.errors import LabError
from emulator.lab.mocks import EVENT_BYTES, CallLog, Mocks, Recorded, shown_call


@pytest.fixture
def clock():
    return VirtualClock()


@pytest.fixture
def timers(clock):
    return VirtualTimers(clock)


@pytest.fixture
def mocks(clock, timers):
    return Mocks(clock, lambda: timers, lambda: None)


def a_call(number, event=b"{}"):
    """Return a recorded call."""
    return Recorded("s", "f", "", f"request-{number}", "cause", "flow", 1000, 1005, event, b"1", "", b"log")


def bodies(mock, calls):
    """Return the bodies of the next answers, None where the function itself is to answer."""
    answers = [mock.next() for _ in range(calls)]
    return [answer and answer.body for answer in answers]


@pytest.mark.parametrize(
    ("then", "last"),
    [("repeat", b"2"), ("real", None)],
)
def test_answers_are_given_in_turn_and_then_as_asked(mocks, then, last):
    """The last again, or the real function."""
    mock = mocks.add({"function": "s/f", "answers": [{"return": 1}, {"return": 2}], "then": then})

    assert bodies(mock, 4) == [b"1", b"2", last, last]


def test_a_mock_that_is_used_up_fails_where_that_is_asked_for(mocks):
    """The error says so."""
    mock = mocks.add({"function": "f", "answers": [{"return": 1}], "then": "fail"})
    mock.next()

    answer = mock.next()

    assert answer.failed
    assert b"MockExhausted" in answer.body


@pytest.mark.parametrize(
    ("answer", "body", "failed"),
    [
        ({"return": {"a": 1}}, b'{"a": 1}', False),
        ({"return": "text"}, b"text", False),
        ({"return": None}, b"null", False),
        ({"error": {"errorType": "E", "errorMessage": "m"}}, b'{"errorType": "E", "errorMessage": "m"}', True),
        ({"error": "SoldOut"}, b'{"errorType": "SoldOut", "errorMessage": ""}', True),
        ({"raises": "Seats.SoldOut: row: 7"}, b'{"errorType": "Seats.SoldOut", "errorMessage": "row: 7"}', True),
        ({"error": "no seat is left"}, b'{"errorType": "Error", "errorMessage": "no seat is left"}', True),
    ],
)
def test_answers_are_what_functions_answer(mocks, answer, body, failed):
    """Text as it is, everything else as JSON; errors with type and message."""
    given = mocks.add({"function": "f", "answers": [answer]}).next()

    assert (given.body, given.failed) == (body, failed)


@pytest.mark.parametrize(
    ("function", "qualifier", "found"),
    [
        ("s/f", "", True),
        ("s/f", "prod", True),
        ("s/f.prod", "prod", True),
        ("s.prod/f", "prod", True),
        ("s/f.prod", "", False),
        ("s/f.LATEST", "", True),
        ("f", "", False),
        ("s/g", "", False),
    ],
)
def test_a_mock_is_found_by_name_and_qualifier(mocks, function, qualifier, found):
    """Without a qualifier it stands for every one."""
    mocks.add({"function": function, "answers": [{"return": 1}]})

    assert (mocks.find("s", "f", qualifier) is not None) is found


def test_the_newest_mock_of_a_function_counts_until_it_is_removed(mocks):
    """The older one answers again after that."""
    old = mocks.add({"function": "f", "answers": [{"return": "old"}]})
    new = mocks.add({"function": "f", "answers": [{"return": "new"}]})
    assert mocks.find("", "f", "") is new

    mocks.remove(new.id)

    assert mocks.find("", "f", "") is old


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"function": "f"},
        {"function": "a/b/c", "answers": [{"return": 1}]},
        {"function": "/f", "answers": [{"return": 1}]},
        {"function": "f", "answers": [1]},
        {"function": "f", "answers": [{"return": 1, "error": "x"}]},
        {"function": "f", "answers": [{"result": 1}]},
        {"function": "f", "answers": [{"delay": "soon"}]},
        {"function": "f", "answers": [{"return": 1}], "then": "panic"},
    ],
)
def test_a_mock_that_makes_no_sense_is_refused(mocks, document):
    """With a reason."""
    with pytest.raises(LabError, match=r"^InvalidParameter:"):
        mocks.add(document)


async def test_a_delay_passes_by_the_emulators_clock(mocks, timers):
    """Meanwhile the call is no work in progress, and the end of the delay is an event to come."""

    answer = mocks.add({"function": "f", "answers": [{"return": 1, "delay": "1h"}]}).next()
    resting = asyncio.gather(*(mocks.rest(answer, "f", "request", "flow") for _ in range(2)))
    await asyncio.sleep(0)
    assert mocks.resting() == {"request"}
    assert [mocks.count_resting(origin) for origin in (None, "flow", "client")] == [2, 2, 0]
    assert {event.what for event in mocks.upcoming(0)} == {"answer of a mock"}

    timers.advance(3_600_000)
    await resting

    assert mocks.resting() == set()
    assert mocks.upcoming(0) == []


def test_recorded_calls_are_bounded_in_number_and_bytes():
    """The oldest are forgotten first, and large events are cut."""
    log = CallLog(most=3, most_bytes=2 * EVENT_BYTES)
    for number in range(5):
        log.add(a_call(number))
    assert [call.request_id for call in log] == ["request-2", "request-3", "request-4"]

    log.add(a_call(5, event=b"x" * (3 * EVENT_BYTES)))

    assert list(log)[-1].event == b"x" * EVENT_BYTES


def test_a_recorded_call_is_shown_with_caller_cause_and_times():
    """What is no text is there in base64 as well."""
    shown = shown_call(a_call(1, event=b"\xff"))

    assert shown["function"] == "s/f"
    assert (shown["caller"], shown["cause"], shown["request_id"]) == ("flow", "cause", "request-1")
    assert shown["duration_ms"] == 5
    assert shown["event_base64"] == "/w=="
    assert (shown["answer"], shown["error"], shown["log"]) == ("1", None, "log")


@pytest.mark.parametrize(
    ("document", "flow", "names", "found"),
    [
        pytest.param({"step": "order/Pay"}, "order", ["Pay", "mns:SendMessage"], True, id="a step of a flow"),
        pytest.param({"step": "order/Pay"}, "other", ["Pay", "mns:SendMessage"], False, id="a step of another flow"),
        pytest.param({"step": "Pay"}, "other", ["Pay"], True, id="a step of any flow"),
        pytest.param({"action": "MNS:SendMessage"}, "order", ["Pay", "mns:SendMessage"], True, id="an action"),
        pytest.param({"action": "FNF:StartExecution"}, "order", ["Pay", "fnf:StartExecution"], True, id="any spelling"),
        pytest.param({"function": "Pay"}, "order", ["Pay"], False, id="a function is asked for its mock itself"),
    ],
)
def test_a_mock_is_for_a_step_or_an_action_too(mocks, document, flow, names, found):
    """By the name of the flow and the step, or by what the task calls."""
    mock = mocks.add({**document, "answers": [{"return": 1}]})

    assert (mocks.find_task(flow, names) is mock) is found
    assert mock.shown()["of"] == next(iter(document.values()))


@pytest.mark.parametrize("document", [{}, {"function": "f", "step": "a/b"}, {"step": 1}])
def test_a_mock_is_for_one_thing(mocks, document):
    """A function, a step or an action."""
    with pytest.raises(LabError):
        mocks.add({**document, "answers": [{"return": 1}]})


def test_a_removed_mock_of_a_step_answers_no_more(mocks):
    """The next older one does, if there is one."""
    older = mocks.add({"step": "order/Pay", "answers": [{"never": True}]})
    newer = mocks.add({"step": "order/Pay", "answers": [{"return": 1}]})

    mocks.remove(newer.id)

    assert mocks.find_task("order", ["Pay"]) is older
    assert older.next().never
