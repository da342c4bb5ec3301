"""Temporary folders whose owner can be told alive or dead: locked while it lives, swept by whoever comes next.

A process that is killed removes nothing. The lock of its folder is gone with it, and the next process that needs such a
folder removes those that nobody holds. Where the system has no locks nothing shows whether an owner lives, and folders
stay; their names say so to a process that has locks.
"""

import contextlib
import logging
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from emulator.kernel import system
from emulator.kernel.closing import Closing

_log = logging.getLogger(__name__)

_LOCK = "lock"
_UNLOCKED = "unlocked-"
_NEW_S = 60
"""Seconds for which a new folder may be without its lock file."""


class OwnedFolder(Closing):
    """A new temporary folder whose name begins with *prefix*, below *parent* (default: the system's temporary folder).

    Use as a context manager, or call `close`. Folders left by processes that were killed are removed by `sweep` only.

    Raises: OSError.
    """

    def __init__(self, prefix: str, parent: Path | None = None) -> None:
        prefix += "" if system.LOCKS else _UNLOCKED
        while True:
            self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent)).resolve()
            self._lock = (self.folder / _LOCK).open("wb")
            if system.lock(self._lock.fileno()) is not False and (self.folder / _LOCK).exists():
                break
            self._lock.close()  # another process removed the folder before it was locked

    def close(self) -> None:
        """Remove the folder with everything in it."""
        if not self._lock.closed:
            remove(self.folder)
            self._lock.close()


def sweep(prefix: str, parent: Path, own: Path | None = None) -> None:
    """Remove the folders below *parent* whose names begin with *prefix* and whose owner is dead; *own* stays."""
    if not system.LOCKS:
        return
    for folder in parent.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            about = folder.lstat()
            if folder == own or folder.name.startswith(prefix + _UNLOCKED):
                continue
            if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid():
                continue
            if (folder / _LOCK).exists():
                with (folder / _LOCK).open("rb") as lock:
                    if system.lock(lock.fileno()):  # locked until all is removed: its owner may be creating it
                        _remove_left(folder)
            elif time.time() - about.st_mtime > _NEW_S:  # noqa: TID251 - compared with the file system's time
                _remove_left(folder)


def _remove_left(folder: Path) -> None:
    _log.info("removing %s, left by a process that was killed", folder)
    remove(folder)


def remove(folder: Path) -> None:
    """Remove a folder with everything in it, also what a function has made unreadable; links are not followed.

    Nothing outside of it is touched: it may lie in a folder of everybody's, and be gone already.
    """

    def open_up(function: Callable[..., Any], path: str, error: tuple[Any, BaseException, Any]) -> None:
        if not isinstance(error[1], PermissionError):
            return
        with contextlib.suppress(OSError):
            for place in (Path(path).parent, Path(path)):
                if place.is_relative_to(folder) and not place.is_symlink():
                    place.chmod(0o700)
            if function in (os.unlink, os.rmdir):
                function(path)
            elif os.access(path, os.R_OK | os.W_OK | os.X_OK):  # otherwise it would fail in the same way again
                shutil.rmtree(path, onerror=open_up)

    shutil.rmtree(folder, onerror=open_up)
