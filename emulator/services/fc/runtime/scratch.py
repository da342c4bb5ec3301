"""The folders that instances write to: one per instance, gone when it is gone.

All instances of an emulator have theirs below one folder of its own, which only its user can look into. Where the
kernel gives instances namespaces an instance sees its folder as ``/tmp`` (``bootstrap/python/sandbox.py``); elsewhere
``TMPDIR`` and ``HOME`` name it. What a killed emulator has left is removed by the next one that starts.
"""

import asyncio
import contextlib
import logging
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from emulator.kernel import system
from emulator.services.fc.runtime.bootstrap.python.frames import Header
from emulator.services.fc.runtime.model import FunctionImage
from emulator.services.fc.runtime.settings import RuntimeSettings

_log = logging.getLogger(__name__)

_PREFIX = "localyun-instances-" if system.LOCKS else "localyun-unlocked-"
_LOCK = "lock"
_NEW_S = 60
"""A folder this young may not have its lock yet."""


class Scratch:
    """The folders of one emulator's instances; ``folder`` holds them."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
        self._lock = (self.folder / _LOCK).open("wb")
        system.lock(self._lock.fileno())
        self._removals: set[asyncio.Future[None]] = set()

    def create(self, instance_id: str) -> Path:
        """Create the folder of an instance.

        Raises: OSError.
        """
        folder = self.path(instance_id)
        folder.mkdir()
        return folder

    def path(self, instance_id: str) -> Path:
        """Return where the folder of an instance is."""
        return self.folder / instance_id

    def remove(self, instance_id: str) -> None:
        """Remove the folder of an instance, off the loop: a function may have filled it."""
        folder = self.path(instance_id)
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            self._off_loop(_remove, folder)

    def sweep(self) -> None:
        """Remove, off the loop, what emulators that were killed have left."""
        self._off_loop(_sweep, self.folder)

    async def close(self) -> None:
        """Remove all that is left."""
        if self._removals:
            await asyncio.wait(self._removals)
        await asyncio.to_thread(_remove, self.folder)
        self._lock.close()

    def _off_loop(self, work: Callable[[Path], None], folder: Path) -> None:
        removal = asyncio.get_running_loop().run_in_executor(None, work, folder)
        self._removals.add(removal)
        removal.add_done_callback(self._removals.discard)


def _sweep(own: Path) -> None:
    for folder in own.parent.glob(f"{_PREFIX}*"):
        if folder != own and _is_left_behind(folder):
            _log.info("removing %s, left by an emulator that was killed", folder)
            _remove(folder)


def _is_left_behind(folder: Path) -> bool:
    try:
        about = folder.lstat()
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid():
            return False
        if not (folder / _LOCK).exists():
            return time.time() - about.st_mtime > _NEW_S  # noqa: TID251 - compared with the file system's time
        with (folder / _LOCK).open("rb") as lock:
            return system.lock(lock.fileno()) is True  # without locks nothing shows whether its owner lives
    except OSError:
        return False


def _remove(folder: Path) -> None:
    """Remove a folder with everything in it, also what a function has made unreadable; links are not followed."""

    def open_up(function: Callable[..., Any], path: str, error: object) -> None:
        del error
        with contextlib.suppress(OSError):
            for place in (Path(path).parent, Path(path)):
                if not place.is_symlink():
                    place.chmod(0o700)
            function(path) if function in (os.unlink, os.rmdir) else shutil.rmtree(path, ignore_errors=True)

    shutil.rmtree(folder, onerror=open_up)


COVERED = ("/tmp", "/var/tmp")  # noqa: S108 - instances have their own
"""Folders of the machine that an instance with namespaces does not see."""


def mounts_of(image: FunctionImage, settings: RuntimeSettings, instance_id: str, frame: Header) -> Header:
    """Return the fields of an instance's first *frame* for ``sandbox.mount_folders``.

    What lies in a covered folder and belongs to the function or is named by the emulator is mounted there again.
    """
    assert settings.scratch is not None
    scratch = str(settings.scratch / instance_id)
    code = os.path.realpath(image.code_dir)
    mounts: list[tuple[str, str, bool]] = [(scratch, place, True) for place in COVERED if Path(place).is_dir()]
    if Path(code).is_dir():  # otherwise the agent reports it
        own = not settings.confined
        names = _covered_names(str(image.code_dir)) if own else dict.fromkeys((str(image.code_dir), code))
        mounts += ((code, place, own) for place in ("/code", *names))
    given = image.environment.items()
    texts = [text for pair in frame["environment"].items() if pair not in given for text in pair]
    named = [name for text in texts for name in _COVERED_NAME.findall(text)]
    for name in dict.fromkeys([*map(str, image.layers), *map(_installed_at, frame.get("command", ())), *named]):
        if not Path(name).is_relative_to(image.code_dir):
            mounts += ((os.path.realpath(name), place, False) for place in _covered_names(name) if Path(name).exists())
    hidden = str(settings.scratch)
    layers = [os.path.realpath(layer) for layer in image.layers]
    return {"mounts": mounts, "opt": layers, "hidden": "" if _covered_names(hidden) else hidden}


_COVERED_NAME = re.compile(rf"(?:(?<=[\"'])(?:{'|'.join(COVERED)})/[^\"']+)|(?:{'|'.join(COVERED)})/[^\s:;,\"'=]+")
"""A path in a covered folder, with spaces only between quotation marks."""


def _covered_names(name: str) -> list[str]:
    """Return those of the names of a file, with links and without, that lie below a covered folder."""
    names = dict.fromkeys((name, os.path.realpath(name)))
    return [each for each in names if each.startswith(tuple(f"{place}/" for place in COVERED))]


def _installed_at(word: str) -> str:
    """Return the folder a program is installed in, for one in a ``bin``; else the word itself."""
    folder = Path(word).parent
    return str(folder.parent) if folder.name == "bin" and folder.is_absolute() else word


def root_folder(settings: RuntimeSettings) -> str:
    """Return an empty folder for ``sandbox.enter``, empty when there are to be no namespaces."""
    if settings.isolation == "none" or settings.scratch is None:
        return ""
    folder = settings.scratch / "root"
    folder.mkdir(exist_ok=True)
    return str(folder)


def why_shared(root: str) -> str:
    """Return why instances have no namespaces, as the zygote has left it beside its root folder."""
    try:
        return Path(root + ".reason").read_text(encoding="utf-8")
    except OSError:
        return "the reason is not known"
