"""The blocking client: bodies by length, in chunks and up to the end; answers that break off."""

import socket
from collections.abc import Iterator
from threading import Thread

import pytest

from emulator.cli.connection import BrokenAnswer, Transaction


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
