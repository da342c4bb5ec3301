"""Where pushes may go: this machine, and what the user has allowed on top.

A subscription makes the emulator call an address of somebody's choice, so other machines are out unless they are named:
by address, by network, by name or, with ``*``, all of them. Link-local addresses, where clouds keep their credentials,
are never called.
"""

import ipaddress
from collections.abc import Iterable

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_METADATA = frozenset({ipaddress.ip_address("100.100.100.200"), ipaddress.ip_address("169.254.169.254")})


class PushPolicy:
    """The rule. *allowed* has addresses, networks (``10.0.0.0/8``), host names (``*.test`` with all below) or ``*``."""

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
        self._names: set[str] = set()
        self._suffixes: list[str] = []
        self._everywhere = False
        for entry in allowed:
            self._add(entry.strip().lower())

    def names(self, host: str) -> bool:
        """Tell whether *host* was allowed by its name, so that its addresses need not be."""
        return host in self._names or any(host.endswith(suffix) for suffix in self._suffixes)

    def permits(self, address: str) -> bool:
        """Tell whether a push may go to *address*."""
        parsed = ipaddress.ip_address(address)
        if parsed.is_loopback:
            return True
        if _is_forbidden(parsed):
            return False
        return self._everywhere or any(parsed in network for network in self._networks)

    def permits_named(self, address: str) -> bool:
        """Tell whether a push may go to *address*, which belongs to a host that was allowed by its name."""
        return not _is_forbidden(ipaddress.ip_address(address))

    def _add(self, entry: str) -> None:
        if entry == "*":
            self._everywhere = True
        elif entry.startswith("*."):
            self._suffixes.append(entry[1:])
        else:
            try:
                self._networks.append(ipaddress.ip_network(entry, strict=False))
            except ValueError:
                self._names.add(entry)


def _is_forbidden(address: _Address) -> bool:
    return (
        address.is_link_local or address.is_multicast or address.is_unspecified or address in _METADATA
    ) and not address.is_loopback
