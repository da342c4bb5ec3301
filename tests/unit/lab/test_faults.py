"""Rules of faults: which calls they match, how often they strike, what they are written as."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.kernel.instrumentation import Subject
from emulator.lab.errors import LabError
from emulator.lab.faults import FaultBook, read_rule, shown_rule

SEND = Subject("mns", "SendMessage", ("orders", "queues/orders"), ("flow",))


def struck(book, subject=SEND, calls=10):
    """Return which of so many calls were struck, as a text of noughts and ones."""
    return "".join("1" if book.take(subject) else "0" for _ in range(calls))


def a_book(**members):
    """Return a book with one rule."""
    book = FaultBook()
    book.add(read_rule({"do": {"throttle": True}, **members}))
    return book


@pytest.mark.parametrize(
    ("match", "meant"),
    [
        ({}, True),
        ({"service": "mns"}, True),
        ({"service": "fc"}, False),
        ({"operation": "sendmessage"}, True),
        ({"operation": "Send*"}, True),
        ({"operation": "Receive*"}, False),
        ({"resource": "orders"}, True),
        ({"resource": "ord*"}, True),
        ({"resource": "queues/*"}, True),
        ({"resource": "others"}, False),
        ({"from": "flow"}, True),
        ({"from": "client"}, False),
        ({"service": "mns", "operation": "SendMessage", "resource": "orders", "from": "flow"}, True),
    ],
)
def test_a_rule_matches_by_service_operation_resource_and_caller(match, meant):
    """What a match leaves out does not matter."""
    assert (a_book(match=match).take(SEND) is not None) is meant


def test_a_rule_leaves_the_first_calls_alone_and_strikes_so_many_times():
    """`after` and `times` count the calls that match."""
    assert struck(a_book(after=2, times=3)) == "0011100000"


@given(seed=st.integers(0, 2**32), probability=st.floats(0, 1))
def test_the_same_seed_gives_the_same_draws(seed, probability):
    """A run can be repeated."""
    members = {"seed": seed, "probability": probability}

    assert struck(a_book(**members), calls=50) == struck(a_book(**members), calls=50)


def test_a_probability_strikes_that_part_of_the_calls():
    """Over many calls the share comes close to it."""
    share = struck(a_book(probability=0.2, seed=7), calls=5000).count("1") / 5000

    assert 0.18 < share < 0.22


def test_the_oldest_rule_that_strikes_counts():
    """A rule that is used up makes room for the next."""
    book = a_book(times=1)
    book.add(read_rule({"do": {"error": "QueueNotExist"}}))

    assert book.take(SEND).throttle
    assert book.take(SEND).error == "QueueNotExist"


def test_function_faults_strike_when_the_function_runs():
    """They leave the call itself alone."""
    book = FaultBook()
    book.add(read_rule({"do": {"function": "crash"}}))

    assert book.take(SEND) is None
    assert book.take(SEND, running=True).function == "crash"


def test_a_rule_is_shown_as_it_was_written():
    """With its id and its counts."""
    book = a_book(match={"service": "mns", "from": "flow"}, after=1, times=2, probability=0.5, seed=3)
    struck(book, calls=4)
    (entry,) = book

    shown = shown_rule(entry)

    assert shown["match"] == {"service": "mns", "from": "flow"}
    assert shown["do"] == {"throttle": True}
    assert (shown["id"], shown["after"], shown["times"], shown["matched"]) == ("fault-1", 1, 2, 4)
    assert read_rule({name: shown[name] for name in ("match", "do", "after", "times", "seed")})


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"do": {}},
        {"do": {"error": "X", "drop": True}},
        {"do": {"drop": "now"}},
        {"do": {"error": 7}},
        {"do": {"error": "X", "status": 200}},
        {"do": {"throttle": True, "status": 500}},
        {"do": {"delay": "soon"}},
        {"do": {"delay": []}},
        {"do": {"delay": {"s": 1}}},
        {"do": {"function": ["crash"]}},
        {"do": {"function": "explode"}},
        {"do": {"function": "crash", "delay": "1s"}},
        {"do": {"throttle": True}, "match": {"service": "ecs"}},
        {"do": {"throttle": True}, "match": {"from": "me"}},
        {"do": {"throttle": True}, "match": {"queue": "q"}},
        {"do": {"throttle": True}, "probability": 1.5},
        {"do": {"throttle": True}, "times": -1},
        {"do": {"throttle": True}, "more": 1},
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(document):
    """With a reason; nothing is accepted and ignored."""
    with pytest.raises(LabError, match=r"^InvalidParameter:"):
        read_rule(document)


def test_an_unknown_fault_cannot_be_removed():
    """The error names it."""
    with pytest.raises(LabError, match=r"^NotFound: There is no fault 'fault-9'"):
        FaultBook().remove("fault-9")


@pytest.mark.parametrize("error", ["QueueNotExist", "QueueIsFull", "FlowNotFound", "", "Qu"])
def test_error_of_a_fault_is_a_known_one_or_a_users_own(error):
    """A name that is like none of the services' is free."""
    rule = read_rule({"do": {"error": error, "delay": "1s"}}, errors={"QueueNotExist", "FlowNotExists"})

    assert rule.effect.error == error


@pytest.mark.parametrize("error", ["QueueNotExists", "QueueNotExsit", "queueNotExist"])
def test_misspelt_error_of_a_fault_is_refused(error):
    """With the one that was meant."""
    with pytest.raises(LabError, match=f"there is no error '{error}'; did you mean QueueNotExist\\?"):
        read_rule({"do": {"error": error}}, errors={"QueueNotExist", "FlowNotExists"})
