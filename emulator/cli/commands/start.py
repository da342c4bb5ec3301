"""``start``: an emulator in the foreground, with messages instead of tracebacks when it cannot start."""

import asyncio
import contextlib
import errno
import gc
import logging
import os
import shlex
import signal
import socket
import sqlite3
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from emulator import keyfile
from emulator.app import Emulator
from emulator.cli import background, endpoint
from emulator.cli.background import lines, os_reason, state_unusable
from emulator.cli.main import collection_put_off
from emulator.cli.output import (
    WrongUsage,
    _,
    complain,
    enumerated,
    reason_of,
    say,
    say_json_line,
    sentences,
    spoken,
    wants_json,
)
from emulator.cli.server_log import ServerLog, stream_for
from emulator.config import AUTO_PORT, Config, Settings
from emulator.gateway.server import PortInUse
from emulator.kernel import system
from emulator.kernel.clock import Clock, SystemClock
from emulator.kernel.frozen import replace
from emulator.kernel.tied import Starter
from emulator.keyfile import InstallationKeys, KeyFileDamaged
from emulator.storage.database import StorageDamaged
from emulator.storage.folder import FolderInUse
from emulator.storage.migration import StateTooNew

_log = logging.getLogger(__name__)

_NO_ROOM = "socket.accept() out of system resource"
"""The beginning of asyncio's message that it cannot accept a connection, repeated for each place of the backlog."""

_TOO_LATE = "Exception in callback BaseSelectorEventLoop._start_serving"
"""The beginning of asyncio's message that it could not resume accepting on a listener that was closed."""

_QUIET_S = 10.0

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""Errors of writes, which do not name the file; other errors without a file are about addresses."""


_OLDEST = 2
_LONG_S = 0.01
"""Seconds; after a longer garbage collection its survivors are exempted from further ones."""

_NO_HANDLES = (errno.EMFILE, errno.ENFILE)
_HANDLES_OF_A_START = 16


def run(arguments: Namespace, settings: Settings) -> int:
    """Run an emulator until a signal or ``localyun stop`` ends it. Raises: WrongUsage."""
    if unknown := system.unknown_names():
        fields = {"variable": system.VARIABLE, "name": unknown[0], "known": enumerated((*system.NAMES, "all"))}
        raise WrongUsage(_("{variable} has no {name}; there are {known}", **fields))
    if arguments.detach:
        return background.start(settings, as_json=wants_json(arguments))
    starter = Starter()
    config = settings.config
    try:
        stream = stream_for(config.log_file)
    except OSError as error:
        complain(f"{config.log_file}: {reason_of(error)}")
        return 1
    log = ServerLog.open(config.log_format, config.log_level, stream)
    try:
        asyncio.run(_serve(config, starter, as_json=wants_json(arguments)))
    except Exception as error:
        reason = explain(error, settings)
        if reason is None:
            raise
        log.close()  # the log is written out before the reason
        complain(reason)
        return 1
    finally:
        log.close()
        starter.clear()
    return 0


class Survivors:
    """Exempts objects that have survived a long garbage collection from later ones, which would take as long again.

    A full collection visits every object in memory, thousands of queues for example, while the loop is blocked. Exempt
    objects are still freed by reference counting, but cycles among them are not; so short collections exempt nothing.
    For ``gc.callbacks``. Source: documentation of ``gc.callbacks`` and ``gc.freeze``.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_s = 0.0

    def __call__(self, phase: str, about: Mapping[str, int]) -> None:
        """Record the begin of a collection, and at its end exempt the survivors if it was long."""
        if phase == "start":
            self._began_s = self._clock.monotonic()
        elif about["generation"] == _OLDEST and self._clock.monotonic() - self._began_s > _LONG_S:
            gc.freeze()


async def _serve(config: Config, starter: Starter, *, as_json: bool) -> None:
    asyncio.get_running_loop().set_exception_handler(LoopErrors(SystemClock()))
    with collection_put_off():
        emulator = await started(config, starter)
    survivors = Survivors(SystemClock())
    gc.callbacks.append(survivors)
    try:
        # In a thread, because it waits for the disk while calls wait to be served.
        if not emulator.stopped.is_set():
            await asyncio.to_thread(_announce, config, emulator.keys, await emulator.status(), as_json)
        await emulator.stopped.wait()
    finally:
        gc.callbacks.remove(survivors)
        endpoint.remove(config.state)
        endpoint.unregister()
        await emulator.stop()


async def started(config: Config, starter: Starter) -> Emulator:
    """Return an emulator that listens; when an ``auto`` port was taken in the meantime, on the next pair of ports.

    A signal and the end of its *starter* stop it from the beginning on.

    Raises: as `Emulator.start`; CommandFailed when no port nearby is free.
    """
    loop = asyncio.get_running_loop()
    chosen = endpoint.with_ports(config)
    while True:
        emulator = Emulator(next(chosen))
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):  # Windows: Ctrl-C interrupts asyncio.run instead
                loop.add_signal_handler(number, emulator.stopped.set)
        starter.watch(emulator.stopped.set)
        try:
            await emulator.start()
        except PortInUse as error:
            if error.port in {config.port, config.https_port}:  # a port that was configured is not replaced
                raise
        else:
            return emulator


def _announce(config: Config, keys: InstallationKeys, status: Mapping[str, Any], as_json: bool) -> None:
    """Record and print the addresses of the emulator."""
    kept = keyfile.load(replace(config, access_key_id=None, access_key_secret=None, account_id=None, region=None))
    endpoint.write(config.state, status["http"], status["https"], None if keys == kept else keys)
    endpoint.register(status, config.state)
    if as_json:
        say_json_line(status)
    else:
        say("\n".join(lines(config, status)))


def explain(error: BaseException, settings: Settings) -> str | None:
    """Return what is wrong and what to do about it; None for an error that is a bug of the emulator."""
    state = settings.config.state
    match error:
        case OSError() | sqlite3.OperationalError() if _lacks_handles(error):
            text = _(
                "too few file descriptors to start ({reason}). Raise the limit (ulimit -n 1024), or close "
                "programs that hold many."
            )
            return text.format(reason=os_reason(error) if isinstance(error, OSError) else error)
        case PortInUse():
            return _port_taken(error.port)
        case FolderInUse():
            return _folder_taken(error, settings)
        case StorageDamaged():
            text = _(
                "{file} is damaged: {error}. Restore a backup, or move the file away to start empty; keys and "
                "code are kept."
            )
            return text.format(file=state / "state.db", error=error)
        case StateTooNew():
            text = _("{file}: {error}. Update localyun, or use another folder with --state DIR.")
            return text.format(file=state / "state.db", error=error)
        case KeyFileDamaged():
            return spoken(str(error))
        case sqlite3.Error():
            text = _("{file} cannot be used: {error}. Check that the disk is not full and that the folder is writable.")
            return text.format(file=state / "state.db", error=error)
        case socket.gaierror():
            hosts = enumerated(settings.config.host or ())
            return _("{hosts}: there is no such address or name of one. Check --host.", hosts=hosts)
        case OSError() if error.filename is None and error.errno not in _FULL:
            text = _(
                "cannot listen on {hosts} with ports {port} and {https_port}: {reason}. "
                "Check --host, --port and --https-port."
            )
            config = settings.config
            hosts = ", ".join(config.host or ("127.0.0.1", "::1"))
            port, https_port = ("auto" if each == AUTO_PORT else each for each in (config.port, config.https_port))
            return text.format(hosts=hosts, port=port, https_port=https_port, reason=os_reason(error))
        case OSError():
            return state_unusable(error, settings)
        case _:
            pass
    return None


def _lacks_handles(error: OSError | sqlite3.OperationalError) -> bool:
    """Whether an error comes from a lack of file handles; SQLite only says that it cannot open its file."""
    if isinstance(error, OSError):
        return error.errno in _NO_HANDLES
    opened: list[int] = []
    try:
        while len(opened) < _HANDLES_OF_A_START:
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return True
    finally:
        for handle in opened:
            os.close(handle)
    return False


def _port_taken(port: int) -> str:
    """Return which program has the port, and how to start nevertheless."""
    advice = _("Start on the next free ports with --port auto, or choose them with --port and --https-port.")
    addresses = {f"http://127.0.0.1:{port}", f"https://127.0.0.1:{port}"}
    owner = next((each for each in endpoint.running() if {each.http, each.https} & addresses), None)
    if owner is None:
        return sentences(_("port {port} is in use by another program.", port=port), advice)
    text = _("port {port} is in use by the emulator of {state} (process {pid}); {command} ends it.")
    command = f"localyun stop --state {shlex.quote(str(owner.state))}"
    return sentences(text.format(port=port, state=owner.state, pid=owner.pid, command=command), advice)


def _folder_taken(error: FolderInUse, settings: Settings) -> str:
    taken = _("an emulator is already running for {folder} (process {pid}).", folder=error.folder, pid=error.pid or "?")
    text = sentences(taken, _("Use it, or stop it first with localyun stop. --state DIR selects another folder."))
    if (origin := settings.origins["state"]).startswith("LOCALYUN_"):
        where = _("In this shell, {variable} selects that folder: open a new terminal for another project.")
        text = sentences(text, where.format(variable=origin))
    return text


class LoopErrors:
    """The loop's exception handler, which rewords asyncio's messages and limits their number."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._said_at: float | None = None

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log at intervals that connections have to wait; pass other errors on."""
        message = str(context.get("message", ""))
        if message.startswith(_TOO_LATE) and isinstance(context.get("exception"), ValueError):
            return
        if not message.startswith(_NO_ROOM):
            loop.default_exception_handler(context)
            return
        now = self._clock.monotonic()
        if self._said_at is None or now - self._said_at >= _QUIET_S:
            self._said_at = now
            _log.error("new connections have to wait: %s", context.get("exception"))
