"""Python, the state folder and the clocks."""

import os
import shutil
import sqlite3
import stat
import sys
from collections.abc import Iterable, Mapping
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import Any

from emulator import __version__, keyfile
from emulator.cli.diagnosis.model import Finding, Findings, ok, remark, wrong
from emulator.cli.output import _
from emulator.config import Config
from emulator.kernel.clock import Millis
from emulator.storage.database import CHECKED_BYTES
from emulator.wire.dates import iso_seconds

LEAST_PYTHON = (3, 11)
NEEDED = ("httptools", "PyYAML", "cryptography", "APScheduler", "flask", "werkzeug")
"""The distributions without which something of the emulator fails."""

LEAST_FREE_BYTES = 200 * 1024 * 1024
CLOCKS_APART_MS = 5000
NEWEST_FILE_SLACK_MS = 60_000

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def python(version: tuple[int, ...] = tuple(sys.version_info[:3]), needed: Iterable[str] = NEEDED) -> Findings:
    """Look at the interpreter, the packages it needs, and the command that a shell would run."""
    shown = ".".join(map(str, version))
    if version < LEAST_PYTHON:
        yield wrong("python", _("Python {version} is too old", version=shown), _("install Python 3.11 or newer"))
    missing = [name for name in needed if not installed(name)]
    if missing:
        yield wrong(
            "python",
            _("{names} cannot be found by {python}", names=", ".join(missing), python=sys.executable),
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
    """Look at the rights of the state folder, what is in it, and the room on its disk."""
    folder = config.state.absolute()
    if not folder.exists():
        above = next(parent for parent in folder.parents if parent.exists())
        if os.access(above, os.W_OK | os.X_OK):
            yield ok("state", _("{folder} is made at the first start", folder=folder))
        else:
            yield _not_writable(above)
        return
    if not folder.is_dir():
        yield wrong("state", _("{path} is no folder", path=folder), _("name another one with --state DIR"))
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
        _("change its owner or rights, or name another folder with --state DIR"),
    )


def _rights(folder: Path) -> Findings:
    if os.name == "nt":  # rights are not in the mode there
        return
    if folder.stat().st_mode & _OTHERS:
        yield remark("state", _("{path} is open to other users", path=folder), f"chmod 700 '{folder}'")
    for path in (folder / "keys.json", folder / "state.db", folder / "ca"):
        if path.exists() and path.stat().st_mode & _OTHERS:
            yield wrong("state", _("{path} is open to other users", path=path), f"chmod go-rwx '{path}'")


def _content(config: Config) -> Findings:
    try:
        keyfile.load(config)
    except (keyfile.KeyFileDamaged, OSError) as error:
        yield wrong("state", str(error), _("repair the file, or delete it to get new keys"))
    path = config.state / "state.db"
    try:
        if path.is_file() and path.stat().st_size <= CHECKED_BYTES:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
                answer = str(database.execute("PRAGMA quick_check(1)").fetchone()[0])
                if answer != "ok":
                    raise sqlite3.DatabaseError(answer)
    except sqlite3.OperationalError:
        return  # in use, or without the files beside it that only a writer may make
    except sqlite3.Error as error:
        yield wrong(
            "state",
            _("{path} is damaged: {problem}", path=path, problem=error),
            _("restore a copy of the folder, or move the file away to begin anew"),
        )


def _room(folder: Path) -> Findings:
    free = shutil.disk_usage(folder).free
    if free < LEAST_FREE_BYTES:
        text = _("{megabytes} MB are free on the disk of {folder}", megabytes=free // 2**20, folder=folder)
        yield wrong("state", text, _("make room, or name a folder on another disk with --state DIR"))


def clocks(state: Path, now: Millis, told: Mapping[str, Any] | None) -> Findings:
    """Compare the system's clock with the files of *state*, and the emulator's with the system's.

    *told* is what the admin API says of the emulator's clock, None when none runs.
    """
    problems = list(_system_clock(state, now))
    if told is not None:
        problems += _emulators_clock(now, told)
    yield from problems or [ok("clock", _("the clocks agree: {now}", now=iso_seconds(now)))]


def _emulators_clock(now: Millis, told: Mapping[str, Any]) -> Findings:
    offset_ms = int(told["offset_ms"])
    apart_ms = abs(int(told["now_ms"]) - offset_ms - now)
    if apart_ms > CLOCKS_APART_MS:
        text = _("this machine's clock and that of the emulator's are {seconds} s apart", seconds=apart_ms // 1000)
        yield wrong("clock", text, _("set both by a time server; signatures are valid for 15 minutes only"))
    if told["frozen"] or abs(offset_ms) > CLOCKS_APART_MS:
        how = _("frozen") if told["frozen"] else _("moved by {seconds} s", seconds=offset_ms // 1000)
        text = _("the emulator's time is {how}: {now}", how=how, now=told["now"])
        yield remark("clock", text, _("a new state folder, or a checkpoint of an earlier time, has another one"))


def _system_clock(state: Path, now: Millis) -> Findings:
    files = [path for path in (state / "state.db", state / "keys.json", Path(__file__)) if path.exists()]
    newest = max(path.stat().st_mtime_ns // 1_000_000 for path in files)
    if newest > now + NEWEST_FILE_SLACK_MS:
        yield wrong(
            "clock",
            _("the system's clock ({now}) is behind the files written last ({newest})", now=iso_seconds(now),
              newest=iso_seconds(Millis(newest))),
            _("set the clock; certificates and signatures go by it"),
        )  # fmt: skip
