"""The small HTTP/1.1 client that pushes, destinations and custom runtimes share.

It keeps connections for the next call, never follows a redirect, and dials only addresses its caller's policy permits:
a name is resolved once, each address is judged, and only a permitted one is dialled. Resolving again when connecting
would let a name answer with a harmless address first and another one after.
"""

import asyncio
import errno
import ipaddress
import os
import socket
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from types import TracebackType
from typing import Final, NamedTuple, Self

from emulator.http.client_connection import (
    AddressRefused,
    Answer,
    AnswerTooLarge,
    CallTimedOut,
    ClientConnection,
    ClientError,
    ConnectFailed,
    ConnectionLost,
)
from emulator.http.message import Headers, Origin, request_head, split_url

Permit = Callable[[str], bool]
"""Decides whether a call may go to an address, given in its usual text form."""

_LOOPBACK: Final = ["127.0.0.1", "::1"]


def is_loopback(address: str) -> bool:
    """Permit this machine only."""
    return ipaddress.ip_address(address).is_loopback


async def permitted_addresses(host: str, permit: Permit) -> list[str]:
    """Return the addresses of *host* that *permit* lets through, in the resolver's order.

    ``localhost`` and names below it are this machine without asking the resolver (RFC 6761).

    Raises: ConnectFailed when the name is not known; AddressRefused when every address is refused.
    """
    addresses = await _resolve(host)
    allowed = [address for address in addresses if permit(address)]
    if not allowed:
        raise AddressRefused(f"calls to {host} ({', '.join(addresses)}) are not allowed")
    return allowed


async def _resolve(host: str) -> list[str]:
    literal = _literal(host)
    if literal is not None:
        return [literal]
    if host == "localhost" or host.endswith(".localhost"):
        return _LOOPBACK
    try:
        entries = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ConnectFailed(f"the host name {host} cannot be resolved: {error}") from error
    texts = (str(entry[4][0]).partition("%")[0] for entry in entries)
    return list(dict.fromkeys(literal for text in texts if (literal := _literal(text)) is not None))


def _literal(text: str) -> str | None:
    """Return *text* as an address, None for a name; an IPv4-mapped IPv6 address as the IPv4 address it is."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


class PoolKey(NamedTuple):
    """Calls with the same key can share a connection."""

    origin: Origin
    connect_to: tuple[str, int] | None


class ConnectionPool:
    """Keeps idle connections: at most *per_key* for one key and *total* in all, each for *idle_s* seconds."""

    def __init__(self, *, idle_s: float, per_key: int, total: int) -> None:
        self._idle_s = idle_s
        self._per_key = per_key
        self._total = total
        self._kept: dict[PoolKey, deque[ClientConnection]] = {}
        self._count = 0
        self._closed = False
        self._sweeper: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return self._count

    def take(self, key: PoolKey) -> ClientConnection | None:
        """Remove and return the connection used last, if one is still open; else None."""
        kept = self._kept.get(key)
        while kept:
            connection = kept.pop()
            self._count -= 1
            if not kept:
                del self._kept[key]
            if connection.reusable:
                return connection
            connection.close()
        return None

    def give_back(self, key: PoolKey, connection: ClientConnection) -> None:
        """Keep *connection* for the next call, or close it when it cannot be used again or there are enough."""
        kept = self._kept.get(key)
        if (
            self._closed
            or not connection.reusable
            or self._count >= self._total
            or (kept is not None and len(kept) >= self._per_key)
        ):
            connection.close()
            return
        loop = asyncio.get_running_loop()
        connection.idle_since = loop.time()
        self._kept.setdefault(key, deque()).append(connection)
        self._count += 1
        if self._sweeper is None:
            self._sweeper = loop.call_later(self._idle_s, self._sweep)

    def close(self) -> None:
        """Close all idle connections and keep none from now on."""
        self._closed = True
        self._drop_idle(float("inf"))
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweeper = None
        self._drop_idle(loop.time() - self._idle_s)
        if self._kept:
            oldest = min(kept[0].idle_since for kept in self._kept.values())
            self._sweeper = loop.call_at(oldest + self._idle_s, self._sweep)

    def _drop_idle(self, since: float) -> None:
        """Close connections that have been idle since *since* or longer; the oldest stand first."""
        for key, kept in list(self._kept.items()):
            while kept and kept[0].idle_since <= since:
                kept.popleft().close()
                self._count -= 1
            if not kept:
                del self._kept[key]


MAX_RESPONSE: Final = 32 * 1024 * 1024

_IDEMPOTENT: Final = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"})


class ClientResponse(NamedTuple):
    """A whole answer."""

    status: int
    headers: Headers
    body: bytes


class StreamedResponse:
    """An answer whose body is read piece by piece: iterate over it, to the end or until `aclose`.

    It can itself be the body of a `Response`. The server is paused while its pieces are not read.
    """

    def __init__(self, answer: Answer, connection: ClientConnection, pool: ConnectionPool, key: PoolKey) -> None:
        self.status = answer.status
        self.headers = answer.headers
        self._connection = connection
        self._pieces = connection.pieces()
        self._pool = pool
        self._key = key
        self._ended = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Return the next piece.

        Raises: ClientError.
        """
        try:
            return await anext(self._pieces)
        except StopAsyncIteration:
            self._release()
            raise
        except BaseException:
            await self.aclose()
            raise

    def write(self, data: bytes) -> None:
        """Send bytes after the answer 101."""
        self._connection.write(data)

    def on_pace(self, pace: Callable[[bool], None]) -> None:
        """Call *pace* with False when the server reads more slowly than is sent, with True when it has caught up."""
        self._connection.on_pace(pace)

    async def aclose(self) -> None:
        """Stop reading; the connection is closed unless the body has ended."""
        if not self._ended:
            self._ended = True
            self._connection.close()

    async def whole(self, most: int = MAX_RESPONSE) -> ClientResponse:
        """Read the body, of at most *most* bytes, to its end and return the whole answer.

        Raises: AnswerTooLarge, ClientError.
        """
        async with self:
            return ClientResponse(self.status, self.headers, await _collect(self, most))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _release(self) -> None:
        if not self._ended:
            self._ended = True
            self._pool.give_back(self._key, self._connection)


class HttpClient:
    """Makes outgoing calls.

    *permit* is the address policy; without one only this machine is called. *ssl_context* is for https; without one
    such calls fail. Connections are kept for *idle_s* seconds, *idle_per_host* and *idle_total* at most.
    """

    def __init__(
        self,
        *,
        permit: Permit = is_loopback,
        ssl_context: ssl.SSLContext | None = None,
        idle_s: float = 30,
        idle_per_host: int = 8,
        idle_total: int = 64,
    ) -> None:
        self._permit = permit
        self._ssl_context = ssl_context
        self._pool = ConnectionPool(idle_s=idle_s, per_key=idle_per_host, total=idle_total)

    async def request(
        self,
        method: str,
        url: str,
        *,
        timeout_s: float,
        headers: Iterable[tuple[str, str]] = (),
        body: bytes | AsyncIterator[bytes] = b"",
        connect_to: tuple[str, int] | None = None,
        max_response: int = MAX_RESPONSE,
    ) -> ClientResponse:
        """Make a call and return its whole answer, whatever its status.

        *timeout_s* covers everything. *connect_to* is an (address, port) to dial instead of the URL's host; it is the
        caller's own choice and not judged by the address policy.

        Raises: ClientError; Unsendable (a ValueError) when URL, method or headers cannot go on the wire.
        """
        try:
            async with (
                asyncio.timeout(timeout_s),
                await self.open(
                    method, url, timeout_s=timeout_s, headers=headers, body=body, connect_to=connect_to
                ) as answer,
            ):
                return await answer.whole(max_response)
        except TimeoutError as error:
            raise CallTimedOut(f"{method} {url} was not answered within {timeout_s:g} s") from error

    async def open(
        self,
        method: str,
        url: str,
        *,
        timeout_s: float,
        headers: Iterable[tuple[str, str]] = (),
        body: bytes | AsyncIterator[bytes] = b"",
        connect_to: tuple[str, int] | None = None,
        switching: bool = False,
    ) -> StreamedResponse:
        """Make a call and return once the head of its answer has come; *timeout_s* does not cover the body.

        With *switching* the call asks to change the protocol; the answer 101 means that the server has.

        Raises: as `request`.
        """
        origin, target = split_url(url)
        length = len(body) if isinstance(body, bytes) else None
        head, chunked = request_head(method, target, origin, headers, length)
        key = PoolKey(origin, connect_to)
        try:
            async with asyncio.timeout(timeout_s):
                kept = self._pool.take(key)
                if kept is not None:
                    try:
                        answer = await _send(kept, method, head, body, chunked=chunked, switching=switching)
                    except ConnectionLost as error:
                        # The server may close a kept connection at any time. A call that may have had an effect is not
                        # made again, nor one that has begun to be answered.
                        if not error.unanswered or method not in _IDEMPOTENT or length is None:
                            raise
                    else:
                        return StreamedResponse(answer, kept, self._pool, key)
                fresh = await self._connect(origin, connect_to)
                answer = await _send(fresh, method, head, body, chunked=chunked, switching=switching)
                return StreamedResponse(answer, fresh, self._pool, key)
        except TimeoutError as error:
            raise CallTimedOut(f"{method} {url} was not answered within {timeout_s:g} s") from error

    async def close(self) -> None:
        """Close the idle connections."""
        self._pool.close()
        await asyncio.sleep(0)  # lets the transports end

    async def _connect(self, origin: Origin, connect_to: tuple[str, int] | None) -> ClientConnection:
        if origin.scheme == "https" and self._ssl_context is None:
            raise ConnectFailed("calls over https have not been set up")
        if connect_to is not None:
            addresses, port = [connect_to[0]], connect_to[1]
        else:
            addresses, port = await permitted_addresses(origin.host, self._permit), origin.port
        last: Exception | None = None
        for address in addresses:
            try:
                return await self._dial(origin, address, port)
            except (OSError, ssl.SSLError) as error:
                last = error
        raise ConnectFailed(f"{origin.authority} cannot be reached: {_reason(last)}") from last

    async def _dial(self, origin: Origin, address: str, port: int) -> ClientConnection:
        secure = origin.scheme == "https"
        _, connection = await asyncio.get_running_loop().create_connection(
            ClientConnection,
            address,
            port,
            ssl=self._ssl_context if secure else None,
            server_hostname=origin.host if secure else None,
        )
        return connection


async def _send(
    connection: ClientConnection,
    method: str,
    head: bytes,
    body: bytes | AsyncIterator[bytes],
    *,
    chunked: bool,
    switching: bool,
) -> Answer:
    try:
        return await connection.send(method, head, body, chunked=chunked, switching=switching)
    except BaseException:
        connection.close()
        raise


async def _collect(answer: StreamedResponse, most: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async for piece in answer:
        size += len(piece)
        if size > most:
            raise AnswerTooLarge(f"the answer is longer than {most} bytes")
        pieces.append(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _reason(error: Exception | None) -> str:
    """Return why no connection was made, in the system's words: without the number and the address around them.

    The number of a failure of TLS is none of the system's.
    """
    number = error.errno if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) else None
    return str(error) if number is None or number not in errno.errorcode else os.strerror(number)


__all__ = ["MAX_RESPONSE", "ClientError", "ClientResponse", "HttpClient", "StreamedResponse"]
