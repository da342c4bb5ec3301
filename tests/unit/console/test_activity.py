"""Rates, last states and last errors, from lines of the log and recorded calls."""

from emulator.console.activity import activities
from emulator.kernel.clock import Millis
from emulator.lab.mocks import Recorded

NOW = Millis(1_000_000_000)


def said(*fields, at=NOW - 1_000):
    """Lines of the log as the journal has them."""
    return [(at, "", "", each) for each in fields]


def request(operation, resource="orders", **more):
    """A client's request to the message service."""
    return {"service": "mns", "operation": operation, "resource": resource, "request": "r", **more}


def test_messages_of_a_queue_are_counted_for_five_minutes():
    """Batches by their messages; what is older is not counted."""
    batch = request("BatchSendMessage", message_ids=["a", "b", "c", "d"])
    lines = [*said(request("SendMessage"), at=NOW - 400_000), *said(batch, request("SendMessage"))]

    found = activities([*lines, *said(request("ReceiveMessage"))], [], NOW)[("queue", "orders")]

    assert (found.per_minute("in"), found.per_minute("out")) == (1.0, 0.2)


def test_the_last_error_of_a_queue_is_kept_and_an_empty_queue_is_none():
    """With the request that leads to it."""
    refused = request("SendMessage", error="InvalidArgument", request="bad")

    lines = said(refused, request("ReceiveMessage", error="MessageNotExist"))
    found = activities(lines, [], NOW)[("queue", "orders")]

    assert (found.error, found.request) == ("SendMessage: InvalidArgument", "bad")
    assert found.per_minute("out") == 0


def test_a_topic_has_the_state_of_its_last_push():
    """A push that arrives after one that failed leaves the error to be read."""
    push = {"topic": "news", "subscription": "inbox", "message_id": "m", "detail": "HTTP 500"}

    lines = said(request("PublishMessage", "news"), push | {"result": "failed"}, push | {"result": "delivered"})
    found = activities(lines, [], NOW)[("topic", "news")]

    assert (found.state, found.error, found.per_minute("out")) == ("delivered", "inbox: HTTP 500", 0.2)


def test_a_function_has_the_state_and_message_of_its_last_call():
    """By the recorded calls."""
    call = Recorded(
        "", "hello", "", "r1", "", "client", NOW, NOW, b"{}", b'{"errorMessage": "no tea"}', "ValueError", b""
    )

    found = activities([], [call], NOW)[("function", "hello")]

    assert (found.state, found.error, found.request) == ("failed", "ValueError: no tea", "r1")


def test_error_of_a_function_has_the_name_that_was_raised():
    """Not only that it was not handled."""
    answer = b'{"errorType": "Busy", "errorMessage": "try later"}'
    call = Recorded(*("", "hello", "", "r1", "", "client"), NOW, NOW, b"{}", answer, "UnhandledInvocationError", b"")

    assert activities([], [call], NOW)["function", "hello"].error == "Busy: try later"
