"""The places: where the program, the project and the home folder are, and as whom and with what the jobs run."""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from emulator.kernel import system
from emulator.kernel.frozen import field, frozen

Installation = Literal["environment", "activated", "user", "editable", "pip"]
User = Literal["own", "ordinary", "homeless"]

ODD = "my project_ünd 项目.1"
LONG = "l" * 200
WITHOUT_NAMESPACES = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin")
WITHOUT_IPV6 = (
    "unshare", "--net", "sh", "-c",
    'ip link set lo up && sysctl -qw net.ipv6.conf.all.disable_ipv6=1 && exec "$@"', "sh",
)  # fmt: skip
READ_ONLY = (
    "unshare", "--mount", "sh", "-c",
    'mount --bind "$PROGRAM" "$PROGRAM" && mount -o remount,bind,ro "$PROGRAM" && exec "$@"', "sh",
)  # fmt: skip
CLOSED_INPUT = ("sh", "-c", 'exec "$@" <&-', "sh")


@frozen
class Place:
    """One row of the table.

    Everything lies in a new folder below ``below``, which root makes where it is missing, in one called ``folder``.
    ``project`` is the name of the project's folder in there, from which deployments derive names. ``pip`` installs with
    the network, by the interpreter ``python``; every other installation is made of the packages of this one. ``state``
    is the folder below which the state is, when that is not the project. ``wrapper`` are the words that begin the
    command; with ``needs_root`` it works for root only.
    """

    name: str
    below: str = "/tmp"
    folder: str = "place"
    project: str = "my_project"
    installation: Installation = "environment"
    python: str = ""
    user: User = "own"
    state: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    umask: int = -1
    wrapper: tuple[str, ...] = ()
    needs_root: bool = False
    quick: bool = False

    @property
    def missing(self) -> str:
        """Why it cannot be made here; empty when it can."""
        if not os.access(self.below, os.W_OK) and (Path(self.below).exists() or os.geteuid() != 0):
            return f"{self.below} is not there or cannot be written"
        if (self.needs_root or self.user != "own") and os.geteuid() != 0:
            return "it needs root"
        tools = [word for word in self.wrapper[:1] if shutil.which(word) is None]
        return f"there is no {tools[0]}" if tools else ""


PLACES = (
    Place(name="below /tmp"),
    Place(name="below /tmp, activated", installation="activated"),
    Place(
        name="below /tmp, activated, standard input closed", installation="activated", wrapper=CLOSED_INPUT, quick=True
    ),
    Place(name="below /var/tmp", below="/var/tmp"),
    Place(
        name="below /var/tmp, activated, umask 077", below="/var/tmp", installation="activated", umask=0o077, quick=True
    ),
    Place(name="below /dev/shm", below="/dev/shm", installation="activated", quick=True),
    Place(name="state in /dev/shm", state="/dev/shm"),
    Place(name="below /code", below="/code", installation="activated"),
    Place(name="spaces in the path", folder="a place with spaces", project="2. try"),
    Place(name="an underscore", folder="my_project"),
    Place(name="letters beyond ASCII", folder="ünd 项目", project="ünd 项目", installation="activated"),
    Place(name="200 letters", folder=LONG, project=LONG),
    Place(name="an odd name, LANG=C", folder=ODD, project=ODD, variables={"LANG": "C", "LC_ALL": "C"}, quick=True),
    Place(name="user installation", installation="user"),
    Place(name="editable installation", installation="editable"),
    Place(name="read-only installation", installation="activated", wrapper=READ_ONLY, needs_root=True),
    Place(
        name="root without namespaces", installation="activated", wrapper=WITHOUT_NAMESPACES, needs_root=True,
        quick=True,
    ),
    Place(name="ordinary user", user="ordinary", installation="activated", quick=True),
    Place(name="ordinary user, umask 077", user="ordinary", umask=0o077, folder=ODD),
    Place(name="user without a home", user="homeless", installation="activated", quick=True),
    Place(name="umask 000", umask=0),
    Place(name="without IPv6", wrapper=WITHOUT_IPV6, needs_root=True),
    Place(name="http_proxy set", variables=dict.fromkeys(
        ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")),
)  # fmt: skip


def pythons() -> Iterator[Place]:
    """Return a place for each other Python of this machine that is new enough."""
    found: dict[str, str] = {}
    folders = [*os.environ.get("PATH", "").split(os.pathsep), "/usr/bin", "/usr/local/bin"]
    candidates = [path for folder in folders for path in _programs(Path(folder))]
    if (own := system.home()) is not None and os.access(own / ".pyenv" / "versions", os.R_OK | os.X_OK):
        candidates += (path for each in (own / ".pyenv" / "versions").iterdir() for path in _programs(each / "bin"))
    for path in candidates:
        version = re.fullmatch(r"python3\.(\d+)", path.name)
        if version and int(version[1]) >= 11 and "shims" not in path.parts:
            found.setdefault(os.path.realpath(path), path.name)
    for path, name in sorted(found.items(), key=lambda item: (item[1], item[0])):
        if path != os.path.realpath(sys.executable):
            yield Place(name=f"{name} ({path})", installation="pip", python=path)


def _programs(folder: Path) -> list[Path]:
    return list(folder.glob("python3.*")) if os.access(folder, os.R_OK | os.X_OK) else []
