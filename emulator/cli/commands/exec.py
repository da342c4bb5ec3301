"""``exec``: run a program written for the cloud, unchanged, with this emulator at the cloud's addresses."""

import errno
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit

from emulator.cli import background, endpoint
from emulator.cli.background import handling
from emulator.cli.client import Client, connect
from emulator.cli.commands.server import end, variables
from emulator.cli.output import CommandFailed, NoEmulator, WrongUsage, _, complain, enumerated, note, reason_of
from emulator.config import Settings
from emulator.kernel import system
from emulator.kernel.tied import Tie
from emulator.redirect import hook_environment, node_hook
from emulator.redirect.compiled_hooks import CannotBuild, with_java, with_preload, writes_trust_stores
from emulator.redirect.environment import VARIABLES as CA_VARIABLES
from emulator.redirect.environment import (
    allowing,
    identity,
    with_hooks,
    without_proxies,
    without_real_keys,
    write_bundle,
)


def run(arguments: Namespace, settings: Settings) -> int:
    """Run the command and return its exit code.

    Raises: WrongUsage, NoEmulator, CommandFailed.
    """
    words = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if not words:
        raise WrongUsage(_("exec needs a command to run: localyun exec -- python worker.py"))
    if Path(words[0]).name == "java" and not arguments.network and sys.platform == "linux":
        note(_("a Java program that uses aliyun-sdk-mns reaches the emulator only under localyun exec --network"))
    if Path(words[0]).name == "java" and not writes_trust_stores():
        note(_("Java does not trust the emulator's certificates: its trust store needs cryptography 45 or newer"))
    if not arguments.start:
        return become(words, environment_of(arguments, connect(settings), settings.config.state))
    with ended_by_signals(), _started(settings) as (client, state):
        return run_child(words, environment_of(arguments, client, state))


def environment_of(arguments: Namespace, client: Client, state: Path) -> Mapping[str, str]:
    """Return the command's environment, with the library or the network if requested. Raises: CommandFailed."""
    environ = _environment(client, state, arguments)
    if arguments.preload:
        try:
            environ = with_preload(environ)
        except CannotBuild as error:
            raise CommandFailed(str(error)) from error
    if arguments.network:
        _enter_network(environ, state)
    return environ


def _enter_network(environ: Mapping[str, str], state: Path) -> None:
    """Move this process into a network in which the cloud's names lead to the emulator in *environ*.

    Raises: CommandFailed.
    """
    if not system.NETWORK:
        raise CommandFailed(_("--network runs the command in its own network, which needs Linux"))
    from emulator.redirect import network  # needed with this option only, and not available on Windows

    variables = {80: "LOCALYUN_HTTP_PORT", 443: "LOCALYUN_HTTPS_PORT"}
    own = {usual: int(environ[name]) for usual, name in variables.items() if name in environ}
    try:
        network.enter(own, state)
    except network.NoNetwork as error:
        raise CommandFailed(str(error)) from error


@contextmanager
def _started(settings: Settings) -> Iterator[tuple[Client, Path]]:
    """Run an ephemeral emulator on free ports within the block; it ends with this process, however that one ends."""
    with tempfile.TemporaryDirectory(prefix="localyun-exec-") as folder, Tie(Path(folder)) as tie:
        state = Path(folder) / "state"
        flags = {"port": 0, "https_port": 0, "ephemeral": True, "state": state}
        started = background.with_flags(settings, flags)
        try:
            yield background.launch(started, tie), state
        finally:
            if endpoint.read(state) is not None:  # a signal may have come before anything was returned
                with suppress(NoEmulator):  # the command may have stopped the emulator
                    end(connect(started, environ={}))


def _environment(client: Client, state: Path, arguments: Namespace) -> Mapping[str, str]:
    """Return the command's environment, and print which of the user's variables it lacks."""
    health = client.health()
    client.use_working_keys()
    keys = client.keys
    account, region = client.account_of(health), str(health.get("region", ""))
    environ, real = without_real_keys(os.environ)
    for name in real:
        complain(_("{name} looks like a real cloud access key and is not passed on to the command", name=name))
    if not arguments.keep_proxy:
        environ, proxies = without_proxies(environ)
        if proxies:
            names = enumerated(proxies)
            complain(_("the command runs without {names}, which would bypass the emulator", names=names))
    environ.update(identity(keys.access_key_id, keys.access_key_secret, account, region))
    environ.update(variables(client.endpoint.http, keys, account, region))
    environ["LOCALYUN_STATE"] = str(state.absolute())
    environ["LOCALYUN_TOKEN"] = keys.admin_token
    address = _address(client, state)
    if proxy := address.get("LOCALYUN_PROXY_URL"):
        address["LOCALYUN_PROXY_URL"] = allowing(proxy, environ, ",".join(arguments.proxy_allow))
    return with_java(with_hooks(environ, address, node_hook()))


def _address(client: Client, state: Path) -> dict[str, str]:
    """Return the variables of the hooks for the emulator.

    Raises: CommandFailed when the emulator is not at the loopback address, where hooks lead.
    """
    http = urlsplit(client.endpoint.http)
    if http.hostname not in {"127.0.0.1", "localhost"}:
        text = _("exec can redirect programs only to 127.0.0.1, but the emulator is at {address}")
        raise CommandFailed(text.format(address=client.endpoint.http))
    https = client.endpoint.https or client.admin_address(
        "status", "https"
    )  # where LOCALYUN_ENDPOINT gives only the address for http
    proxy = client.admin_address("proxy", "forwarding")  # answers when the certificates are there
    bundle = _bundle(state / "ca")
    if https is None or bundle is None:
        text = _("there is no certificate authority in {state}, so the command's https calls to the cloud will fail")
        complain(text.format(state=state))
    port = urlsplit(https).port if https is not None else None
    return hook_environment(http.port or 80, port, bundle, proxy)


def _bundle(folder: Path) -> Path | None:
    """Return a file with the emulator's authority and the trusted ones of this machine; None without an authority.

    It is kept in the state folder, because programs that the command leaves running still read it.
    """
    authority = folder / "ca.pem"
    if not authority.is_file():
        return None
    trusted = "\0".join(f"{name}={os.environ.get(name, '')}" for name in CA_VARIABLES)
    bundle = folder / f"bundle-{hashlib.sha256(trusted.encode()).hexdigest()[:12]}.pem"
    try:
        write_bundle(authority, bundle, os.environ)
    except OSError as error:
        raise CommandFailed(_("{file} cannot be written: {reason}", file=bundle, reason=reason_of(error))) from error
    return bundle.absolute()


class CannotRun(CommandFailed):
    """The program is missing or not executable; ``exit_code`` is what a shell would report."""

    def __init__(self, program: str, error: OSError, environ: Mapping[str, str]) -> None:
        is_missing = isinstance(error, FileNotFoundError) or not _stands_somewhere(program, environ)
        super().__init__(f"{program}: {_(os.strerror(errno.ENOENT)) if is_missing else reason_of(error)}")
        self.exit_code = 127 if is_missing else 126


def _stands_somewhere(program: str, environ: Mapping[str, str]) -> bool:
    """Whether a folder in PATH has *program*: with an unreadable folder, a missing one is reported as denied."""
    if os.path.dirname(program):  # noqa: PTH120 - for Path, "./x" and "x" are the same
        return True
    files = (f"{folder}/{program}" for folder in os.get_exec_path(environ))
    return any(os.path.exists(file) for file in files)  # noqa: PTH110 - Path's raises where it may not look


def become(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Replace this process by *command*, so that even SIGKILL reaches it; returns only on Windows.

    Raises: CannotRun.
    """
    if not system.EXEC:
        return run_child(command, environ)
    for name in ("SIGPIPE", "SIGXFSZ"):  # Python ignores these signals, and the new program would inherit that
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvpe(command[0], list(command), dict(environ))  # noqa: S606 - running it is what the user asked for
    except OSError as error:
        raise CannotRun(command[0], error, environ) from error


def run_child(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run *command* and return its exit code, 128 and the signal's number when a signal ended it.

    Raises: CannotRun.
    """
    with _passing_on() as receivers:
        try:
            process = subprocess.Popen(command, env=dict(environ))  # noqa: S603 - running it is what the user asked for
        except OSError as error:
            raise CannotRun(command[0], error, environ) from error
        receivers.append(process)
        code = process.wait()
    return code if code >= 0 else 128 - code


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Within the block SIGTERM and SIGHUP raise an exception, as Ctrl-C does, so that this process can tidy up."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    with handling(("SIGTERM", "SIGHUP"), end):
        yield


@contextmanager
def _passing_on() -> Iterator[list["subprocess.Popen[bytes]"]]:
    """Pass signals on to the processes added to the list, except those a terminal has sent to them already."""
    receivers: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        if signal.Signals(number).name not in {"SIGINT", "SIGQUIT"} or not _is_in_foreground():
            for process in receivers:
                process.send_signal(number)

    with handling(("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"), pass_on):
        yield receivers


def _is_in_foreground() -> bool:
    """Whether a terminal sends its Ctrl-C to this process and to its children."""
    try:
        terminal = os.open(os.ctermid(), os.O_RDONLY | os.O_NOCTTY)
    except (AttributeError, OSError):  # Windows, where consoles always do; or no terminal
        return os.name == "nt"
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
