"""The HTTPS port: looks at each connection's first byte, then begins TLS or reads a proxy request.

The byte is only peeked at, so the handshake that follows sees it. Plain HTTP on this port is that of a client which
takes it for its proxy (`emulator.http.proxy`); any other is answered with a hint in plain HTTP.
"""

import asyncio
import errno
import logging
import select
import socket
import ssl
from collections.abc import Callable
from typing import Final, TypeVar

from emulator.http.certificates import CertificateAuthority, MintingFailed, NameRefused
from emulator.http.connections import Connections, Refusal
from emulator.http.protocol import HttpProtocol
from emulator.http.proxy import (
    ESTABLISHED,
    MAX_HEAD_BYTES,
    VIA,
    AllowedHosts,
    Forward,
    NotProxyRequest,
    NoWayThere,
    ProxyDesk,
    ProxyRequest,
    Refuse,
    Serve,
    dial,
    read_proxy_request,
    splice,
)
from emulator.kernel.tasks import TaskGroup

_log = logging.getLogger(__name__)

_HELLO_S: Final = 10
_HANDSHAKE_S: Final = 20
_POLL_S: Final = 0.005
_LONGEST_POLL_S: Final = 0.2
_EXHAUSTED_S: Final = 1
_END: Final[int] = getattr(select, "POLLRDHUP", 0)
"""The event that a client sends no more, which comes while there are still bytes to read; 0 where there is none."""
_MOST_TUNNELS: Final = 256
_MOST_HANDSHAKES: Final = 1000
_EXHAUSTED: Final = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}

_Found = TypeVar("_Found")

_PLAIN_HTTP: Final = (400, "this port speaks HTTPS; use https:// or the HTTP port", ())
_VIA: Final = (("Via", VIA),)
_LONGEST_HELLO: Final = 16 * 1024
_HANDSHAKE: Final = b"\x16"
"""The first byte of TLS. Source: RFC 8446 section 5.1."""

_INTERNAL_ERROR: Final = b"\x15\x03\x01\x00\x02\x02\x50"


class ServerNames:
    """Reads the host name in a TLS client's hello before the handshake, as its certificate may have to be made."""

    def __init__(self) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)  # without a certificate: no client is answered with it
        self._context.sni_callback = self._note
        self._found: list[str] = []

    def in_hello(self, hello: bytes) -> str | None:
        """Return the host name in *hello*, the first bytes received; "" without one, None while more must come."""
        self._found.clear()
        incoming = ssl.MemoryBIO()
        incoming.write(hello)
        try:
            self._context.wrap_bio(incoming, ssl.MemoryBIO(), server_side=True).do_handshake()
        except ssl.SSLWantReadError:
            return None if len(hello) < _LONGEST_HELLO else ""
        except ssl.SSLError:  # always raised: there is no certificate, or this is not a hello
            return "".join(self._found)
        return ""

    def _note(self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> int:
        self._found.append(name or "")
        return ssl.AlertDescription.ALERT_DESCRIPTION_INTERNAL_ERROR


class TlsListener:
    """Accepts connections on listening sockets and serves them over TLS. The sockets become its own.

    With a *proxy* the port is one too, for clients that know its secret.
    """

    def __init__(
        self,
        sockets: list[socket.socket],
        *,
        connections: Connections,
        authority: CertificateAuthority,
        proxy: ProxyDesk | None = None,
    ) -> None:
        self._sockets = sockets
        self._connections = connections
        self._authority = authority
        self._proxy = proxy
        self._handshakes = asyncio.Semaphore(_MOST_HANDSHAKES)
        self._accepting = TaskGroup("https")
        self._shaking = TaskGroup("tls")
        self._tunnels = TaskGroup("tunnel")
        self._names = ServerNames()

    def start(self) -> None:
        """Start accepting connections."""
        for listening in self._sockets:
            listening.setblocking(False)
            self._accepting.spawn(self._accept(listening), "accept")

    async def close(self) -> None:
        """Accept no more; connections that have not finished their handshake are dropped."""
        await self._accepting.close()
        for listening in self._sockets:
            listening.close()
        await self._shaking.close()
        await self._tunnels.close()

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._handshakes.acquire()
            try:
                sock, _ = await loop.sock_accept(listening)
            except OSError as error:
                self._handshakes.release()
                _log.warning("cannot accept a connection: %s", error)
                await asyncio.sleep(_EXHAUSTED_S if error.errno in _EXHAUSTED else 0)
                continue
            except BaseException:
                self._handshakes.release()
                raise
            self._shaking.spawn(self._serve(sock), "handshake")

    async def _serve(self, sock: socket.socket) -> None:
        try:
            await self._hand_over(sock)
        except (OSError, ssl.SSLError, TimeoutError, EOFError) as error:
            # Clients that do not trust ca.pem end up here, as do port scanners.
            _log.info("a TLS handshake failed: %s", str(error) or type(error).__name__)
            sock.close()
        except BaseException:
            sock.close()
            raise
        finally:
            self._handshakes.release()

    async def _hand_over(self, sock: socket.socket) -> None:
        first = await _first_byte(sock)
        if first == _HANDSHAKE:
            await self._shake_hands(sock)
        elif first:
            await self._hand_over_plain(sock)
        else:
            sock.close()

    async def _shake_hands(self, sock: socket.socket, host: str | None = None) -> None:
        """Serve a connection that begins with TLS; *host* is the host it leads to when the client names none."""
        named = await _peeked(sock, self._names.in_hello, _LONGEST_HELLO)
        try:
            context = await self._authority.context(named or host)
        except NameRefused:  # the client refuses a certificate without the name
            context = await self._authority.context()
        except MintingFailed as error:
            _log.warning("a TLS handshake is refused: %s", error)
            sock.recv(MAX_HEAD_BYTES)  # closing with unread input would send a reset after the alert
            await asyncio.get_running_loop().sock_sendall(sock, _INTERNAL_ERROR)
            sock.close()
            return
        await asyncio.get_running_loop().connect_accepted_socket(
            lambda: HttpProtocol(self._connections, scheme="https"),
            sock,
            ssl=context,
            ssl_handshake_timeout=_HANDSHAKE_S,
        )

    async def _hand_over_plain(self, sock: socket.socket) -> None:
        """Serve a connection that begins with plain HTTP: a proxy's client, or one at the wrong port."""
        if self._proxy is None:
            await self._refuse(sock, _PLAIN_HTTP)
            return
        try:
            asked = await _peeked(sock, read_proxy_request, MAX_HEAD_BYTES)
        except NotProxyRequest:
            await self._refuse(sock, _PLAIN_HTTP)
            return
        except EOFError:
            sock.close()
            return
        match self._proxy.judge(asked):
            case Refuse(status=status, reason=reason):
                await self._refuse(sock, (status, reason, _VIA))
            case Serve() if asked.is_connect:
                await self._serve_connected(sock, asked)
            case Serve():
                await self._begin(sock, HttpProtocol(self._connections, proxied=True))
            case Forward() if len(self._tunnels) >= _MOST_TUNNELS:
                await self._refuse(sock, (503, "the proxy has too many connections open", _VIA))
            case Forward(allowed):
                self._tunnels.spawn(self._tunnel(sock, asked, allowed), asked.host)

    async def _serve_connected(self, sock: socket.socket, asked: ProxyRequest) -> None:
        """Let the client have the connection it wanted with an emulated host; it may speak TLS or plain HTTP on it."""
        sock.recv(asked.size)
        await asyncio.get_running_loop().sock_sendall(sock, ESTABLISHED)
        first = await _first_byte(sock)
        if first == _HANDSHAKE:
            await self._shake_hands(sock, asked.host)
        elif first:
            await self._begin(sock, HttpProtocol(self._connections))
        else:
            sock.close()

    async def _tunnel(self, sock: socket.socket, asked: ProxyRequest, allowed: AllowedHosts) -> None:
        try:
            upstream = await dial(asked, allowed)
        except NoWayThere as error:
            _log.info("the proxy cannot pass on a call: %s", error)
            await self._refuse(sock, (error.status, error.reason, _VIA))
            return
        except BaseException:
            sock.close()
            raise
        await splice(sock, upstream, asked)

    async def _refuse(self, sock: socket.socket, refusal: Refusal) -> None:
        await self._begin(sock, HttpProtocol(self._connections, refusal=refusal))

    async def _begin(self, sock: socket.socket, protocol: HttpProtocol) -> None:
        await asyncio.get_running_loop().connect_accepted_socket(lambda: protocol, sock)


async def _first_byte(sock: socket.socket) -> bytes:
    """Wait for the first byte and return it, leaving it where it is; empty when the client closes first.

    Raises: TimeoutError, OSError.
    """
    try:
        return await _peeked(sock, bytes, 1)
    except EOFError:
        return b""


async def _peeked(sock: socket.socket, read: Callable[[bytes], _Found | None], most: int) -> _Found:
    """Wait until *read* makes something of the bytes that have come, and leave all of them where they are.

    A part of a message keeps the socket readable, so there is nothing to wait on but time. It is looked at less and
    less often while nothing more comes: a thousand clients that stop halfway must not keep the loop busy.

    Raises: what *read* raises; EOFError when the client sends no more, which not every system tells behind a part of a
    message; TimeoutError when it is silent for `_HELLO_S` seconds, or takes that long; OSError.
    """
    await _readable(sock)
    seen, pause_s, waited_s = 0, _POLL_S, 0.0
    while waited_s < _HELLO_S:
        is_all = _has_ended(sock)
        try:
            data = sock.recv(most, socket.MSG_PEEK)
        except BlockingIOError:
            data = None
        if data == b"":
            raise EOFError
        if data is not None and len(data) > seen:
            seen, pause_s = len(data), _POLL_S
            hello = read(data)
            if hello is not None:
                return hello
        if is_all:
            raise EOFError
        await asyncio.sleep(pause_s)
        waited_s += pause_s
        pause_s = min(pause_s * 2, _LONGEST_POLL_S)
    raise TimeoutError


def _has_ended(sock: socket.socket) -> bool:
    """Whether the client sends no more, as far as the system tells."""
    if not _END:
        return False
    poll = select.poll()
    poll.register(sock, _END)
    return bool(poll.poll(0))


async def _readable(sock: socket.socket) -> None:
    """Wait until there is something to read; Windows' loop, which watches no sockets, leaves that to the caller.

    Time is counted in looks at the socket: a loop that stood still meanwhile takes none from the client.

    Raises: TimeoutError after `_HELLO_S` seconds.
    """
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def wake() -> None:
        if not ready.done():
            ready.set_result(None)

    try:
        loop.add_reader(sock, wake)
    except NotImplementedError:
        return
    try:
        for _ in range(_HELLO_S):
            if (await asyncio.wait([ready], timeout=1))[0]:
                return
        raise TimeoutError
    finally:
        loop.remove_reader(sock)
