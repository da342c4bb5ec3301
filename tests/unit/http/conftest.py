"""A server of the HTTP layer alone, and a client that speaks raw bytes to it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from emulator.http.connections import Connections, HttpLimits
from emulator.http.message import Request, Respond, Response
from emulator.http.protocol import HttpProtocol
from emulator.kernel.clock import SystemClock

Handler = Callable[[Request, Respond], "asyncio.Future[Any] | None"]


class RecordingApplication:
    """Keeps what it is asked and answers with ``METHOD target body``, or as the test's handler says."""

    def __init__(self, handler: Handler | None = None, *, admits: Response | int = 1 << 20, early: int = 0) -> None:
        self.handler = handler
        self.admits = admits
        self.serves_early: int | asyncio.Future[None] = early
        self.asked: list[Request] = []
        self.admitted: list[Request] = []
        self.served: list[Request] = []
        self.rejected: list[tuple[int, str]] = []

    def admit(self, request: Request) -> Response | int:
        self.admitted.append(request)
        return self.admits

    def early(self, request: Request) -> "int | asyncio.Future[None]":
        self.asked.append(request)
        return self.serves_early

    def too_large(self, request: Request, limit: int) -> Response:
        return Response(413, f"more than {limit}".encode())

    def malformed(self, status: int, reason: str) -> Response:
        self.rejected.append((status, reason))
        return Response(status, reason.encode(), [("Content-Type", "text/plain")])

    def serve(self, request: Request, respond: Respond) -> "asyncio.Future[Any] | None":
        self.served.append(request)
        if self.handler is not None:
            return self.handler(request, respond)
        respond(Response(200, f"{request.method} {request.target} ".encode() + request.body))
        return None


class Answer:
    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body


class Peer:
    """One raw connection to the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self) -> tuple[int, dict[str, str]]:
        text = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        first, *fields = text[:-4].split("\r\n")
        return int(first.split(" ")[1]), {name.lower(): value for name, _, value in (f.partition(": ") for f in fields)}

    async def answer(self, *, head_only: bool = False) -> Answer:
        status, headers = await self.head()
        if head_only or status in {204, 304} or status < 200:
            return Answer(status, headers, b"")
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(await self.reader.readline(), 16):
                body += await self.reader.readexactly(size)
                await self.reader.readline()
            await self.reader.readline()
        elif "content-length" in headers:
            body = await self.reader.readexactly(int(headers["content-length"]))
        else:
            body = await self.reader.read()
        return Answer(status, headers, body)

    async def ask(self, data: bytes) -> Answer:
        await self.send(data)
        return await self.answer()

    async def ended(self) -> bytes:
        """Wait for the server to close; return what came before."""
        return await self.reader.read()

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()


class Site:
    """A running server: its application, its connections, and peers on demand."""

    def __init__(self, application: RecordingApplication, connections: Connections, port: int) -> None:
        self.application = application
        self.connections = connections
        self.port = port
        self._peers: list[Peer] = []

    async def peer(self) -> Peer:
        peer = Peer(*await asyncio.open_connection("127.0.0.1", self.port))
        self._peers.append(peer)
        return peer

    async def turns(self, count: int = 20) -> None:
        """Let the loop look at every socket *count* times."""
        for _ in range(count):
            await asyncio.sleep(0)

    async def close(self) -> None:
        for peer in self._peers:
            await peer.close()


@contextlib.asynccontextmanager
async def a_site(application: RecordingApplication, limits: HttpLimits) -> AsyncIterator[Site]:
    connections = Connections(application, clock=SystemClock(), limits=limits)
    server = await asyncio.get_running_loop().create_server(lambda: HttpProtocol(connections), "127.0.0.1", 0)
    site = Site(application, connections, server.sockets[0].getsockname()[1])
    try:
        async with asyncio.timeout(20):
            yield site
    finally:
        await site.close()
        server.close()
        await connections.stop(0)


Serving = Callable[..., contextlib.AbstractAsyncContextManager[Site]]


@pytest.fixture
def application() -> RecordingApplication:
    return RecordingApplication()


@pytest.fixture
def serving(application: RecordingApplication) -> Serving:
    """Serve the application for the length of a block: ``async with serving(limits=...) as site``."""
    return lambda limits=None: a_site(application, limits or HttpLimits())
