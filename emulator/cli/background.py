"""The output of a start, and ``start -d``: the server as a process of its own.

The command ends when the process answers, or has failed with a reason.
"""

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import dropwhile
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, BinaryIO

from emulator.cli import endpoint
from emulator.cli.output import (
    CommandFailed,
    NoEmulator,
    _,
    duration,
    enumerated,
    folded,
    note,
    padded,
    progress_beside,
    reason_of,
    say,
    say_json,
    spoken,
)
from emulator.config import OPTIONS, Config, Settings, flag_of
from emulator.kernel import system
from emulator.kernel.frozen import replace
from emulator.keyfile import FILE_NAME as KEY_FILE
from emulator.wire.schema.kinds import Flag
from emulator.wire.schema.settings import written

if TYPE_CHECKING:
    import subprocess

    from emulator.cli.client import Client
    from emulator.kernel.tied import Tie

CONSOLE = "/_localyun/console/"

_LABEL = 10
"""Width of the labels' column in cells."""

NAMES_SHOWN = 6
"""If there are more functions they are counted, not named; more waiting triggers are left to `trigger list`."""


def clock_told(clock: Mapping[str, Any]) -> str:
    """Return a sentence about the difference of the emulator's time from the machine's; "" for none."""
    fields = {"now": clock["now"], "command": command()}
    if clock["frozen"]:
        return _("frozen at {now}; {command} clock unfreeze releases it", **fields)
    apart_ms = round(clock["offset_ms"], -3)
    if apart_ms > 0:
        return _("{now}, {ahead} ahead of this machine until {command} reset", ahead=duration(apart_ms), **fields)
    if apart_ms < 0:
        return _("{now}, {behind} behind this machine until {command} reset", behind=duration(-apart_ms), **fields)
    return ""


def lines(config: Config, status: Mapping[str, Any]) -> list[str]:
    """Return the lines about address, account, region, keys and functions of the emulator with this *status*."""
    keys = _("given at the start, {key}", key=config.access_key_id) if config.access_key_id else config.state / KEY_FILE
    rows = {
        "http": status["http"],
        "https": status["https"],
        _("account"): _("{account}, region {region}", account=status["account"], region=status["region"]),
        _("keys"): _("{keys}; {command} env prints them for a shell", keys=keys, command=command()),
        _("functions"): _functions(config, status),
    }
    if waiting := status.get("waiting"):
        rows[_("waiting")] = _("; ").join(spoken(each) for each in waiting[:NAMES_SHOWN])
    if moved := clock_told(status["clock"]):
        rows[_("clock")] = moved
    if config.console:
        rows[_("console")] = _(
            "{address}; {command} console opens it", address=f"{status['http']}{CONSOLE}", command=command()
        )
    if config.auth == "lenient":
        rows[_("auth")] = _(
            "lenient: any access key is accepted except keys of the cloud (LTAI...); signatures are not checked"
        )
    if config.isolate:
        rows[_("isolate")] = (
            _("functions cannot write to {home}, unless the log says otherwise", home=home)
            if (home := system.home())
            else _("functions cannot change their code or read the keys, unless the log says otherwise")
        )
    if config.ephemeral:
        rows[_("ephemeral")] = _("begins without resources and keeps none")
    problems = [(_("problem"), spoken(text)) for text in status.get("problems", [])]
    title = _("localyun {version} is serving (process {pid})", version=status["version"], pid=status["pid"])
    return [title, *(folded(f"  {padded(name, _LABEL)} ", str(text)) for name, text in (*rows.items(), *problems))]


def _functions(config: Config, status: Mapping[str, Any]) -> str:
    names = [name_of(each) for each in status.get("functions", [])]
    if config.functions is None or (names and not config.functions.is_dir()):  # all functions were uploaded
        return _some(names)
    own = [each for each in names if (config.functions / each).is_dir()]
    shown = _("{names}; folder {folder}", names=_some(own), folder=config.functions)
    if len(own) == len(names):
        return shown
    uploaded = _("uploaded: {names}", names=_some([each for each in names if each not in own]))
    return _("; ").join((shown, uploaded))


def _some(names: Sequence[str]) -> str:
    shown = enumerated(names[:NAMES_SHOWN]) or _("none yet")
    if len(names) <= NAMES_SHOWN:
        return shown
    return _("{names} and {number} more", names=shown, number=len(names) - NAMES_SHOWN)


def name_of(function: Any) -> str:
    """Return ``SERVICE/FUNCTION`` for an entry in the status's list."""
    return str(function["name"]) if isinstance(function, dict) else str(function)


def command() -> str:
    """Return the command as this user calls it, quoted for a shell."""
    import shlex  # rarely used

    return shlex.join(program())


def program() -> tuple[str, ...]:
    """Return the words that run the command: its name, its path in an environment, or Python with its module."""
    import shutil  # rarely used, and it imports every compression module

    if shutil.which("localyun"):
        return ("localyun",)
    script = Path(sys.executable).with_name("localyun")
    if script.exists():
        here = Path.cwd()
        return (str(script.relative_to(here) if script.is_relative_to(here) else script),)
    return (sys.executable, "-m", "emulator")


def state_unusable(error: OSError, settings: Settings) -> str:
    """Return the message about a state folder that cannot be used."""
    state = settings.config.state
    where = error.filename if error.filename is not None else state
    text = _(
        "{where}: {reason}. The state folder {state} must be a folder that this user can write to; "
        "choose another one with --state DIR."
    )
    return text.format(where=where, reason=os_reason(error), state=state)


def os_reason(error: OSError) -> str:
    """Return the system's reason for an error, in lower case for the middle of a sentence."""
    return reason_of(error).lower()


START_TIMEOUT_S = 30.0
HOOKS_TIMEOUT_S = 30.0
LOG_NAME = "server.log"
_LOGGED = re.compile(r"\d{4}-\d\d-\d\dT|\{")
"""The beginning of a log line, as text or JSON."""
LONGEST_WORDS = 1024 * 1024
"""Bytes at the end of the log that are searched for the reason of a failed start."""


def start(settings: Settings, *, as_json: bool) -> int:
    """Start an emulator in the background, print what a foreground start prints, and leave it running.

    Raises: CommandFailed with the server's message when it ends before it answers.
    """
    client = launch(settings)
    status = client.admin("GET", "status")
    if as_json:
        say_json(status)
    else:
        say("\n".join(lines(settings.config, status)))
    return 0


def launch(settings: Settings, tie: "Tie | None" = None) -> "Client":
    """Start an emulator in the background, one that ends with *tie*; return a client for it when it is ready.

    It then answers, its certificates are there, and the commands that run after the start have ended, unless they take
    very long.

    Raises: CommandFailed.
    """
    from emulator.cli.client import connect, until  # an emulator in the foreground asks no other one

    state = settings.config.state
    path = state / "logs" / LOG_NAME
    try:
        for folder in (state, path.parent):  # one at a time: mkdir would create parents with the default mode
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        log = path.open("ab")
    except OSError as error:
        raise CommandFailed(state_unusable(error, settings)) from error
    process: subprocess.Popen[bytes] | None = None
    try:
        with log, postponed():  # a signal between the start and the assignment would leave the process running
            begin = log.tell()
            process = _spawn(settings, log, tie)
        progress_beside(_("starting an emulator; its log is"), path)
        answered = until(lambda: process.poll() is not None or _serves(state, process.pid), START_TIMEOUT_S)
    except BaseException:  # on Ctrl-C too: the process is in a session of its own, and the user would not know of it
        if process is not None:
            process.terminate()
            process.wait()
        raise
    if not answered:
        process.terminate()
        raise CommandFailed(
            _("the emulator did not answer within {seconds} s; see {path}", seconds=round(START_TIMEOUT_S), path=path)
        )
    if process.poll() is not None:
        failed = CommandFailed(_last_words(path, begin) or _("the emulator exited immediately; see {path}", path=path))
        failed.exit_code = process.returncode if process.returncode > 0 else 1
        raise failed
    client = connect(settings, environ={})  # the emulator just started, whatever LOCALYUN_ENDPOINT says
    if not until(lambda: process.poll() is not None or not client.admin("GET", "status")["hooks"], HOOKS_TIMEOUT_S):
        note(_("the commands of hooks.ready still run; their output goes to the log"))
    client.admin_address("proxy", "forwarding")  # answers when the certificates are there
    process.returncode = 0  # the process outlives this command; Popen must not warn that nobody waited for it
    return client


def with_flags(settings: Settings, values: Mapping[str, object]) -> Settings:
    """Return *settings* with *values*, by name, as if flags had given them."""
    origins = {**settings.origins, **{name: "--" + name.replace("_", "-") for name in values}}
    return Settings(config=replace(settings.config, **values), origins=origins)  # type: ignore[arg-type]  # by name


def _spawn(settings: Settings, log: BinaryIO, tie: "Tie | None") -> "subprocess.Popen[bytes]":
    import subprocess  # only a start in the background needs it

    command = system.own_command("start", *flags(settings))
    if settings.config.log_file is None:
        command += ["--log-file", log.name]  # the server changes to a new file in time; a stream it could not
    return subprocess.Popen(  # noqa: S603 - our own program
        command,
        env=os.environ | (tie.environment if tie else {}),
        stdin=tie.stdin if tie else subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        **system.apart(),
    )


def flags(settings: Settings) -> list[str]:
    """Return the command line that repeats what this one was given; environment and file are read again."""
    flags = []
    for option in OPTIONS:
        if settings.origins[option.name] != flag_of(option):
            continue
        value: Any = getattr(settings.config, option.name)
        if isinstance(option.kind, Flag):
            flags.append(flag_of(option) if value else flag_of(option).replace("--", "--no-", 1))
        else:
            flags += [flag_of(option), written(option.kind, value)]
    return flags


def _serves(state: Path, pid: int) -> bool:
    record = endpoint.read(state)
    if record is None or record.pid != pid:
        return False
    from emulator.cli.client import Client  # `launch` has imported it

    try:
        Client(record, None, state).ping()
    except NoEmulator:
        return False
    return True


def _last_words(path: Path, begin: int) -> str:
    """Return the server's last message, without its program name."""
    with path.open("rb") as log:
        log.seek(begin)
        written = log.read(LONGEST_WORDS).decode("utf-8", "replace").splitlines()
    own = dropwhile(lambda line: not line.startswith("localyun: "), written)
    said = [line.removeprefix("localyun: ") for line in own if not _LOGGED.match(line)]
    return os.linesep.join(said or written[-5:])


@contextmanager
def postponed() -> Iterator[None]:
    """Postpone signals that would end this process until the end of the block; main thread only."""
    came: list[int] = []
    with handling(("SIGINT", "SIGTERM", "SIGHUP"), lambda number, frame: came.append(number)):
        yield
    for number in came:
        signal.raise_signal(number)


@contextmanager
def handling(names: Sequence[str], handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle those of the signals that this system has, within the block."""
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = [(number, signal.signal(number, handler)) for number in numbers]
    try:
        yield
    finally:
        for number, usual in before:
            signal.signal(number, usual)
