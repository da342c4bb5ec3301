"""The listening sockets: HTTP on one port, HTTPS on another, each on every host with the same number; graceful stop."""

import asyncio
import errno
import socket
from collections.abc import Callable, Sequence
from typing import Final

from emulator.http.certificates import CertificateAuthority
from emulator.http.connections import Connections, HttpLimits
from emulator.http.message import Application
from emulator.http.protocol import HttpProtocol
from emulator.http.proxy import ProxyDesk
from emulator.http.tls_listener import TlsListener
from emulator.kernel import system
from emulator.kernel.clock import Clock

LOOPBACK: Final = ("127.0.0.1", "::1")

_BACKLOG: Final = 1024
_ATTEMPTS: Final = 50
"""How many port numbers are tried to find one that is free on every host."""

_AT_HOME: Final = (socket.AF_INET, "127.0.0.1")
"""The address given to commands and functions on this machine, whatever other addresses the server listens on."""

_HOME: Final = {_AT_HOME, (socket.AF_INET, "0.0.0.0")}  # noqa: S104 - what is listened on is the user's choice

_NO_SUCH_ADDRESS: Final = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT}


class PortInUse(OSError):
    """Something else listens on the port."""

    def __init__(self, port: int) -> None:
        self.port = port
        super().__init__(errno.EADDRINUSE, f"port {port} is in use")


class Server:
    """Serves one application.

    *port* and *https_port* may be 0 for any free one. Without an *authority* there is no HTTPS port; with *proxy* that
    port is also a proxy. *on_stopping* is called when the server begins to stop, so that the application can end what
    would keep requests waiting. A host that this machine does not have is skipped as long as another one is left.
    127.0.0.1 is listened on in any case.
    """

    def __init__(
        self,
        application: Application,
        *,
        clock: Clock,
        hosts: Sequence[str] = LOOPBACK,
        port: int = 0,
        https_port: int = 0,
        authority: CertificateAuthority | None = None,
        proxy: ProxyDesk | None = None,
        limits: HttpLimits | None = None,
        on_stopping: Callable[[], None] | None = None,
    ) -> None:
        self._hosts = tuple(hosts)
        self._wanted = port
        self._wanted_https = https_port
        self._authority = authority
        self._proxy = proxy
        self._on_stopping = on_stopping
        self._connections = Connections(application, clock=clock, limits=limits or HttpLimits())
        self._listeners: list[asyncio.Server] = []
        self._sockets: list[socket.socket] = []
        self._secure: list[socket.socket] = []
        self._tls: TlsListener | None = None
        self._port = 0
        self._https_port = 0

    @property
    def port(self) -> int:
        """The HTTP port."""
        return self._port

    @property
    def https_port(self) -> int:
        """The HTTPS port; 0 when there is none."""
        return self._https_port

    @property
    def open_connections(self) -> int:
        """How many clients are connected."""
        return len(self._connections)

    async def bind(self) -> None:
        """Bind both ports; clients that connect from now on wait until `start`.

        Raises: PortInUse; OSError when a host or port cannot be had for another reason.
        """
        addresses = await _addresses(self._hosts)
        self._sockets = listen(addresses, self._wanted)
        if self._authority is not None:
            try:
                self._secure = listen(addresses, self._wanted_https)
            except OSError:
                _close(self._sockets)
                self._sockets = []
                raise
            self._https_port = self._secure[0].getsockname()[1]
        self._port = self._sockets[0].getsockname()[1]

    async def start(self) -> None:
        """Serve on both ports, which are taken first if `bind` has not done so.

        Raises: as `bind`.
        """
        if not self._sockets:
            await self.bind()
        loop = asyncio.get_running_loop()
        for sock in self._sockets:
            self._listeners.append(
                await loop.create_server(lambda: HttpProtocol(self._connections), sock=sock, backlog=_BACKLOG)
            )
        self._sockets = []
        if self._authority is not None:
            self._tls = TlsListener(
                self._secure, connections=self._connections, authority=self._authority, proxy=self._proxy
            )
            self._tls.start()
            self._secure = []

    async def stop(self, grace_s: float = 5) -> None:
        """Accept no more, close idle connections, and give the others *grace_s* seconds to get their answer."""
        for listener in self._listeners:
            listener.close()
        self._listeners.clear()
        _close(self._sockets + self._secure)  # reserved, but never served
        self._sockets, self._secure = [], []
        if self._tls is not None:
            await self._tls.close()
            self._tls = None
        if self._on_stopping is not None:
            self._on_stopping()
        await self._connections.stop(grace_s)
        if self._authority is not None:
            await self._authority.close()


def listen(addresses: Sequence[tuple[socket.AddressFamily, str]], port: int) -> list[socket.socket]:
    """Return sockets that listen on *port* at every one of *addresses*; 0 finds a number that is free at all of them.

    Raises: PortInUse, OSError.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return _listen_once(addresses, port)
        except PortInUse:
            if port or attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable: the last attempt raises")


def _listen_once(addresses: Sequence[tuple[socket.AddressFamily, str]], port: int) -> list[socket.socket]:
    sockets: list[socket.socket] = []
    missing: OSError | None = None
    try:
        for family, address in addresses:
            try:
                sock = _bind(family, address, port)
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    raise PortInUse(port) from error
                if error.errno not in _NO_SUCH_ADDRESS:
                    raise
                missing = error
                continue
            sockets.append(sock)
            port = sock.getsockname()[1]
    except OSError:
        _close(sockets)
        raise
    if missing is not None and not sockets:
        raise missing
    if not _HOME.isdisjoint(addresses):
        return sockets
    try:
        sockets.append(_bind(*_AT_HOME, port))
    except OSError as error:
        if error.errno in _NO_SUCH_ADDRESS:
            return sockets
        _close(sockets)
        if error.errno == errno.EADDRINUSE:
            raise PortInUse(port) from error
        raise
    return sockets


def _bind(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    # The protocol is named because asyncio sets TCP_NODELAY only on sockets that say they are TCP.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        system.take_over(sock)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((address, port))
        sock.listen(_BACKLOG)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock


async def _addresses(hosts: Sequence[str]) -> list[tuple[socket.AddressFamily, str]]:
    """Resolve *hosts* to the addresses to bind, each once.

    Raises: OSError when a name is not known.
    """
    addresses: dict[tuple[socket.AddressFamily, str], None] = {}
    loop = asyncio.get_running_loop()
    for host in hosts:
        known = _literal(host)
        if known is not None:
            addresses[known] = None
            continue
        for family, _, _, _, address in await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM):
            if family in {socket.AF_INET, socket.AF_INET6}:
                addresses[family, str(address[0])] = None
    return list(addresses)


def _literal(host: str) -> tuple[socket.AddressFamily, str] | None:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except OSError:
            continue
        return family, host
    return None


def _close(sockets: list[socket.socket]) -> None:
    for sock in sockets:
        sock.close()
