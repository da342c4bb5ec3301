"""The files of the certificate authority, and what their first lines tell; read by the server, written by its child.

::

    ca/
      ca.pem               what clients are told to trust
      ca-key.pem           its key
      leaves/host-NAME.pem key and certificate of one host name

Only the standard library's cheap parts are needed to know whether a file is still good: each begins with a line
``localyun not-after=MILLIS key-id=HEX names=A,B``, where the key id is that of the authority.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from emulator.kernel.clock import DAY, Millis
from emulator.kernel.frozen import frozen

PERMITTED_DOMAINS: Final = ("aliyuncs.com", "fcapp.run", "localhost")
"""Domains, with everything below them, that the authority may always sign for."""

DEFAULT_NAME: Final = "localhost"
"""The leaf for clients that name no host; it covers the loopback addresses as well."""

AUTHORITY_DAYS: Final = 365
AUTHORITY_RENEWAL_DAYS: Final = 60
LEAF_DAYS: Final = 90
LEAF_RENEWAL_DAYS: Final = 15
LEAVES_KEPT: Final = 1000

_FACTS = re.compile(r"localyun not-after=([0-9]+) key-id=([0-9a-f]+) names=([0-9a-z.,-]+)\n")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_LONGEST_NAME: Final = 240  # leaves room for the rest of a file name; DNS itself allows 253


@frozen
class Facts:
    """When a certificate ends, which authority's key signed it, and for which names or domains it is."""

    not_after: Millis
    key_id: str
    names: tuple[str, ...]

    def line(self) -> bytes:
        """Return the first line of the file."""
        return f"localyun not-after={self.not_after} key-id={self.key_id} names={','.join(self.names)}\n".encode(
            "ascii"
        )


def authority_path(folder: Path) -> Path:
    """Return where the authority's certificate is."""
    return folder / "ca.pem"


def key_path(folder: Path) -> Path:
    """Return where the authority's key is."""
    return folder / "ca-key.pem"


def leaf_path(folder: Path, name: str) -> Path:
    """Return where the key and certificate of *name* are."""
    return folder / "leaves" / f"host-{name}.pem"


def authority_facts(folder: Path) -> Facts | None:
    """Read the authority's facts; None when there is no usable authority."""
    return _facts(authority_path(folder)) if key_path(folder).exists() else None


def leaf_facts(folder: Path, name: str) -> Facts | None:
    """Read the facts of the leaf for *name*; None when there is none."""
    return _facts(leaf_path(folder, name))


def is_good_authority(facts: Facts, now: Millis, domains: Iterable[str]) -> bool:
    """Tell whether the authority need not be renewed yet and permits *domains*."""
    return facts.not_after - AUTHORITY_RENEWAL_DAYS * DAY > now and {*PERMITTED_DOMAINS, *domains} <= {*facts.names}


def is_host_name(text: str) -> bool:
    """Tell whether *text* is a host name in lower case that a certificate can be made for."""
    return 0 < len(text) <= _LONGEST_NAME and all(_LABEL.fullmatch(label) for label in text.split("."))


def is_permitted(name: str, domains: Iterable[str]) -> bool:
    """Tell whether the authority may sign for *name*: one of its domains, or below one."""
    return any(name == domain or name.endswith(f".{domain}") for domain in (*PERMITTED_DOMAINS, *domains))


def _facts(path: Path) -> Facts | None:
    try:
        with path.open(encoding="ascii") as file:
            match = _FACTS.fullmatch(file.readline())
    except (OSError, UnicodeDecodeError):  # the child will meet the same trouble and say so
        return None
    if match is None:
        return None
    return Facts(not_after=Millis(int(match[1])), key_id=match[2], names=tuple(match[3].split(",")))
