"""``exec``: run a program written for the cloud, unchanged, with this emulator at the cloud's addresses."""

import hashlib
import os
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from emulator.cli import background, child
from emulator.cli.about import variables
from emulator.cli.client import Client
from emulator.cli.failures import CommandFailed, NoEmulator, WrongUsage
from emulator.cli.output import complain
from emulator.cli.server import end
from emulator.cli.session import connect
from emulator.cli.waiting import until
from emulator.config import Settings
from emulator.redirect import hook_environment, node_hook
from emulator.redirect.environment import VARIABLES as CA_VARIABLES
from emulator.redirect.environment import identity, with_hooks, without_proxies, without_real_keys, write_bundle
from emulator.redirect.java import with_java

AUTHORITY_TIMEOUT_S = 10.0
"""An emulator that has just started makes its certificate authority a moment after its first answers."""

_REACHABLE = ("127.0.0.1", "localhost")


def run(arguments: Namespace, settings: Settings) -> int:
    """Run the command; its exit code is ours.

    Raises: WrongUsage, NoEmulator, CommandFailed.
    """
    words = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if not words:
        raise WrongUsage("exec needs a command to run: localyun exec -- python worker.py")
    if not arguments.start:
        return child.become(words, _environment(connect(settings), settings.config.state, arguments.keep_proxy))
    with child.ended_by_signals(), _started(settings) as (client, state):
        return child.run(words, _environment(client, state, arguments.keep_proxy))


@contextmanager
def _started(settings: Settings) -> Iterator[tuple[Client, Path]]:
    """Run an emulator on free ports that keeps nothing; it ends with the block."""
    with tempfile.TemporaryDirectory(prefix="localyun-exec-") as folder:
        given = {"port": 0, "https_port": 0, "ephemeral": True, "state": Path(folder) / "state"}
        origins = {**settings.origins, **{name: "--" + name.replace("_", "-") for name in given}}
        config = replace(settings.config, **given)  # type: ignore[arg-type]  # by name
        client = background.launch(Settings(config=config, origins=origins))
        try:
            yield client, config.state
        finally:
            with suppress(NoEmulator):  # the command may have stopped it
                end(client)


def _environment(client: Client, state: Path, keep_proxy: bool) -> Mapping[str, str]:
    """Return the command's environment, and tell the user what of their own is not in it."""
    health = client.health()
    keys = client.keys
    account, region = str(health.get("account", "")), str(health.get("region", ""))
    environ, real = without_real_keys(os.environ)
    for name in real:
        complain(f"{name} looks like a real cloud access key and is not passed on to the command")
    if not keep_proxy:
        environ, proxies = without_proxies(environ)
        if proxies:
            complain(f"the command runs without {', '.join(proxies)}, which would lead past the emulator")
    environ.update(identity(keys.access_key_id, keys.access_key_secret, account, region))
    environ.update(variables(client.endpoint.http, keys, account, region))
    environ["LOCALYUN_STATE"] = str(state.absolute())
    return with_java(with_hooks(environ, _address(client, state), node_hook()))


def _address(client: Client, state: Path) -> dict[str, str]:
    """Return what tells hooks where the emulator is.

    Raises: CommandFailed when it is not where they lead: the loopback address.
    """
    http = urlsplit(client.endpoint.http)
    if http.hostname not in _REACHABLE:
        raise CommandFailed(f"exec leads programs to 127.0.0.1 only, and the emulator is at {client.endpoint.http}")
    https = client.endpoint.https or _https_of(client)
    bundle = _bundle(state / "ca")
    if https is None or bundle is None:
        complain(f"there is no certificate authority in {state}, so the command's https calls to the cloud will fail")
    port = urlsplit(https).port if https is not None else None
    return hook_environment(http.port or 80, port, bundle, client.proxy("forwarding"))


def _https_of(client: Client) -> str | None:
    """Return the emulator's other address when ``LOCALYUN_ENDPOINT`` has told only the one."""
    try:
        return str(client.admin("GET", "status")["https"])
    except (CommandFailed, KeyError):  # no token for it: the emulator is not the one of this state folder
        return None


def _bundle(folder: Path) -> Path | None:
    """Return a file with the emulator's authority and those that are trusted here; None without an authority.

    It lives as long as the state folder, because programs the command leaves behind go on reading it.
    """
    authority = folder / "ca.pem"
    if not folder.is_dir() or not until(authority.is_file, AUTHORITY_TIMEOUT_S):
        return None
    trusted = "\0".join(f"{name}={os.environ.get(name, '')}" for name in CA_VARIABLES)
    bundle = folder / f"bundle-{hashlib.sha256(trusted.encode()).hexdigest()[:12]}.pem"
    try:
        write_bundle(authority, bundle, os.environ)
    except OSError as error:
        raise CommandFailed(f"{bundle} cannot be written: {error.strerror}") from error
    return bundle.absolute()
