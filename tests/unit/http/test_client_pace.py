"""The client does not make servers wait that write an answer in two parts."""

import asyncio
import socket
import sys

import pytest

from emulator.http.client import HttpClient

ROUNDS = 8
"""The system takes a connection for one of question and answer after some calls; how many depends on the kernel."""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can be told to acknowledge at once")
async def test_head_of_an_answer_is_acknowledged_at_once():
    """A server without TCP_NODELAY sends the body when its head is acknowledged, so the system must not put that off.

    On a connection of question and answer it would, until something is sent or 40 ms are over.
    """
    head_is_read = asyncio.Queue()

    async def serve(reader, writer):
        for _ in range(ROUNDS):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
            await head_is_read.get()
            writer.write(b"ok")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    client = HttpClient()
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    at_once = []
    for _ in range(ROUNDS):
        answer = await client.open("GET", url, timeout_s=10)
        connection = answer._connection._transport.get_extra_info("socket")
        at_once.append(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK))
        head_is_read.put_nowait(None)
        assert (await answer.whole()).body == b"ok"
    await client.close()
    server.close()

    assert at_once == [1] * ROUNDS
