"""Findings of ``doctor``: Python, the state folder, the clocks, tools that run functions, SDKs with known problems."""

import json
import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from emulator import __version__, keyfile
from emulator.cli import trials
from emulator.cli.background import clock_told, command
from emulator.cli.output import _, enumerated, spoken
from emulator.config import Config
from emulator.kernel import system
from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.storage.opening import CHECKED_BYTES
from emulator.wire.dates import iso_seconds

Verdict = Literal["ok", "note", "wrong"]
"""``note``: worth knowing, but may be intended; ``wrong``: keeps something from working."""


@frozen
class Finding:
    """A finding about ``subject``, in the user's language; ``remedy`` is "" when there is nothing to do."""

    subject: str
    verdict: Verdict
    found: str
    remedy: str = ""

    def shown(self) -> dict[str, str]:
        """Return the finding as a JSON object."""
        return {"subject": self.subject, "verdict": self.verdict, "found": self.found, "remedy": self.remedy}


def ok(subject: str, found: str) -> Finding:
    """Return a finding without a problem."""
    return Finding(subject=subject, verdict="ok", found=found)


def remark(subject: str, found: str, remedy: str) -> Finding:
    """Return a finding that may be intended."""
    return Finding(subject=subject, verdict="note", found=found, remedy=remedy)


def wrong(subject: str, found: str, remedy: str) -> Finding:
    """Return a finding of a fault, which keeps the emulator or its clients from working."""
    return Finding(subject=subject, verdict="wrong", found=found, remedy=remedy)


Findings = Iterator[Finding]


LEAST_PYTHON = (3, 11)
NEEDED = ("httptools", "PyYAML", "cryptography", "APScheduler", "flask", "werkzeug")
"""The distributions that the emulator cannot do without."""

LEAST_FREE_BYTES = 200 * 1024 * 1024
CLOCKS_APART_MS = 5000
NEWEST_FILE_SLACK_MS = 60_000

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def python(version: tuple[int, ...] = tuple(sys.version_info[:3]), needed: Iterable[str] = NEEDED) -> Findings:
    """Check the interpreter, the packages it needs, and the command that a shell would run."""
    shown = ".".join(map(str, version))
    if version < LEAST_PYTHON:
        yield wrong("python", _("Python {version} is too old", version=shown), _("install Python 3.11 or newer"))
    missing = [name for name in needed if not installed(name)]
    if missing:
        yield wrong(
            "python",
            _("{names} cannot be found by {python}", names=enumerated(missing), python=sys.executable),
            "pip install --force-reinstall localyun",
        )
    if version >= LEAST_PYTHON and not missing:
        yield ok("python", _("Python {version} at {path}, with localyun {own}", version=shown, path=sys.executable,
                             own=__version__))  # fmt: skip
    command = shutil.which("localyun")
    own = Path(sys.executable).parent / "localyun"
    if command and own.is_file() and Path(command).resolve() != own.resolve():
        yield remark(
            "python",
            _("the shell's localyun is {command}, not that of this Python", command=command),
            _("activate the environment you mean, or call {own}", own=own),
        )


def installed(name: str) -> str:
    """Return the version of a distribution, empty when it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def state_folder(config: Config) -> Findings:
    """Check the mode of the state folder, its files, and the free space on its disk."""
    folder = config.state.absolute()
    if not folder.exists():
        above = next(parent for parent in folder.parents if parent.exists())
        if os.access(above, os.W_OK | os.X_OK):
            yield ok("state", _("{folder} is created at the first start", folder=folder))
        else:
            yield _not_writable(above)
        return
    if not folder.is_dir():
        yield wrong("state", _("{path} is not a folder", path=folder), _("choose another one with --state DIR"))
        return
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield _not_writable(folder)
        return
    problems = [*_rights(folder), *_content(config), *_room(folder)]
    yield from problems or [ok("state", _("{folder} can be used", folder=folder))]


def _not_writable(folder: Path) -> Finding:
    return wrong(
        "state",
        _("{folder} cannot be written by this user", folder=folder),
        _("change its owner or permissions, or choose another folder with --state DIR"),
    )


def _rights(folder: Path) -> Findings:
    if not system.MODES:
        return
    if folder.stat().st_mode & _OTHERS:
        yield remark("state", _("{path} can be read by other users", path=folder), f"chmod 700 '{folder}'")
    for path in (folder / "keys.json", folder / "state.db", folder / "ca"):
        if path.exists() and path.stat().st_mode & _OTHERS:
            yield wrong("state", _("{path} can be read by other users", path=path), f"chmod go-rwx '{path}'")


def _content(config: Config) -> Findings:
    try:
        keyfile.load(config)
    except (keyfile.KeyFileDamaged, OSError) as error:
        yield wrong("state", spoken(str(error)), _("repair the file, or delete it to get new keys"))
    path = config.state / "state.db"
    try:
        if path.is_file() and path.stat().st_size <= CHECKED_BYTES:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
                answer = str(database.execute("PRAGMA quick_check(1)").fetchone()[0])
                if answer != "ok":
                    raise sqlite3.DatabaseError(answer)
    except sqlite3.OperationalError:
        return  # the file is in use, or files beside it are missing that only a writer may create
    except sqlite3.Error as error:
        yield wrong(
            "state",
            _("{path} is damaged: {problem}", path=path, problem=error),
            _("restore a backup of the folder, or move the file away to start empty"),
        )


def _room(folder: Path) -> Findings:
    free = shutil.disk_usage(folder).free
    if free < LEAST_FREE_BYTES:
        text = _("{megabytes} MB are free on the disk of {folder}", megabytes=free // 2**20, folder=folder)
        yield wrong("state", text, _("free some space, or choose a folder on another disk with --state DIR"))


def clocks(state: Path, now: Millis, clock: Mapping[str, Any] | None) -> Findings:
    """Compare the system's clock with the files of *state*, and the emulator's with the system's.

    *clock* is the admin API's answer about the emulator's clock, None when none runs.
    """
    problems = list(_system_clock(state, now))
    if clock is not None:
        problems += _emulators_clock(now, clock)
    yield from problems or [ok("clock", _("the clocks agree: {now}", now=iso_seconds(now)))]


def _emulators_clock(now: Millis, clock: Mapping[str, Any]) -> Findings:
    offset_ms = int(clock["offset_ms"])
    apart_ms = abs(int(clock["now_ms"]) - offset_ms - now)
    if apart_ms > CLOCKS_APART_MS:
        text = _(
            "the clocks of this machine and of the emulator's machine differ by {seconds} s", seconds=apart_ms // 1000
        )
        yield wrong("clock", text, _("synchronize both with a time server; signatures are valid for only 15 minutes"))
    if clock["frozen"] or abs(offset_ms) > CLOCKS_APART_MS:
        text = _("the emulator's time: {how}", how=clock_told(clock))
        remedy = _(
            "{command} reset sets it to this machine's and deletes all resources; a checkpoint restores its own time",
            command=command(),
        )
        yield remark("clock", text, remedy)


def _system_clock(state: Path, now: Millis) -> Findings:
    files = [path for path in (state / "state.db", state / "keys.json", Path(__file__)) if path.exists()]
    newest = max(path.stat().st_mtime_ns // 1_000_000 for path in files)
    if newest > now + NEWEST_FILE_SLACK_MS:
        yield wrong(
            "clock",
            _("the system clock ({now}) is behind the newest files ({newest})", now=iso_seconds(now),
              newest=iso_seconds(Millis(newest))),
            _("set the clock; certificates and signatures depend on it"),
        )  # fmt: skip


VERSION_TIMEOUT_S = 5.0


@frozen
class ToolChain:
    """A program that functions of ``runtimes`` need, and the arguments that print its version.

    ``trial`` is the runtime in which a test call is made; "" where a function would have to be compiled.
    """

    program: str
    question: tuple[str, ...]
    runtimes: tuple[str, ...]
    trial: str = ""

    @property
    def served(self) -> str:
        """The runtimes in one text, in the user's language."""
        return enumerated(self.runtimes)


TOOL_CHAINS = (
    ToolChain(program="node", question=("--version",), runtimes=("nodejs*",), trial="nodejs20"),
    ToolChain(program="java", question=("-version",), runtimes=("java*", "custom (Java)")),
    ToolChain(program="php", question=("--version",), runtimes=("php*", "custom (PHP)"), trial="php7.2"),
    ToolChain(program="dotnet", question=("--list-runtimes",), runtimes=("dotnetcore*", "custom (.NET)")),
    ToolChain(
        program="docker", question=("version", "--format", "{{.Server.Version}}"), runtimes=("custom-container",)
    ),
)


@frozen
class Trouble:
    """An SDK with a known problem: *distribution* below *fixed_in*, on Python from *python* on.

    *fixed_in* is "" when no fixed version is known. ``where`` is ``python`` or ``node``.
    """

    where: str
    distribution: str
    fixed_in: str = ""
    python: tuple[int, int] = (3, 0)
    what: str
    remedy: str


def known_trouble() -> tuple[Trouble, ...]:
    """Return the known problems of SDKs.

    Source: the packages' own source. ``six`` in aliyun-python-sdk-core 2.13.36 has no ``find_spec``, which Python 3.12
    asks importers for, and in 2.16.1 it has; ``endpoint`` of ``@alicloud/mns`` came with 1.2.0.
    """
    return (
        Trouble(
            where="python",
            distribution="aliyun-python-sdk-core",
            fixed_in="2.13.37",
            python=(3, 12),
            what=_("Python 3.12 and newer cannot import its bundled copy of six"),
            remedy="pip install --upgrade aliyun-python-sdk-core",
        ),
        Trouble(
            where="node",
            distribution="@alicloud/mns",
            fixed_in="1.2.0",
            what=_("it has no setting for the endpoint, so it calls the cloud"),
            remedy="npm install @alicloud/mns@latest",
        ),
        Trouble(
            where="node",
            distribution="ali-mns",
            what=_("it has no setting for the endpoint, so it calls the cloud"),
            remedy=_("run the program with localyun exec, or use @alicloud/mns"),
        ),
    )


Attempt = Callable[[str, str, Config], str]
"""Calls a function of a runtime with an executable, and returns the problem, "" for none: `trials.attempt`."""


def tool_chains(
    config: Config, which: Callable[[str], str | None] = shutil.which, attempt: Attempt = trials.attempt
) -> Findings:
    """Check the interpreter or compiler of each runtime; call a function where no compiler is needed."""
    for runtime, executable in config.runtimes.items():
        if not executable.is_file():
            text = _("runtimes names {path} for {runtime}, which does not exist", path=executable, runtime=runtime)
            yield wrong("runtimes", text, _("correct runtimes in localyun.yaml"))
        elif trials.can_try(runtime):
            yield _tried(
                _("{runtimes}: {path}", runtimes=runtime, path=executable), attempt(runtime, str(executable), config)
            )
    own = _("{runtimes}: {path}", runtimes="python3*", path=sys.executable)
    yield _tried(own, attempt("python3", sys.executable, config))
    for chain in TOOL_CHAINS:
        program = which(chain.program)
        if program is None:
            text = _("there is no {program}; functions with {runtimes} cannot run", program=chain.program,
                     runtimes=chain.served)  # fmt: skip
            yield remark(
                "runtimes",
                text,
                _("install it if you need these functions, or set its path under runtimes: in localyun.yaml"),
            )
        else:
            yield _tool_chain(chain, program, config, attempt)


def _tried(what: str, trouble: str) -> Finding:
    if not trouble:
        return ok("runtimes", _("{what}; a test call succeeded", what=what))
    text = _("{what}; a test call failed: {trouble}", what=what, trouble=" ".join(trouble.split()))
    return wrong("runtimes", text, _("send this line with the output of localyun support, or install it elsewhere"))


def _tool_chain(chain: ToolChain, path: str, config: Config, attempt: Attempt) -> Finding:
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(  # noqa: S603 - a program of the user's own path
            [path, *chain.question], capture_output=True, text=True, errors="replace", timeout=VERSION_TIMEOUT_S,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        printed = (done.stdout or done.stderr).strip()
        if done.returncode == 0 and printed:  # a dotnet without any framework prints nothing
            version = printed.splitlines()[0]
            what = _("{runtimes}: {path}, {version}", runtimes=chain.served, path=path, version=version)
            if chain.trial:
                return _tried(what, attempt(chain.trial, path, config))
            return remark("runtimes", what, _("not tested: its functions must be compiled; invoke one of yours"))
    text = _("{path} does not answer; functions with {runtimes} cannot run", path=path, runtimes=chain.served)
    return remark("runtimes", text, _("start its service, or repair it, if you need them"))


def sdks(
    folder: Path, troubles: Iterable[Trouble] | None = None, version: tuple[int, ...] = tuple(sys.version_info[:2])
) -> Findings:
    """Check for SDKs with known problems, in this Python and in ``node_modules`` of *folder*."""
    problems = []
    for trouble in known_trouble() if troubles is None else troubles:
        present = installed(trouble.distribution) if trouble.where == "python" else _node(folder, trouble.distribution)
        is_fixed = trouble.fixed_in and _numbers(present) >= _numbers(trouble.fixed_in)
        if not present or version < trouble.python or is_fixed:
            continue
        text = f"{trouble.distribution} {present}: {trouble.what}"
        problems.append(wrong("sdks", text, trouble.remedy))
    yield from problems or [ok("sdks", _("no SDK with known problems is installed here"))]


def _node(folder: Path, package: str) -> str:
    """Return the version of a Node.js package, "" when it is not installed in *folder*."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return str(json.loads((folder / "node_modules" / package / "package.json").read_text("utf-8"))["version"])
    return ""


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]
