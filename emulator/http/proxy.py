"""The HTTPS port as a proxy: which requests it serves, passes on or refuses.

Clients of languages without a hook find the emulator through ``HTTPS_PROXY``. They speak plain HTTP to the HTTPS port:
``CONNECT name:443`` before TLS, or a whole URL as the target of a plain request. The emulated names are answered here
and never looked up. Everything else is refused, unless the user name `FORWARDING` asks for it to be passed on; then a
public address is called, and nothing inside this machine or its networks.

Hosts that the user name lists (`forwarding_user`) are called although they are not public: a company's mirror, say.

Every request has to carry the secret of this run, so that neither web pages nor other programs get a way through.
`ProxyDesk` decides, `dial` and `splice` pass on; `emulator.http.tls_listener` calls them.

Source: RFC 9110 sections 7.2, 9.3.6, 11.7 (absolute form, CONNECT, Proxy-Authorization); RFC 7617 (Basic).
"""

import asyncio
import hmac
import ipaddress
import logging
import re
import socket
from base64 import b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from binascii import a2b_base64
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from emulator.http.client import permitted_addresses
from emulator.http.client_connection import AddressRefused, ConnectFailed
from emulator.http.connections import HttpLimits
from emulator.http.message import Request
from emulator.http.reader import Malformed, RequestReader
from emulator.kernel.frozen import frozen

_log = logging.getLogger(__name__)

MAX_HEAD_BYTES: Final = 16 * 1024
"""A longer head is refused; those of proxy requests carry little more than the client's own fields."""

SERVED_ONLY: Final = "localyun"
"""The user name of clients that call the emulator alone."""

FORWARDING: Final = "forward"
"""The user name of clients whose calls to other hosts are to be passed on."""

VIA: Final = "1.1 localyun"
"""The value of ``Via`` in answers that the proxy itself gives."""

_HOP_FIELDS: Final = frozenset({"proxy-authorization", "proxy-connection", "connection", "keep-alive", "host"})
_TARGET: Final = r"(?:\[(?P<literal>[0-9A-Fa-f:.]+)\]|(?P<name>[^:]+))(?::(?P<port>[0-9]+))?"
_METADATA: Final = frozenset(map(ipaddress.ip_address, ("100.100.100.200", "169.254.169.254", "fd00:ec2::254")))
_EMBEDDING: Final = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("2002::/16"))


class NotProxyRequest(Exception):
    """The bytes are not the head of a request to a proxy."""


@frozen
class ProxyRequest:
    """A request to a proxy. ``host`` is in lower case and without brackets, ``size`` that of the head in bytes."""

    request: Request
    host: str
    port: int
    size: int

    @property
    def is_connect(self) -> bool:
        """Whether the request is a ``CONNECT``."""
        return self.request.method == "CONNECT"

    def onward_head(self) -> bytes:
        """Return the head as the origin server is to get it, ending the connection after the answer."""
        request = self.request
        lines = [f"{request.method} {request.target} HTTP/1.1", f"Host: {request.authority}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in request.headers.pairs if name.lower() not in _HOP_FIELDS]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape")


@frozen
class Serve:
    """Verdict: the host is emulated, the emulator answers."""


class AllowedHosts:
    """Hosts that are called although they are not public: names with all below them, addresses, networks, or ``*``.

    An entry is written as in ``NO_PROXY``: ``corp.example``, ``.corp.example``, ``*.corp.example``, ``10.0.0.0/8``; a
    port is left aside. Link-local addresses, the metadata service among them, are never called.
    """

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self._names: list[str] = []
        self._networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
        for entry in entries:
            text = entry.strip().lower()
            try:
                self._networks.append(ipaddress.ip_network(text.strip("[]"), strict=False))
            except ValueError:
                self._names.append(re.sub(r":\d+$", "", text).lstrip("*").lstrip("."))

    def permits(self, host: str) -> Callable[[str], bool]:
        """Return a predicate: whether a connection to an address of *host* is allowed."""
        named = any(not name or host == name or host.endswith(f".{name}") for name in self._names)
        return lambda address: is_public(address) or self._has(address, named=named)

    def _has(self, address: str, *, named: bool) -> bool:
        parsed = ipaddress.ip_address(address)
        if parsed.is_link_local or parsed.is_multicast or parsed.is_unspecified or parsed in _METADATA:
            return False
        return named or any(parsed in network for network in self._networks)


def forwarding_user(allowed: Iterable[str]) -> str:
    """Return the user name of a client whose calls to other hosts, those of *allowed* among them, are passed on."""
    text = ",".join(allowed)
    return FORWARDING + (f".{urlsafe_b64encode(text.encode()).decode().rstrip('=')}" if text else "")


def _allowed_by(user: str) -> AllowedHosts | None:
    """Return the hosts listed in a user name; None for a user name that asks for no forwarding."""
    name, _, encoded = user.partition(".")
    if name != FORWARDING:
        return None
    try:
        text = b64decode(encoded + "=" * (-len(encoded) % 4), altchars="-_", validate=True).decode()
    except ValueError:
        return None
    return AllowedHosts(filter(None, text.split(",")))


@frozen(kw_only=False)
class Forward:
    """Verdict: another host, to which the client's bytes are passed on."""

    allowed: AllowedHosts


@frozen(kw_only=False)
class Refuse:
    """Verdict: the request is refused with *status*."""

    status: int
    reason: str


Verdict = Serve | Forward | Refuse


def read_proxy_request(data: bytes) -> ProxyRequest | None:
    """Read the head at the beginning of *data*; None when more bytes are needed.

    Raises: NotProxyRequest.
    """
    reader = RequestReader(HttpLimits())
    reader.feed(data)
    try:
        incoming = reader.head()
    except Malformed as error:
        raise NotProxyRequest(error.reason) from error
    if incoming is None:
        if len(data) >= MAX_HEAD_BYTES:
            raise NotProxyRequest("the head is too long")
        return None
    request = incoming.request
    target = re.fullmatch(_TARGET, request.authority or "")
    if target is None:
        raise NotProxyRequest("the target names no host")
    return ProxyRequest(
        request=request,
        host=(target["literal"] or target["name"]).lower().rstrip("."),
        port=int(target["port"] or (443 if request.method == "CONNECT" else 80)),
        size=data.index(b"\r\n\r\n") + 4,
    )


class ProxyDesk:
    """Decides about requests to the proxy. *emulates* decides whether a host name is one of the emulator's own."""

    def __init__(self, secret: str, *, emulates: Callable[[str], bool]) -> None:
        self._secret = secret.encode()
        self._emulates = emulates

    def judge(self, asked: ProxyRequest) -> Verdict:
        """Return whether a request is served, passed on or refused."""
        user, secret = _credentials(asked.request)
        allowed = _allowed_by(user)
        if not hmac.compare_digest(secret, self._secret) or (user != SERVED_ONLY and allowed is None):
            return Refuse(407, "the proxy wants the user name and the secret that localyun env prints")
        if self._emulates(asked.host):
            return Serve()
        if allowed is not None:
            return Forward(allowed)
        return Refuse(403, f"{asked.host} is not emulated, and this proxy passes nothing on")


def is_public(address: str) -> bool:
    """Whether *address* (in text form) is one that every machine on the internet can call."""
    parsed = ipaddress.ip_address(address)
    if isinstance(parsed, ipaddress.IPv6Address) and any(parsed in network for network in _EMBEDDING):
        return False  # an IPv4 address in disguise, which may be a private one
    return parsed.is_global and not parsed.is_multicast


def _credentials(request: Request) -> tuple[str, bytes]:
    """Return (user name, secret), both empty when there are none that can be read."""
    scheme, _, encoded = request.headers.get("proxy-authorization").partition(" ")
    if scheme.lower() != "basic":
        return "", b""
    try:
        user, _, secret = a2b_base64(encoded.strip()).partition(b":")
    except (NotBase64, ValueError):
        return "", b""
    return user.decode("ascii", "replace"), secret


ESTABLISHED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"

_CONNECT_S: Final = 10
_PIECE: Final = 64 * 1024


class NoWayThere(Exception):
    """The host cannot be called. ``status`` is the answer's."""

    def __init__(self, status: int, reason: str) -> None:
        self.status = status
        self.reason = reason
        super().__init__(reason)


async def dial(asked: ProxyRequest, allowed: AllowedHosts) -> socket.socket:
    """Return a connection to the requested host, if its address is public or *allowed*.

    Raises: NoWayThere.
    """
    try:
        addresses = await permitted_addresses(asked.host, allowed.permits(asked.host))
    except AddressRefused as error:
        raise NoWayThere(
            403,
            f"{asked.host} is not a public host, so the proxy of localyun exec does not call it: allow it with "
            f"localyun exec --proxy-allow {asked.host}, or name it in NO_PROXY where exec is started",
        ) from error
    except ConnectFailed as error:
        raise NoWayThere(502, str(error)) from error
    problem: Exception = ConnectionError("there is no address")
    for address in addresses:
        sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        sock.setblocking(False)
        try:
            async with asyncio.timeout(_CONNECT_S):
                await asyncio.get_running_loop().sock_connect(sock, (address, asked.port))
        except (OSError, TimeoutError) as error:
            sock.close()
            problem = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise NoWayThere(502, f"{asked.host} cannot be reached: {problem}") from problem


async def splice(client: socket.socket, upstream: socket.socket, asked: ProxyRequest) -> None:
    """Take the head that *client* sent, then pass bytes on in both directions until both sides have ended; closes both.

    The client's part of the conversation begins after its ``CONNECT``, or with the head as the other host is to get it.
    """
    loop = asyncio.get_running_loop()
    try:
        client.recv(asked.size)
        if asked.is_connect:
            await loop.sock_sendall(client, ESTABLISHED)
        else:
            await loop.sock_sendall(upstream, asked.onward_head())
        async with asyncio.TaskGroup() as directions:
            directions.create_task(_pump(client, upstream))
            directions.create_task(_pump(upstream, client))
    except* OSError as errors:
        _log.debug("a tunnel ended: %s", errors.exceptions[0])
    finally:
        client.close()
        upstream.close()


async def _pump(source: socket.socket, target: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    while data := await loop.sock_recv(source, _PIECE):
        await loop.sock_sendall(target, data)
    with suppress(OSError):  # the other side may have closed first
        target.shutdown(socket.SHUT_WR)
