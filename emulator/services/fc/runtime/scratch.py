"""The folders that instances write to: one per instance, gone when it is gone.

All instances of an emulator have theirs below one folder of its own, which only its user can look into. Where the
kernel gives instances namespaces an instance sees its folder as ``/tmp`` (``bootstrap/python/sandbox.py``); elsewhere
``TMPDIR`` and ``HOME`` name it. What a killed emulator has left is removed by the next one that starts.
"""

import asyncio
import contextlib
import logging
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

if sys.platform != "win32":
    import fcntl

_log = logging.getLogger(__name__)

_PREFIX = "localyun-instances-"
_LOCK = "lock"
_NEW_S = 60
"""A folder this young may not have its lock yet."""


class Scratch:
    """The folders of one emulator's instances; ``folder`` holds them."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
        self._lock = (self.folder / _LOCK).open("wb")
        _try_lock(self._lock)
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
            return _try_lock(lock)
    except OSError:
        return False


def _try_lock(lock: BinaryIO | Any) -> bool:
    if sys.platform == "win32":
        return False  # nothing shows whether its owner lives
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


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
