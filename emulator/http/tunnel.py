"""Connections that are passed on to another host as they are, for clients that use the HTTPS port as a proxy.

A name is resolved once and only addresses everybody can call are dialled, so the proxy opens no door into this machine
or its networks. What flows through is not looked at; with ``CONNECT`` it is the client's own TLS with the other host.
"""

import asyncio
import logging
import socket
from contextlib import suppress
from typing import Final

from emulator.http.addresses import permitted_addresses
from emulator.http.client_errors import AddressRefused, ConnectFailed
from emulator.http.proxy import ProxyRequest, is_public

_log = logging.getLogger(__name__)

ESTABLISHED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"

_CONNECT_S: Final = 10
_PIECE: Final = 64 * 1024


class NoWayThere(Exception):
    """The host cannot be called. ``status`` is the answer's."""

    def __init__(self, status: int, reason: str) -> None:
        self.status = status
        self.reason = reason
        super().__init__(reason)


async def dial(asked: ProxyRequest) -> socket.socket:
    """Return a connection to what was asked for.

    Raises: NoWayThere.
    """
    try:
        addresses = await permitted_addresses(asked.host, is_public)
    except AddressRefused as error:
        raise NoWayThere(
            403,
            f"{asked.host} is no public host, so the proxy does not call it; name it in NO_PROXY to go there directly",
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
