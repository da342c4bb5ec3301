"""Clients that open connections and do little with them: everybody else is served, and nothing stays behind."""

import contextlib
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.abuse.conftest import read_all, read_answer, reset

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

HEALTH = b"GET /_localyun/health HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_two_thousand_idle_connections_cost_little(victim, many_descriptors):
    """The emulator answers at once, on old and on new connections; the memory of each is some kilobytes."""
    victim.is_well()
    before, files = victim.memory_kib, victim.descriptors
    with contextlib.ExitStack() as stack:
        wires = [stack.enter_context(victim.connect()) for _ in range(2_000)]
        victim.until(lambda: victim.descriptors >= 2_000, "not every connection is taken")

        assert victim.is_well()
        for wire in wires[::100]:
            wire.sendall(HEALTH)
            assert read_answer(wire.makefile("rb"))[0] == 200
        assert (victim.memory_kib - before) / 2_000 < 32

    victim.until(lambda: victim.descriptors <= files + 5, "connections stay open after their clients have gone")


def test_slow_senders_hold_up_nobody(victim, many_descriptors):
    """Heads and bodies that come a byte at a time, hundreds of them, beside clients that are served."""
    files = victim.descriptors
    slow = [
        b"POST /queues/q/messages HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
        HEALTH[:-2] + b"Content-Length: 500000\r\n\r\n",
    ]
    with contextlib.ExitStack() as stack:
        wires = [stack.enter_context(victim.connect()) for _ in range(300)]
        for number, wire in enumerate(wires):
            wire.sendall(slow[number % 2])
        for _ in range(10):
            for wire in wires:
                with contextlib.suppress(ConnectionError):  # a body that is not wanted has been refused
                    wire.sendall(b"a")
            assert victim.is_well()

    victim.until(lambda: victim.descriptors <= files + 5, "slow connections stay open")


def test_a_client_that_stops_sending_gets_its_answers(victim):
    """A half-closed connection is answered and then closed."""
    told = victim.exchange(HEALTH, end=True)

    assert told.startswith(b"HTTP/1.1 200 ")
    assert told.endswith(b"}")


@pytest.mark.parametrize(
    "part", [b"GET /", HEALTH[:-2], HEALTH[:-2] + b"Content-Length: 10\r\n\r\nabc", b"", b"\r\n\r\n"]
)
def test_a_client_that_goes_in_the_middle_is_let_go(victim, part):
    """The end of the input in the middle of a request ends the connection."""
    told = victim.exchange(part, end=True)

    assert not told.startswith(b"HTTP/1.1 200")
    assert victim.is_well()


def test_resets_in_the_middle_leave_nothing(victim):
    """In the head, in the body, before the answer is read: sockets are freed, nothing is logged as a failure."""
    victim.is_well()
    files, failures = victim.descriptors, victim.tracebacks()

    for part in [b"GET", HEALTH[:-2] + b"Content-Length: 100\r\n\r\nabc", HEALTH, HEALTH * 200, b""] * 20:
        wire = victim.connect()
        wire.sendall(part)
        reset(wire)

    victim.until(lambda: victim.descriptors <= files + 5, "reset connections stay open")
    assert victim.tracebacks() == failures
    assert victim.is_well()


def test_a_thousand_pipelined_requests_are_answered_in_order(victim):
    """Every answer names its request; those that come after a slow reader are not lost."""
    requests = b"".join(
        b"GET /_localyun/page-%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % number for number in range(1_000)
    )

    with victim.connect() as wire, ThreadPoolExecutor(1) as sender:
        sending = sender.submit(wire.sendall, requests)
        stream = wire.makefile("rb")
        for number in range(1_000):
            status, _, body = read_answer(stream)
            assert status == 404
            assert b"/_localyun/page-%d " % number in body.replace(b'"', b" ").replace(b".", b" ").replace(b"'", b" ")
        sending.result(timeout=20)


def test_a_client_that_reads_nothing_does_not_fill_the_memory(victim):
    """Answers to requests that are pipelined for ever are not collected."""
    victim.is_well()
    before = victim.memory_kib
    with victim.connect(timeout=0.5) as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sent = 0
        with contextlib.suppress(TimeoutError):
            while sent < 64 << 20:
                sent += wire.send(HEALTH * 500)

        assert sent < 32 << 20, "the emulator goes on reading"
        assert victim.memory_kib - before < 16 * 1024
        assert victim.is_well()


def test_expecting_clients_that_never_send_hold_up_nobody(victim):
    """``Expect: 100-continue`` without a body, with too large a body, and on a request that is refused."""
    head = b"PUT /queues/q HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(victim.connect()).sendall(head % 10)
        too_large = stack.enter_context(victim.connect())
        too_large.sendall(head % (1 << 40))

        status, fields, _ = read_answer(too_large.makefile("rb"))
        assert 400 <= status < 500
        assert fields["connection"] == "close"
        assert victim.is_well()


@pytest.mark.parametrize("value", [b"200-ok", b"100-continue, 100-continue", b"a miracle"])
def test_other_expectations_are_refused(victim, value):
    """417, and the body that follows is not taken for a request."""
    told = victim.exchange(HEALTH[:-2] + b"Expect: " + value + b"\r\nContent-Length: 5\r\n\r\n" + HEALTH)

    assert told.startswith(b"HTTP/1.1 417 ")
    assert told.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
        (b"GET /?" + b"a=b&" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
        (HEALTH[:-2] + b"X: " + b"a" * 100_000 + b"\r\n\r\n", 431),
        (HEALTH[:-2] + b"".join(b"X-%d: a\r\n" % number for number in range(300)) + b"\r\n", 431),
        (HEALTH[:-2] + b"X-Name: a\r\n" * 20_000 + b"\r\n", 431),
        (HEALTH[:-2] + b"a" * 100_000, 431),
        (b"a" * 1_000, 400),
    ],
    ids=["path", "query", "field", "fields", "flood", "endless field", "endless method"],
)
def test_huge_heads_are_refused_in_words(victim, head, status):
    """The client sees why, although it has sent more than was read."""
    told = victim.exchange(head)

    assert told.startswith(b"HTTP/1.1 %d " % status)
    assert b'"RequestId"' in told
    assert told.count(b"HTTP/1.1 ") == 1


def test_thousands_of_parameters_are_read_or_refused(victim):
    """A query of many pairs and a form of many pairs take no more than their size."""
    pairs = b"&".join(b"a%d=%d" % (number, number) for number in range(4_000))

    with victim.connect() as wire:
        wire.sendall(b"GET /?" + pairs + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        told = read_all(wire)

    assert told.split(b" ")[1] in {b"400", b"404"}
    assert victim.is_well()
