"""Outgoing calls, against servers that behave well, badly, or not at all."""

import asyncio
import contextlib
from collections.abc import Callable

import pytest

from emulator.http.client import HttpClient, is_loopback, permitted_addresses
from emulator.http.client_connection import (
    AddressRefused,
    AnswerTooLarge,
    BadAnswer,
    CallTimedOut,
    ConnectFailed,
    ConnectionLost,
)
from emulator.http.message import Unsendable, split_url
from tests.waiting import until

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Script:
    """A server that answers the n-th request of the n-th connection as told, and keeps what it was sent.

    Each connection has a list of answers; after the last the server closes. None stands for silence.
    """

    def __init__(self, *connections: list[bytes | None]) -> None:
        self._connections = list(connections)
        self.requests: list[bytes] = []
        self.accepted = 0
        self.port = 0
        self._writers: list[asyncio.StreamWriter] = []
        self._tasks: list[asyncio.Task[None] | None] = []

    async def __aenter__(self) -> "Script":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers = self._connections[min(self.accepted, len(self._connections) - 1)]
        self.accepted += 1
        self._writers.append(writer)
        self._tasks.append(asyncio.current_task())
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            for answer in answers:
                self.requests.append(await self._request(reader))
                if answer is None:
                    await reader.read()
                else:
                    writer.write(answer)
                    await writer.drain()
        writer.close()

    async def _request(self, reader: asyncio.StreamReader) -> bytes:
        head = await reader.readuntil(b"\r\n\r\n")
        lower = head.lower()
        if b"transfer-encoding: chunked" in lower:
            return head + await reader.readuntil(b"0\r\n\r\n")
        if b"content-length: " in lower:
            return head + await reader.readexactly(int(lower.split(b"content-length: ")[1].split(b"\r\n")[0]))
        return head


async def still(value: Callable[[], object]) -> None:
    """Wait until *value* stays the same while the loop goes round."""
    before = object()
    while before != (before := value()):
        for _ in range(50):
            await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def a_client(**options):
    client = HttpClient(**options)
    try:
        yield client
    finally:
        await client.close()


async def test_a_call_sends_what_it_is_given_and_returns_the_answer():
    """Only Host and the framing are added, so signed headers stay as they are."""
    async with (
        Script([b"HTTP/1.1 201 Created\r\nX-A: b \r\nContent-Length: 3\r\n\r\nabc"]) as server,
        a_client() as client,
    ):
        answer = await client.request(
            "POST", f"{server.url}/a%2Fb?x=1", timeout_s=5, headers=[("X-One", "1"), ("x-two", "é")], body=b"hello"
        )

    assert (answer.status, answer.headers.get("x-a"), answer.body) == (201, "b", b"abc")
    assert server.requests == [
        f"POST /a%2Fb?x=1 HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-One: 1\r\nx-two: é\r\n"
        "Content-Length: 5\r\n\r\nhello".encode()
    ]


@pytest.mark.parametrize(
    ("method", "answer", "status", "body"),
    [
        (
            "GET",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nX: y\r\n\r\n",
            200,
            b"abc",
        ),
        ("GET", b"HTTP/1.1 200 OK\r\n\r\nuntil the end", 200, b"until the end"),
        ("GET", b"HTTP/1.0 200 OK\r\n\r\nold", 200, b"old"),
        ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", 200, b""),
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
        ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304, b""),
        ("POST", b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: a\r\n\r\n" + OK, 200, b"ok"),
        ("GET", b"HTTP/1.1 302 Found\r\nLocation: http://example.com/\r\nContent-Length: 0\r\n\r\n", 302, b""),
    ],
    ids=["chunked", "until-close", "http-1.0", "head", "204", "304", "interim", "redirect"],
)
async def test_every_kind_of_answer_is_read(method, answer, status, body):
    """Chunks, lengths, ends of connections, interim answers; redirects are handed back, not followed."""
    async with Script([answer]) as server, a_client() as client:
        got = await client.request(method, server.url, timeout_s=5)

    assert (got.status, got.body) == (status, body)


async def test_connections_are_used_again():
    """Calls one after the other share a connection, whatever the method."""

    head = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"
    async with Script([OK, head, OK]) as server, a_client() as client:
        for method in ("POST", "HEAD", "GET"):
            await client.request(method, server.url, timeout_s=5)

    assert server.accepted == 1
    assert len(server.requests) == 3


async def test_a_kept_connection_that_was_closed_is_not_used():
    """A server that closes after its answer costs no failed call, not even of a method that may not be repeated."""
    async with Script([OK]) as server, a_client() as client:
        for _ in range(2):
            answer = await client.request("POST", server.url, timeout_s=5, body=b"x")
            await until(lambda: not any(each.reusable for kept in client._pool._kept.values() for each in kept))

    assert answer.body == b"ok"
    assert server.accepted == 2


async def test_a_repeatable_call_is_made_again_when_the_kept_connection_breaks():
    """A server may close just when the next request leaves; GET is then sent once more."""
    async with Script([OK, b""], [OK]) as server, a_client() as client:
        await client.request("GET", server.url, timeout_s=5)
        answer = await client.request("GET", server.url, timeout_s=5)

    assert answer.body == b"ok"
    assert len(server.requests) == 3


async def test_a_call_with_effects_is_not_made_twice():
    """POST may have been carried out although no answer came; the caller decides."""
    async with Script([OK, b""], [OK]) as server, a_client() as client:
        await client.request("GET", server.url, timeout_s=5)
        with pytest.raises(ConnectionLost):
            await client.request("POST", server.url, timeout_s=5, body=b"x")

    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", ConnectionLost),
        (b"HTTP/1.1 200 OK\r\nContent-Le", ConnectionLost),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", ConnectionLost),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", ConnectionLost),
        (b"SSH-2.0-OpenSSH\r\n", BadAnswer),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 300_000, BadAnswer),
        (b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", BadAnswer),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + b"a" * 2000, AnswerTooLarge),
        (None, CallTimedOut),
    ],
    ids=["nothing", "half-head", "half-body", "half-chunk", "garbage", "long-head", "upgrade", "too-large", "silence"],
)
async def test_a_bad_answer_is_an_error_that_says_so(answer, error):
    """A truncated answer is never taken for a whole one."""
    async with Script([answer]) as server, a_client() as client:
        with pytest.raises(error):
            await client.request("GET", server.url, timeout_s=0.5, max_response=1000)


async def test_a_refused_connection_is_an_error():
    """Nobody listening is told apart from an answer that is lost."""
    async with Script([OK]) as server:
        url = server.url
    async with a_client() as client:
        with pytest.raises(ConnectFailed, match=r"cannot be reached: Connection refused$"):
            await client.request("GET", url, timeout_s=5)
        with pytest.raises(ConnectFailed, match="https"):
            await client.request("GET", "https://localhost/", timeout_s=5)


@pytest.mark.parametrize(
    "host", ["169.254.169.254", "10.0.0.1", "0.0.0.0", "[::ffff:169.254.169.254]", "[fe80::1]", "2852039166"]
)
async def test_only_this_machine_is_called_by_default(host):
    """Metadata services and private networks are out of reach, however their address is spelled."""
    async with a_client() as client:
        with pytest.raises(AddressRefused):
            await client.request("GET", f"http://{host}/latest", timeout_s=5)


async def test_a_name_is_resolved_once_and_its_judged_address_dialled(monkeypatch):
    """A resolver that answers differently the second time cannot lead a call astray."""
    answers = iter(["127.0.0.1", "10.1.2.3"])

    async with Script([OK]) as server, a_client() as client:
        loop = asyncio.get_running_loop()
        original = loop.getaddrinfo

        async def rebinding(host, port, **options):
            if host == "rebind.test":
                return [(2, 1, 6, "", (next(answers), 0))]
            return await original(host, port, **options)

        monkeypatch.setattr(loop, "getaddrinfo", rebinding)
        answer = await client.request("GET", f"http://rebind.test:{server.port}/", timeout_s=5)

    assert answer.status == 200
    assert next(answers) == "10.1.2.3"


async def test_localhost_needs_no_resolver():
    """Names below localhost are this machine."""
    found = await permitted_addresses("api.localhost", is_loopback)

    assert found == ["127.0.0.1", "::1"]


async def test_a_call_can_be_sent_to_another_address():
    """The caller may dial an address of its own choice and keep the host of the URL."""
    async with Script([OK]) as server, a_client() as client:
        await client.request("GET", "http://1.fcapp.run/x", timeout_s=5, connect_to=("127.0.0.1", server.port))

    assert server.requests[0].startswith(b"GET /x HTTP/1.1\r\nHost: 1.fcapp.run\r\n")


async def test_a_body_in_pieces_is_chunked():
    """A body of unknown length is framed, one whose length the caller tells is sent as it is."""

    async def body():
        yield b"ab"
        yield b""
        yield b"c"

    async with Script([OK, OK]) as server, a_client() as client:
        await client.request("POST", server.url, timeout_s=5, body=body())
        await client.request("POST", server.url, timeout_s=5, body=body(), headers=[("Content-Length", "3")])

    assert server.requests[0].endswith(b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")
    assert server.requests[1].endswith(b"Content-Length: 3\r\n\r\nabc")
    assert server.accepted == 1


async def test_an_answer_can_be_read_in_pieces():
    """The head is there before the body; a body read to its end gives the connection back."""

    chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"
    async with Script([chunks, OK]) as server, a_client() as client:
        answer = await client.open("GET", server.url, timeout_s=5)
        pieces = [piece async for piece in answer]
        await client.request("GET", server.url, timeout_s=5)

    assert (answer.status, b"".join(pieces)) == (200, b"abc")
    assert server.accepted == 1


async def test_an_answer_left_unread_holds_its_sender_back():
    """Only a bounded part of a body waits in memory, and leaving it early closes the connection."""

    body = b"x" * 50_000_000
    async with (
        Script([b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body, OK], [OK]) as server,
        a_client() as client,
    ):
        answer = await client.open("GET", server.url, timeout_s=5)
        await until(lambda: not answer._connection._transport.is_reading())
        waiting = answer._connection._unread
        await answer.aclose()
        await client.request("GET", server.url, timeout_s=5)

    assert waiting < 1_000_000
    assert server.accepted == 2


async def test_a_long_answer_read_slowly_arrives_whole():
    """Reading goes on as the waiting part is taken."""

    body = bytes(range(256)) * 20_000
    script = Script([b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body])
    async with script as server, a_client() as client:
        received = b""
        async for piece in await client.open("GET", server.url, timeout_s=5):
            received += piece
            await asyncio.sleep(0.001)

    assert received == body


async def test_a_long_body_in_pieces_is_sent_at_the_servers_pace():
    """Pieces are asked for only as fast as the server takes them."""
    produced = []

    async def body():
        for _ in range(100):
            produced.append(1)
            yield b"x" * 200_000

    gate = asyncio.Event()

    async def serve(reader, writer):
        await gate.wait()
        received = 0
        piece = b""
        while not piece.endswith(b"\r\n0\r\n\r\n"):
            piece = piece[-6:] + await reader.read(1 << 16)
            received += len(piece) - 6
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n%08d" % received)
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with a_client() as client:
        call = asyncio.create_task(client.request("POST", url, timeout_s=10, body=body()))
        await until(lambda: produced)
        await still(lambda: len(produced))
        early = len(produced)
        gate.set()
        answer = await call
    server.close()
    await server.wait_closed()

    assert early < 100
    assert int(answer.body) > 20_000_000


async def test_an_answer_before_the_body_is_sent_ends_the_sending():
    """A server that refuses early need not be fed the rest; the connection is not used again."""
    closed, served = asyncio.Event(), asyncio.Event()

    async def endless():
        try:
            while True:
                yield b"x" * 1000
                await asyncio.sleep(0)
        finally:
            closed.set()

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.close()
        served.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with a_client() as client:
        answer = await client.request("POST", url, timeout_s=10, body=endless())
        kept = len(client._pool)
    server.close()
    await asyncio.wait_for(closed.wait(), 5)
    await asyncio.wait_for(served.wait(), 5)

    assert (answer.status, kept) == (413, 0)


async def test_body_goes_on_while_its_answer_comes():
    """Each side may wait for the other's next piece; the connection is kept when both are whole."""

    ended = asyncio.Event()

    async def echo(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while (line := await reader.readuntil(b"\r\n")) != b"0\r\n":
            writer.write(line + await reader.readexactly(int(line, 16) + 2))
        await reader.readuntil(b"\r\n")
        writer.write(b"0\r\n\r\n")
        await reader.read()
        writer.close()
        ended.set()

    turns = asyncio.Queue()

    async def pieces():
        while piece := await turns.get():
            yield piece

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with a_client() as client:
        answer = await client.open("POST", url, timeout_s=10, body=pieces())
        came = []
        for piece in (b"one", b"two"):
            turns.put_nowait(piece)
            came.append(await anext(answer))
        turns.put_nowait(b"")
        rest = [piece async for piece in answer]
        kept = len(client._pool)
    await asyncio.wait_for(ended.wait(), 5)
    server.close()

    assert (came, rest, kept) == ([b"one", b"two"], [], 1)


@pytest.mark.parametrize("answered", [False, True])
async def test_body_that_breaks_ends_its_call(answered):
    """The server sees a connection that ends too early, and the caller what has broken the body."""
    cut, ended = [], asyncio.Event()

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        if answered:
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            cut.append(await reader.read())
        except ConnectionError:
            cut.append(b"")
        writer.close()
        ended.set()

    going_on = asyncio.Event()

    async def pieces():
        yield b"one"
        await going_on.wait()
        raise LookupError("no more")

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with a_client() as client:
        if not answered:
            going_on.set()
        with pytest.raises(LookupError, match="no more"):
            async with await client.open("POST", url, timeout_s=10, body=pieces()) as answer:
                going_on.set()
                await anext(answer)
        kept = len(client._pool)
    await asyncio.wait_for(ended.wait(), 5)
    server.close()

    assert not cut[0].endswith(b"0\r\n\r\n")
    assert kept == 0


@pytest.mark.parametrize(
    ("method", "answer"),
    [("GET", OK + b"HTTP/1.1 500 Evil\r\nContent-Length: 0\r\n\r\n"), ("HEAD", OK), ("GET", OK + b"junk")],
    ids=["second-answer", "body-of-head", "junk"],
)
async def test_what_follows_an_answer_does_not_become_the_next(method, answer):
    """A connection on which more came than was asked for is not used again."""
    async with Script([answer, OK], [OK]) as server, a_client() as client:
        first = await client.request(method, server.url, timeout_s=5)
        second = await client.request("POST", server.url, timeout_s=5)

    assert (first.status, second.status, second.body) == (200, 200, b"ok")
    assert server.accepted == 2


async def test_idle_connections_are_bounded_and_closed():
    """No more are kept than allowed, and none for longer."""
    async with Script([OK] * 3) as server, a_client(idle_per_host=2, idle_s=0.05) as client:
        await asyncio.gather(*(client.request("GET", server.url, timeout_s=5) for _ in range(5)))
        kept = len(client._pool)
        await until(lambda: not len(client._pool))

        assert kept == 2
        assert server.accepted == 5


@pytest.mark.parametrize(
    ("url", "authority", "target"),
    [
        ("http://h", "h", "/"),
        ("HTTP://H:80/a b?c=中", "h", "/a%20b?c=%E4%B8%AD"),
        ("https://h:443/x?", "h", "/x"),
        ("http://[::1]:8080/a%2fb#c", "[::1]:8080", "/a%2fb"),
        ("http://bücher.example:81", "xn--bcher-kva.example:81", "/"),
    ],
)
def test_urls_are_taken_apart(url, authority, target):
    """Default ports vanish, fragments stay here, and only what cannot be sent is escaped."""
    origin, found = split_url(url)

    assert (origin.authority, found) == (authority, target)


@pytest.mark.parametrize(
    "url", ["ftp://h/", "h/x", "http:///x", "http://u:p@h/", "http://h:99999/", "http://[::1/", ""]
)
def test_what_is_no_http_url_is_refused(url):
    """Nothing is sent to a URL that cannot be meant."""
    with pytest.raises(Unsendable):
        split_url(url)


@pytest.mark.parametrize(
    ("method", "headers"), [("GE T", []), ("GET", [("X", "a\r\nY: b")]), ("GET", [("X:", "a")]), ("GET", [("X", "\0")])]
)
async def test_headers_cannot_smuggle_others(method, headers):
    """A line break in a value is an error before anything is sent."""
    async with a_client() as client:
        with pytest.raises(Unsendable):
            await client.request(method, "http://localhost:1/", timeout_s=5, headers=headers)
