"""The HTTPS port: looks at each connection's first bytes, fetches the certificate for the name, then lets TLS begin.

The bytes are only peeked at, so the handshake that follows sees all of them. Plain HTTP on this port is answered in
plain HTTP, a name that is not served with the alert ``unrecognized_name``.
"""

import asyncio
import errno
import logging
import socket
import ssl
from typing import Final

from emulator.http.certificates import CertificateAuthority, MintingFailed, NameRefused
from emulator.http.client_hello import MAX_BYTES, NotClientHello, read_client_hello
from emulator.http.connections import Connections
from emulator.http.protocol import HttpProtocol
from emulator.kernel.tasks import TaskGroup

_log = logging.getLogger(__name__)

_HELLO_S: Final = 10
_HANDSHAKE_S: Final = 20
_POLL_S: Final = 0.005
_EXHAUSTED_S: Final = 1
_EXHAUSTED: Final = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}

_PLAIN_HTTP: Final = (400, "this port speaks HTTPS; use https:// or the HTTP port")
_UNRECOGNIZED_NAME: Final = b"\x15\x03\x01\x00\x02\x02\x70"
_INTERNAL_ERROR: Final = b"\x15\x03\x01\x00\x02\x02\x50"


class TlsListener:
    """Accepts connections on listening sockets and serves them over TLS. The sockets become its own."""

    def __init__(
        self,
        sockets: list[socket.socket],
        *,
        connections: Connections,
        authority: CertificateAuthority,
        most: int = 1000,
    ) -> None:
        self._sockets = sockets
        self._connections = connections
        self._authority = authority
        self._handshakes = asyncio.Semaphore(most)
        self._accepting = TaskGroup("https")
        self._shaking = TaskGroup("tls")

    def start(self) -> None:
        """Begin to accept connections."""
        for listening in self._sockets:
            listening.setblocking(False)
            self._accepting.spawn(self._accept(listening), "accept")

    async def close(self) -> None:
        """Accept no more; connections that have not finished their handshake are dropped."""
        await self._accepting.close()
        for listening in self._sockets:
            listening.close()
        await self._shaking.close()

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
        except (OSError, ssl.SSLError, TimeoutError) as error:
            # Clients that do not trust ca.pem end up here, as do port scanners.
            _log.info("a TLS handshake failed: %s", str(error) or type(error).__name__)
            sock.close()
        except BaseException:
            sock.close()
            raise
        finally:
            self._handshakes.release()

    async def _hand_over(self, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_HELLO_S):
                name = await _peek_server_name(sock)
        except NotClientHello:
            await loop.connect_accepted_socket(lambda: HttpProtocol(self._connections, refusal=_PLAIN_HTTP), sock)
            return
        except EOFError:
            sock.close()
            return
        try:
            context = await self._authority.context_for(name)
        except (NameRefused, MintingFailed) as error:
            _log.warning("a TLS handshake is refused: %s", error)
            sock.recv(MAX_BYTES)  # closing with unread input would send a reset after the alert
            await loop.sock_sendall(sock, _UNRECOGNIZED_NAME if isinstance(error, NameRefused) else _INTERNAL_ERROR)
            sock.close()
            return
        await loop.connect_accepted_socket(
            lambda: HttpProtocol(self._connections, scheme="https", server_name=name),
            sock,
            ssl=context,
            ssl_handshake_timeout=_HANDSHAKE_S,
        )


async def _peek_server_name(sock: socket.socket) -> str | None:
    """Wait for a whole ClientHello and return the name in it, leaving every byte where it is.

    Raises: NotClientHello; EOFError when the client closes first; OSError.
    """
    await _readable(sock)
    while True:
        try:
            data = sock.recv(MAX_BYTES, socket.MSG_PEEK)
        except BlockingIOError:
            pass
        else:
            if not data:
                raise EOFError
            hello = read_client_hello(data)
            if hello is not None:
                return hello.server_name
        await asyncio.sleep(_POLL_S)  # a part of the message keeps the socket readable, so there is nothing to wait on


async def _readable(sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def wake() -> None:
        if not ready.done():
            ready.set_result(None)

    try:
        loop.add_reader(sock, wake)
    except NotImplementedError:  # Windows' loop watches no sockets; the caller polls
        return
    try:
        await ready
    finally:
        loop.remove_reader(sock)
