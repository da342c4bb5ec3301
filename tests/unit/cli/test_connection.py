"""The blocking client: bodies by length, in chunks and up to the end; answers that break off; kept connections."""

import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from threading import Thread

import pytest

from emulator.cli.connection import BrokenAnswer, Connection, Transaction
from emulator.cli.endpoint import Endpoint


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A socket that listens on a free port of the loopback interface."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def ask(listener: socket.socket, answer: bytes, body: bytes = b"") -> tuple[int, dict[str, str], bytes, bytes]:
    """Return status, headers and body that a client makes of *answer*, and what it sent."""
    received: list[bytes] = []

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            received.append(connection.recv(65536))
            connection.sendall(answer)

    server = Thread(target=serve)
    server.start()
    try:
        address = ("127.0.0.1", listener.getsockname()[1])
        with Transaction(address, "POST", "/a?b", {"X-Name": "value"}, body, timeout_s=10) as transaction:
            content = b"".join(transaction.pieces())
        return transaction.status, transaction.headers, content, received[0]
    finally:
        server.join()


def test_a_request_has_host_length_and_the_given_headers(listener: socket.socket) -> None:
    """What is sent is one complete HTTP/1.1 request."""
    sent = ask(listener, b"HTTP/1.1 204 No Content\r\n\r\n", b"hello")[3]

    host = f"Host: 127.0.0.1:{listener.getsockname()[1]}".encode()
    assert sent.startswith(b"POST /a?b HTTP/1.1\r\n" + host)
    assert b"\r\nX-Name: value\r\n" in sent
    assert sent.endswith(b"Content-Length: 5\r\n\r\nhello")


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nhello",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    ],
    ids=["length", "chunks", "end", "interim"],
)
def test_a_body_is_whole_however_it_is_framed(listener: socket.socket, answer: bytes) -> None:
    """The same body comes out of each framing; interim answers are passed over."""
    status, _, body, _ = ask(listener, answer)

    assert (status, body) == (200, b"hello")


def test_header_names_are_in_lower_case(listener: socket.socket) -> None:
    """Headers are looked up by lower-case name."""
    headers = ask(listener, b"HTTP/1.1 200 OK\r\nX-Fc-Request-Id: 7\r\nContent-Length: 0\r\n\r\n")[1]

    assert headers["x-fc-request-id"] == "7"


@pytest.mark.parametrize(
    "answer",
    [b"", b"HTTP/1.1 200", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", b"no answer at all\r\n\r\n"],
    ids=["nothing", "half a head", "half a body", "no HTTP"],
)
def test_an_answer_that_breaks_off_is_no_answer(listener: socket.socket, answer: bytes) -> None:
    """What is cut short or no HTTP is reported, not returned."""
    with pytest.raises(BrokenAnswer):
        ask(listener, answer)


def test_an_interrupt_while_an_answer_is_parsed_is_no_broken_answer(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C that comes inside a method that the parser calls ends the command as anywhere else."""

    def interrupted(self: Transaction, name: bytes, value: bytes) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Transaction, "on_header", interrupted)

    with pytest.raises(KeyboardInterrupt):
        ask(listener, b"HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 0\r\n\r\n")


@contextmanager
def serving(listener: socket.socket, *answers: list[bytes]) -> Iterator[None]:
    """Accept as many connections as there are *answers*: over each, the texts of its list are sent in turn."""

    def serve() -> None:
        for texts in answers:
            connection, _ = listener.accept()
            with connection:
                for text in texts:
                    connection.recv(65536)
                    connection.sendall(text)

    server = Thread(target=serve)
    server.start()
    try:
        yield
    finally:
        server.join()


def client_of(listener: socket.socket) -> Connection:
    """Return a client of what listens."""
    return Connection(Endpoint(http=f"http://127.0.0.1:{listener.getsockname()[1]}", source="test"), None, "none")


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def test_kept_connections_are_used_again_by_the_client_and_its_copies(listener: socket.socket) -> None:
    """Three calls take one connection; a call within one whose answer is not read yet takes another."""
    with serving(listener, [OK, OK, OK], [OK]):
        client = client_of(listener)
        with client.kept_alive():
            other = copy(client)
            assert [each.send("GET", "/", {}).body for each in (client, other)] == [b"ok", b"ok"]
            with client.transaction("GET", "/", {}, b"", 10) as transaction:
                assert other.send("GET", "/", {}).body == b"ok"
                assert b"".join(transaction.pieces()) == b"ok"


@pytest.mark.parametrize(
    "answer",
    [OK, OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), b"HTTP/1.1 200 OK\r\n\r\nok"],
    ids=["closed without a word", "closed as announced", "closed as the end of the body"],
)
def test_a_connection_that_the_server_has_closed_is_not_used_again(listener: socket.socket, answer: bytes) -> None:
    """The next call opens another."""
    with serving(listener, [answer], [OK]):
        client = client_of(listener)
        with client.kept_alive():
            assert client.send("GET", "/", {}).body == b"ok"
            select.select([kept], [], [], 10) if (kept := next(iter(client._kept or ()), None)) else None
            assert client.send("GET", "/", {}).body == b"ok"


def test_connections_are_kept_within_the_block_alone(listener: socket.socket) -> None:
    """Nothing is left open behind it, and calls outside say that they close."""
    with serving(listener, [OK], [OK]):
        client = client_of(listener)
        with client.kept_alive():
            client.send("GET", "/", {})
            (kept,) = client._kept or ()
        client.send("GET", "/", {})

    assert kept.fileno() == -1
