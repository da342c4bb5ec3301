"""Where an outgoing call may go: a name is resolved once, each address is judged, and only a judged one is dialled.

Resolving again when connecting would let a name answer with a harmless address first and another one after.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from typing import Final

from emulator.http.client_errors import AddressRefused, ConnectFailed

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
    found = await _resolve(host)
    allowed = [address for address in found if permit(address)]
    if not allowed:
        raise AddressRefused(f"calls to {host} ({', '.join(found)}) are not allowed")
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
    """Return *text* as an address; an IPv4 address in IPv6 clothing is judged, and dialled, as what it is."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)
