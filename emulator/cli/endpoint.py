"""Where the emulator is: ``<state>/endpoint.json``, written by ``start``, read by every other command."""

import json
import os
import socket
from collections.abc import Mapping
from pathlib import Path

from emulator.cli.failures import WrongUsage
from emulator.config import Config
from emulator.kernel.frozen import frozen
from emulator.storage.folder import write_private

FILE_NAME = "endpoint.json"
VARIABLE = "LOCALYUN_ENDPOINT"


@frozen
class Endpoint:
    """An address to call. ``source`` says where it is from; ``pid`` is known for a local emulator only."""

    http: str
    https: str | None = None
    pid: int | None = None
    source: str


def find(config: Config, environ: Mapping[str, str]) -> Endpoint:
    """Return the address to call: ``LOCALYUN_ENDPOINT``, else that of the state folder, else the configured port.

    Raises: WrongUsage when the variable holds no http:// address.
    """
    given = environ.get(VARIABLE)
    if given:
        if not given.startswith("http://") or len(given) == len("http://"):
            raise WrongUsage(f"{VARIABLE} must be an address such as http://127.0.0.1:8868, not {given!r}")
        return Endpoint(http=given.rstrip("/"), source=VARIABLE)
    found = read(config.state)
    if found is not None:
        return found
    return Endpoint(http=f"http://{_address(config)}:{config.port}", source="the configured port")


def read(state: Path) -> Endpoint | None:
    """Return what the emulator of *state* wrote at its start; None when none runs or the file is unreadable."""
    path = state / FILE_NAME
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Endpoint(
            http=str(content["http"]),
            https=str(content["https"]) if content.get("https") else None,
            pid=int(content["pid"]),
            source=str(path),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write(state: Path, http: str, https: str | None) -> None:
    """Record for later commands where this process serves.

    Raises: OSError.
    """
    content = {"pid": os.getpid(), "http": http, "https": https}
    write_private(state / FILE_NAME, json.dumps(content).encode() + b"\n")


def remove(state: Path) -> None:
    """Take the file of this process away; another process's file stays."""
    found = read(state)
    if found is not None and found.pid == os.getpid():
        (state / FILE_NAME).unlink(missing_ok=True)


def _address(config: Config) -> str:
    """Return the address a client on this machine calls."""
    first = config.host[0] if config.host else "127.0.0.1"
    if first in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        return "127.0.0.1"
    return f"[{first}]" if ":" in first else first


def is_taken(port: int) -> bool:
    """Whether some program listens on *port* of the loopback address; port 0 never is."""
    if port == 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0
