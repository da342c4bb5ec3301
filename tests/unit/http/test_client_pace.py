"""The client does not make servers wait that write an answer in two parts."""

import asyncio
import socket
import sys

import pytest

from emulator.http.client import HttpClient

ROUNDS = 30


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can be told to acknowledge at once")
async def test_head_of_an_answer_is_acknowledged_at_once():
    """A server without TCP_NODELAY sends the body when its head is acknowledged: 40 ms later, unless asked for."""

    async def serve(reader, writer):
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
        for _ in range(ROUNDS):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
            await asyncio.sleep(0)
            writer.write(b"ok")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    client = HttpClient()
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    loop = asyncio.get_running_loop()
    began = loop.time()
    for _ in range(ROUNDS):
        await client.request("GET", url, timeout_s=10)
    elapsed_s = loop.time() - began
    await client.close()
    server.close()
    assert elapsed_s < ROUNDS * 0.030  # far from 40 ms each, whatever else the machine does
