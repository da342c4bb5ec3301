"""The addresses of emulators: of a state folder in ``<state>/endpoint.json``, of all of this user's in a registry.

``start`` writes both and removes them at its end; every other command reads them. The registry is a folder with a file
per emulator, in ``XDG_RUNTIME_DIR``, else in the user's cache. A killed emulator leaves its files behind: `running`
removes entries whose process is gone.
"""

import json
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from emulator.cli.output import CommandFailed, WrongUsage, _
from emulator.config import AUTO_PORT, DEFAULT_HTTPS_PORT, DEFAULT_PORT, Config
from emulator.kernel import system
from emulator.kernel.frozen import frozen, replace
from emulator.keyfile import InstallationKeys

FILE_NAME = "endpoint.json"
VARIABLE = "LOCALYUN_ENDPOINT"
CONFIGURED = "the configured port"

_PORTS_TRIED = 50


@frozen
class Endpoint:
    """An address to call. ``source`` is the setting or file it comes from; ``pid`` is set for a local emulator only.

    ``keys`` are those of the running emulator when it was started with others than the state folder's.
    """

    http: str
    https: str | None = None
    pid: int | None = None
    source: str
    keys: Mapping[str, str] | None = None


@frozen
class Running:
    """An emulator of this user: its addresses, process, state folder, account and installation id."""

    http: str
    https: str
    pid: int
    state: str
    account: str
    installation: str
    version: str


def find(config: Config, environ: Mapping[str, str], *, is_named: bool = False) -> Endpoint:
    """Return the address to call: ``LOCALYUN_ENDPOINT``, else that of the state folder, else the configured port.

    A state folder that *is_named* in the command comes before the variable if its emulator runs.

    Raises: WrongUsage when the variable is not an http:// address.
    """
    recorded = read(config.state)
    if is_named and recorded is not None:
        return recorded
    address = environ.get(VARIABLE)
    if address:
        if not address.startswith("http://") or len(address) == len("http://"):
            text = _("{variable} must be an address such as http://127.0.0.1:8868, not {value!r}")
            raise WrongUsage(text.format(variable=VARIABLE, value=address))
        if recorded is not None and recorded.http == address.rstrip("/"):
            return replace(recorded, source=VARIABLE)
        return Endpoint(http=address.rstrip("/"), source=VARIABLE)
    if recorded is not None:
        return recorded
    port = DEFAULT_PORT if config.port == AUTO_PORT else config.port
    return Endpoint(http=f"http://{_address(config)}:{port}", source=CONFIGURED)


def read(state: Path) -> Endpoint | None:
    """Return the endpoint written by the emulator of *state*; None when none runs or the file is unreadable."""
    path = state / FILE_NAME
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Endpoint(
            http=str(content["http"]),
            https=str(content["https"]) if content.get("https") else None,
            pid=int(content["pid"]),
            source=str(path),
            keys=content.get("keys"),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write(state: Path, http: str, https: str | None, keys: InstallationKeys | None = None) -> None:
    """Write the addresses of this process for later commands, and its *keys* if they are not the state folder's.

    Raises: OSError.
    """
    content: dict[str, Any] = {"pid": os.getpid(), "http": http, "https": https}
    if keys is not None:
        names = ("access_key_id", "access_key_secret", "account_id", "region")
        content["keys"] = {name: getattr(keys, name) for name in names}
    system.write_private(state / FILE_NAME, json.dumps(content).encode() + b"\n", lasting=False)


def remove(state: Path) -> None:
    """Remove the file of this process; that of another process stays."""
    recorded = read(state)
    if recorded is not None and recorded.pid == os.getpid():
        (state / FILE_NAME).unlink(missing_ok=True)


def _address(config: Config) -> str:
    """Return the address that clients on this machine call."""
    first = config.host[0] if config.host else "127.0.0.1"
    if first in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        return "127.0.0.1"
    return f"[{first}]" if ":" in first else first


def registry() -> Path:
    """Return the folder of the registry; it need not exist."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.access(runtime, os.W_OK):
        return Path(runtime) / "localyun"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "localyun" / "running"


def register(status: Mapping[str, Any], state: Path) -> None:
    """Add this process to the registry; does nothing if the registry cannot be written."""
    names = ("http", "https", "pid", "account", "installation", "version")
    entry = {**{name: status[name] for name in names}, "state": str(state.absolute())}
    with suppress(OSError, RuntimeError):  # a full disk, no permission, or no home folder
        folder = registry()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        system.write_private(folder / f"{os.getpid()}.json", json.dumps(entry).encode() + b"\n", lasting=False)


def unregister() -> None:
    """Remove this process from the registry."""
    with suppress(OSError, RuntimeError):
        (registry() / f"{os.getpid()}.json").unlink(missing_ok=True)


def running() -> list[Running]:
    """Return the emulators of this user, sorted by address; entries of ended processes are removed."""
    return sorted(_entries(), key=lambda each: (each.http, each.pid))


def _entries() -> Iterator[Running]:
    try:
        paths = sorted(registry().glob("*.json"))
    except (OSError, RuntimeError):
        return
    for path in paths:
        entry = _read_entry(path)
        if entry is not None and is_alive(entry.pid):
            yield entry
        else:
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _read_entry(path: Path) -> Running | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        texts = {name: str(content[name]) for name in ("http", "https", "state", "account", "installation", "version")}
        return Running(pid=int(content["pid"]), **texts)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_alive(pid: int) -> bool:
    """Whether the process runs; a zombie, which has ended but was not waited for, does not."""
    return system.is_running(pid) and not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Whether the process has ended and its parent has not noticed (in containers no parent may)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:  # noqa: PTH123 - not a real file
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return False


def is_taken(port: int) -> bool:
    """Whether some program listens on *port* of the loopback address; port 0 never is."""
    if port == 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def with_ports(config: Config) -> Iterator[Config]:
    """Yield *config* with free ports in place of ``auto``: the usual ones, then the next pairs that are free.

    Another program may take a port first; the caller then takes the next pair. Without ``auto``, only *config* itself
    is yielded.

    Raises: CommandFailed after the last pair, when no port nearby is free.
    """
    moves = {"port": config.port == AUTO_PORT, "https_port": config.https_port == AUTO_PORT}
    if not any(moves.values()):
        yield config
        return
    for step in range(_PORTS_TRIED):
        ports = {"port": DEFAULT_PORT + 2 * step, "https_port": DEFAULT_HTTPS_PORT + 2 * step}
        chosen = {name: port for name, port in ports.items() if moves[name]}
        kept = {getattr(config, name) for name in ports if not moves[name]}
        if not kept & set(chosen.values()) and not any(is_taken(port) for port in chosen.values()):
            yield replace(config, **chosen)  # type: ignore[arg-type]  # by name
    raise CommandFailed(_("no free port found from {first} upwards; choose one with --port", first=DEFAULT_PORT))
