"""A request that becomes a connection to another server: what passes, who is held back, how it ends."""

import asyncio
import contextlib

import pytest

from emulator.http.client import HttpClient
from emulator.http.client_connection import BadAnswer
from emulator.http.message import Response
from emulator.http.switching import Relay, SwitchingProtocols

AGREED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Own: 1\r\n\r\n"
ASKED = b"GET /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
PIECE = b"x" * 65536


class Behind:
    """The server behind: it answers a request with *answer* and keeps the connection for the test."""

    def __init__(self, answer=AGREED):
        self._answer = answer
        self.opened = asyncio.Queue()
        self._writers = []

    async def start(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/x"

    async def _serve(self, reader, writer):
        self.head = await reader.readuntil(b"\r\n\r\n")
        self._writers.append(writer)
        writer.write(self._answer)
        self.opened.put_nowait((reader, writer))

    async def close(self):
        self._server.close()
        for writer in self._writers:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


@pytest.fixture
async def relayed(serving, application):
    """Return a function that opens a connection through a server of ours to one behind it: both ends of it."""
    client, servers = HttpClient(), []

    async def open_one(answer=AGREED):
        behind = Behind(answer)
        await behind.start()
        servers.append(behind)

        def handler(request, respond):
            return asyncio.ensure_future(pass_on(respond))

        async def pass_on(respond):
            fields = [("Connection", "Upgrade"), ("Upgrade", "websocket")]
            answer = await client.open("GET", behind.url, timeout_s=10, headers=fields, switching=True)
            if answer.status == 101:
                respond(SwitchingProtocols(Relay(answer, answer), answer.headers.pairs, answer))
            else:
                whole = await answer.whole()
                respond(Response(whole.status, whole.body))

        application.handler = handler
        peer = await site.peer()
        await peer.send(ASKED)
        return peer, behind

    async with serving() as site:
        open_one.connections = site.connections
        yield open_one
    for each in servers:
        await each.close()
    await client.close()


async def test_bytes_pass_both_ways_with_what_came_beside_the_answer(relayed):
    """The fields of the answer are the server's own, and nothing is lost that came with them."""
    peer, behind = await relayed(AGREED + b"early")
    reader, writer = await behind.opened.get()

    status, fields = await peer.head()
    first = await peer.reader.readexactly(5)
    await peer.send(b"up")
    writer.write(b"down")

    assert (status, fields["x-own"], first) == (101, "1", b"early")
    assert b"Upgrade: websocket" in behind.head
    assert (await reader.readexactly(2), await peer.reader.readexactly(4)) == (b"up", b"down")


@pytest.mark.parametrize("ends", ["client", "server"])
async def test_the_end_of_one_side_is_that_of_both(relayed, ends):
    """Nobody is left with half a connection."""
    peer, behind = await relayed()
    reader, writer = await behind.opened.get()
    await peer.head()

    if ends == "client":
        peer.writer.close()
        assert await reader.read() == b""
    else:
        writer.close()
        assert await peer.reader.read() == b""


@pytest.mark.parametrize("slow", ["client", "server"])
async def test_side_that_does_not_read_holds_the_other_back(relayed, slow):
    """What is written waits with its writer; all of it comes when the reader goes on."""
    peer, behind = await relayed()
    reader, writer = await behind.opened.get()
    await peer.head()
    source, sink = (writer, peer.reader) if slow == "client" else (peer.writer, reader)
    written = 0

    while True:
        source.write(PIECE)
        written += len(PIECE)
        try:
            await asyncio.wait_for(source.drain(), 0.5)
        except TimeoutError:
            break
        assert written < 64 * 1024 * 1024, "nobody holds it back"

    assert len(await sink.readexactly(written)) == written


async def test_answer_that_changes_nothing_is_an_answer(relayed):
    """The server behind may refuse."""
    peer, _ = await relayed(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")

    answer = await peer.answer()

    assert (answer.status, answer.body) == (403, b"no")


async def test_change_that_nobody_asked_for_is_refused():
    """A server that answers 101 to an ordinary request is not understood."""
    behind, client = Behind(), HttpClient()
    await behind.start()

    with pytest.raises(BadAnswer):
        await client.request("GET", behind.url, timeout_s=10)

    await behind.close()
    await client.close()


async def test_connection_ends_with_the_emulator(relayed):
    """One that stops waits for nobody who only listens."""
    peer, behind = await relayed()
    reader, _ = await behind.opened.get()
    await peer.head()

    await relayed.connections.stop(30)

    assert await reader.read() == b""
    assert len(relayed.connections) == 0
