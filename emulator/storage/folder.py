"""The state folder: made on first use, locked against a second process, its secret files readable by the owner only.

::

    .localyun/
      state.db     everything the services know        keys.json   access keys, admin token (0600)
      code/        function code by content            ca/         private certificate authority
      logs/        function and server logs            lock        held while an emulator runs
      graphs/      pictures that `tutorial run` made
"""

import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.kernel import system
from emulator.kernel.closing import Closing

if TYPE_CHECKING:
    import sqlite3

_log = logging.getLogger(__name__)

_SCRATCH = "localyun-ephemeral-"
"""The prefix of the temporary folders of runs that keep nothing."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def secret_files(folder: Path) -> list[Path]:
    """Return the files of a state folder that hold keys and everything else the services know."""
    paths = [*folder.glob("state.db*"), folder / "keys.json"]
    return [path.absolute() for path in paths if path.exists()]


class FolderInUse(Exception):
    """Another emulator runs on this state folder."""

    def __init__(self, folder: Path, pid: int | None) -> None:
        self.folder = folder
        self.pid = pid
        super().__init__(f"{folder} is in use by another emulator" + (f" (process {pid})" if pid else ""))


class StateFolder(Closing):
    """A locked state folder; use as a context manager or call `close`.

    What is in it is for its owner only, also where the folder existed before and is open to others.

    Raises: FolderInUse; OSError when the folder cannot be made or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name in ("code", "logs", "ca"):
            (path / name).mkdir(exist_ok=True, mode=0o700)
        ignore = path / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="ascii")
        self._holder: sqlite3.Connection | None = None
        self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self._take_lock()
        except BaseException:
            os.close(self._lock)
            raise
        self._shut()

    def close(self) -> None:
        """Release the lock, so that another emulator can use the folder."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
        if self._holder is not None:
            self._holder.close()
            self._holder = None

    def _shut(self) -> None:
        """Remove other users' rights on files of earlier runs; warn when the folder itself is open to them."""
        for path in (*secret_files(self.path), *(self.path / name for name in ("ca", "code", "logs", "objects"))):
            if path.exists() and path.stat().st_mode & _OTHERS:
                path.chmod(path.stat().st_mode & ~_OTHERS)
        mode = stat.S_IMODE(self.path.stat().st_mode)
        if mode & _OTHERS and system.MODES:
            _log.warning(
                "the state folder %s is open to other users of this machine (mode %o); its files are not, but "
                "chmod 700 is safer",
                self.path.absolute(),
                mode,
            )

    def _take_lock(self) -> None:
        taken = system.lock(self._lock)
        if taken is None:
            taken = self._hold_database()
        if not taken:
            text = os.read(self._lock, 32).decode("ascii", "replace").strip()
            raise FolderInUse(self.path, int(text) if text.isdigit() else None)
        os.ftruncate(self._lock, 0)
        os.write(self._lock, str(os.getpid()).encode("ascii"))

    def _hold_database(self) -> bool:
        """Keep a transaction open in a database of its own, which one process can do at a time on every system.

        Raises: sqlite3.OperationalError when the database cannot be made or opened.
        """
        import sqlite3  # only needed where files cannot be locked

        holder = sqlite3.connect(self.path / "lock.db", timeout=0, isolation_level=None)
        try:
            holder.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            holder.close()
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            return False
        self._holder = holder
        return True


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder for a run that keeps nothing, and remove it at the end; `sweep_scratch` removes those left."""
    from emulator.kernel.owned_folders import OwnedFolder  # only needed for ephemeral runs

    with OwnedFolder(_SCRATCH) as owned:
        yield owned.folder


def sweep_scratch(own: Path) -> None:
    """Remove the folders of ephemeral runs that were killed; *own* is that of this run. May take seconds."""
    from emulator.kernel.owned_folders import sweep  # only needed for ephemeral runs

    sweep(_SCRATCH, own.parent, own)
