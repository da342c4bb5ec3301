"""The files of certificates: which leaves there are, where they lie, what their first lines say.

Nothing here needs an event loop or TLS: the children that make certificates and sign pushes load it too.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from emulator.kernel.clock import DAY, FURTHEST, Clock, Millis
from emulator.kernel.frozen import frozen

PERMITTED_DOMAINS: Final = ("aliyuncs.com", "fcapp.run", "localhost")
"""Domains, with everything below them, that the authority may always sign for."""

COMMON: Final = "localhost"
"""The leaf for names without a region, for loopback addresses, and for clients that name no host."""

REGIONS: Final = (
    "cn-hangzhou", "cn-shanghai", "cn-beijing", "cn-shenzhen", "cn-zhangjiakou", "cn-huhehaote", "cn-wulanchabu",
    "cn-qingdao", "cn-chengdu", "cn-guangzhou", "cn-heyuan", "cn-nanjing", "cn-fuzhou", "cn-hongkong",
    "cn-hangzhou-finance", "cn-shanghai-finance-1", "cn-shenzhen-finance-1", "cn-beijing-finance-1", "cn-north-2-gov-1",
    "ap-northeast-1", "ap-northeast-2", "ap-south-1", "ap-southeast-1", "ap-southeast-2", "ap-southeast-3",
    "ap-southeast-5", "ap-southeast-6", "ap-southeast-7", "eu-central-1", "eu-west-1", "me-central-1", "me-east-1",
    "us-east-1", "us-west-1",
)  # fmt: skip
"""Regions whose endpoints have a leaf made ahead. Source: endpoint tables of the official SDKs."""

_ENDPOINTS: Final = (
    "{}.aliyuncs.com", "mns.{}.aliyuncs.com", "mns.{}-internal.aliyuncs.com", "mns.{}-internal-vpc.aliyuncs.com",
    "{}.fc.aliyuncs.com", "{}-internal.fc.aliyuncs.com", "{}.fnf.aliyuncs.com",
    "oss-{}.aliyuncs.com", "oss-{}-internal.aliyuncs.com", "{}.oss.aliyuncs.com",
    "{}.fcapp.run", "{}-internal.fcapp.run", "{}-vpc.fcapp.run",
)  # fmt: skip

_PARENTS: Final = {
    COMMON: (
        "aliyuncs.com", "fnf.aliyuncs.com", "fc.aliyuncs.com", "oss.aliyuncs.com", "fcapp.run",
        "fc.localhost", "oss-accelerate.aliyuncs.com", "oss-accelerate-overseas.aliyuncs.com",
    ),
    **{region: tuple(endpoint.format(region) for endpoint in _ENDPOINTS) for region in REGIONS},
}  # fmt: skip
"""The leaves made ahead: each is for every name one label below its parents."""

_LEAF_BY_PARENT: Final = {parent: leaf for leaf, parents in _PARENTS.items() for parent in parents}

AUTHORITY_DAYS: Final = 365
AUTHORITY_RENEWAL_DAYS: Final = 60
LEAF_DAYS: Final = 90
LEAF_RENEWAL_DAYS: Final = 15
LEAVES_KEPT: Final = 1000

_FACTS = r"localyun not-after=([0-9]+) key-id=([0-9a-f]+) names=([0-9a-z_.,*-]+)\n"
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
"""Names of functions have underscores, and clients ask for them although a host name in DNS has none."""
_LONGEST_NAME: Final = 240  # leaves room for the rest of a file name; DNS itself allows 253


@frozen
class Facts:
    """The first line of a certificate's file: its end, the authority's key that signed it, its names or domains."""

    not_after: Millis
    key_id: str
    names: tuple[str, ...]

    def line(self) -> bytes:
        """Return the first line of the file."""
        return f"localyun not-after={self.not_after} key-id={self.key_id} names={','.join(self.names)}\n".encode(
            "ascii"
        )


_LAST: Final = Millis(FURTHEST - 10 * 366 * DAY)
"""The latest time that certificates go by: none can end after the year 9999, and none lasts for more than ten years."""


def times(clock: Clock) -> tuple[Millis, Millis]:
    """Return the earlier and the later of the machine's time and the emulator's.

    Certificates are valid at both: clients judge them by the machine's time, programs under libfaketime by the
    emulator's.
    """
    machine, emulator = clock.system(), clock.now()
    return min(machine, emulator), min(max(machine, emulator), _LAST)


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
    """Whether the authority need not be renewed yet and permits *domains*."""
    return facts.not_after - AUTHORITY_RENEWAL_DAYS * DAY > now and {*PERMITTED_DOMAINS, *domains} <= {*facts.names}


def leaf_names(leaf: str) -> tuple[str, ...]:
    """Return the host names of a leaf."""
    own = () if leaf in REGIONS else (leaf,)
    return (*own, *(f"*.{parent}" for parent in _PARENTS.get(leaf, ())))


def leaf_of(name: str) -> str:
    """Return the leaf for a host name; OpenSSL takes no wildcard for a label with an underscore."""
    label, _, parent = name.partition(".")
    return name if "_" in label else _LEAF_BY_PARENT.get(parent, name)


def is_host_name(text: str) -> bool:
    """Whether *text* is a host name in lower case that a certificate can be made for."""
    return 0 < len(text) <= _LONGEST_NAME and all(_LABEL.fullmatch(label) for label in text.split("."))


def is_permitted(name: str, domains: Iterable[str]) -> bool:
    """Whether the authority may sign for *name*: one of its domains, or below one."""
    return any(name == domain or name.endswith(f".{domain}") for domain in (*PERMITTED_DOMAINS, *domains))


def _facts(path: Path) -> Facts | None:
    try:
        with path.open(encoding="ascii") as file:
            match = re.fullmatch(_FACTS, file.readline())
    except (OSError, UnicodeDecodeError):  # the child process will fail too, and report why
        return None
    if match is None:
        return None
    return Facts(not_after=Millis(int(match[1])), key_id=match[2], names=tuple(match[3].split(",")))
