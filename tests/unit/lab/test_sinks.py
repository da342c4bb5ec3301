"""Sinks: answers in turn, requests kept within bounds, signatures of pushes checked."""

import pytest

from emulator.auth.push import string_to_sign
from emulator.http.message import HangUp, Headers, Request
from emulator.kernel.clock import VirtualClock
from emulator.kernel.ids import RandomIds
from emulator.lab.errors import LabError
from emulator.lab.sinks import SinkFront, Sinks, shown_request
from emulator.wire.request import OperationRequest

PUSHED = (
    ("Content-md5", "5D41402ABC4B2A76B9719D911017C592"),
    ("x-mns-signing-cert-url", "aHR0cDov"),
    ("Date", "Sun, 22 Nov 2026 12:22:18 GMT"),
)


@pytest.fixture
def sinks():
    return Sinks(VirtualClock(), RandomIds(), lambda: "http://127.0.0.1:8868")


async def sign(text):
    """Sign like nothing ever did."""
    return f"signed {len(text)}"


def send(sinks, sink, method="POST", body=b"hello", headers=(), below=""):
    """Send a request to a sink and return the answer."""
    target = sinks.url(sink).removeprefix("http://127.0.0.1:8868") + below
    call = OperationRequest(Request(method, target, Headers(headers), body), sinks._clock.now())
    return SinkFront(sinks, RandomIds()).handle(call)


async def received(sinks, sink):
    """Return what a sink has received."""
    return [shown_request(each) for each in await sinks.received(sink, sign)]


def test_answers_are_given_in_turn_and_the_last_again_and_again(sinks):
    """Without any it is 200."""
    told = sinks.add([{"status": 500}, {"status": 204}])

    assert [send(sinks, told).status for _ in range(3)] == [500, 204, 204]
    assert send(sinks, sinks.add([])).status == 200


def test_an_answer_may_have_headers_and_a_body(sinks):
    """Or be none at all."""
    sink = sinks.add([{"status": 201, "headers": {"X-A": "1"}, "body": {"ok": True}}, {"drop": True}])

    answer = send(sinks, sink)

    assert (answer.headers, answer.body) == ([("X-A", "1")], b'{"ok": true}')
    assert isinstance(send(sinks, sink), HangUp)


async def test_requests_are_kept_whole(sinks):
    """Any method, any path below the address."""
    sink = sinks.add([])
    send(sinks, sink, "PUT", b"\xff", [("X-A", "1"), ("X-A", "2")], "/below?a=1")

    (request,) = await received(sinks, sink)

    assert request["method"] == "PUT"
    assert request["path"].endswith("/below?a=1")
    assert request["headers"] == {"X-A": "1, 2"}
    assert request["body_base64"] == "/w=="
    assert request["signature_valid"] is None


@pytest.mark.parametrize(
    ("body", "forged", "valid"), [(b"hello", "", True), (b"hullo", "", False), (b"hello", "x", False)]
)
async def test_the_signature_of_a_push_is_checked(sinks, body, forged, valid):
    """Over headers and address; the digest has to be that of the body."""
    sink = sinks.add([])
    target = sinks.url(sink).removeprefix("http://127.0.0.1:8868")
    signature = await sign(string_to_sign(PUSHED, target))
    send(sinks, sink, body=body, headers=(*PUSHED, ("Authorization", signature + forged)))

    assert (await received(sinks, sink))[0]["signature_valid"] is valid


async def test_the_signature_of_an_envelope_is_valid_too(sinks):
    """Its digest is written in another way."""
    pushed = (("Content-md5", "NWQ0MTQwMmFiYzRiMmE3NmI5NzE5ZDkxMTAxN2M1OTI="), *PUSHED[1:])
    sink = sinks.add([])
    signature = await sign(string_to_sign(pushed, sinks.url(sink).removeprefix("http://127.0.0.1:8868")))
    send(sinks, sink, headers=(*pushed, ("Authorization", signature)))

    assert (await received(sinks, sink))[0]["signature_valid"] is True


def test_a_removed_sink_takes_nothing(sinks):
    """Its requests are gone too."""
    sink = sinks.add([])
    send(sinks, sink)
    sinks.remove(sink.id)

    with pytest.raises(LabError, match=r"^NotFound:"):
        send(sinks, sink)


@pytest.mark.parametrize(
    "answer",
    [
        1,
        {"status": 42},
        {"status": "500"},
        {"code": 500},
        {"headers": {"A": 1}},
        {"headers": {"A B": "1"}},
        {"headers": {"A": "1\n2"}},
        {"headers": {"Content-Length": "1"}},
        {"delay": "soon"},
        {"drop": 1},
    ],
)
def test_an_answer_that_makes_no_sense_is_refused(sinks, answer):
    """With a reason."""
    with pytest.raises(LabError, match=r"^InvalidParameter:"):
        sinks.add([answer])
