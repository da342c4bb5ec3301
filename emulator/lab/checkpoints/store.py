"""Checkpoints on disk: a folder each, with a description, the tables as a SQLite file, and files of code and objects.

Content never changes once it is written, so its files are hard links and cost nothing. A checkpoint is written under a
draft name and renamed, so what has its own name is whole. Names that begin with a dot are work under way; what a start
finds of it is finished or removed. Everything here may run in a thread.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from emulator.kernel.frozen import replace
from emulator.lab.checkpoints.description import LONGEST, About, check_name, read_about
from emulator.lab.errors import LabError
from emulator.storage.exchange import open_complete

ABOUT = "checkpoint.json"
TABLES = "state.db"
FILES = "files"
_DRAFT = ".new-"
_UPLOAD = ".upload-"
_ARCHIVE = ".archive-"
_NEXT = ".next-"
"""The prefix of a complete draft while it replaces the earlier checkpoint."""

_OLD_ARCHIVE = "archive.tar"
"""The file in a checkpoint's folder in which earlier versions made its archive."""

_ABANDONED_S = 3600
"""Seconds without a piece after which a transfer of an archive is given up."""

Fingerprint = tuple[int, int, int]
"""Inode, size and modification time of a file of tables: whether it was replaced."""


class ContentGone(Exception):
    """A file that the tables name was removed while they were copied."""


class CheckpointStore:
    """The checkpoints below *folder*, which is made with the first; *work* is where code and objects are."""

    def __init__(self, folder: Path, work: Path) -> None:
        self._folder = folder
        self._work = work

    def set_leftovers_aside(self) -> Path | None:
        """Finish replacements begun by an earlier run, and move its other leftovers into a draft, which is returned.

        The caller discards the draft. To be called first, while nothing under a dotted name is in use.
        """
        try:
            entries = sorted(self._folder.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return None
        for each in entries:
            if each.name.startswith(_NEXT):
                self._take_place(each, each.name.removeprefix(_NEXT))
        left = [each for each in self._folder.iterdir() if each.name.startswith(".")]
        left += [each / _OLD_ARCHIVE for each in entries if (each / _OLD_ARCHIVE).exists()]
        if not left:
            return None
        aside = self.draft()
        for number, each in enumerate(left):
            each.rename(aside / str(number))
        return aside

    def draft(self) -> Path:
        """Return an empty folder to write a checkpoint in; `discard` or `accept` it."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for number in range(1_000_000):
            draft = self._folder / f"{_DRAFT}{number}"
            with suppress(FileExistsError):
                draft.mkdir(mode=0o700)
                return draft
        raise OSError(f"{self._folder} is full of drafts")

    def fill(self, draft: Path, about: About, write_tables: Callable[[sqlite3.Connection], object]) -> About:
        """Write tables and description; *write_tables* gets the connection to write to.

        Raises: sqlite3.Error, OSError.
        """
        with closing(sqlite3.connect(draft / TABLES, isolation_level=None)) as tables:
            tables.execute("PRAGMA synchronous=OFF")  # a copy that a crash leaves incomplete is never read
            write_tables(tables)
            schema = dict(tables.execute("SELECT service, version FROM schema_versions").fetchall())
        return self.describe(draft, replace(about, schema=schema))

    def describe(self, folder: Path, about: About) -> About:
        """Write the description of the checkpoint in *folder*, with the present size of its tables."""
        about = replace(about, size=(folder / TABLES).stat().st_size)
        draft = folder / f"{ABOUT}.new"
        draft.write_text(about.text(), encoding="ascii")
        draft.replace(folder / ABOUT)
        return about

    def link(self, draft: Path, files: Iterable[str]) -> None:
        """Link *files*, paths below the work folder, into the draft.

        Raises: ContentGone, OSError.
        """
        for name in files:
            target = draft / FILES / name
            if target.exists():
                continue
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                _link(self._work / name, target)
            except FileNotFoundError:
                raise ContentGone(name) from None

    def accept(self, draft: Path, name: str) -> None:
        """Make the folder the checkpoint *name*; replaces an earlier one.

        A kill on the way leaves the old or the new one; `clean` finishes what has been accepted.
        """
        accepted = self._folder / f"{_NEXT}{name}"
        draft.rename(accepted)
        self._take_place(accepted, name)

    def _take_place(self, accepted: Path, name: str) -> None:
        final = self._folder / name
        old = None
        if final.exists():
            old = self.draft()
            final.rename(old / "old")
        accepted.rename(final)
        if old is not None:
            self.discard(old)

    def upload(self, name: str) -> Path:
        """Return the path of a checkpoint's archive while it is uploaded."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self._folder / f"{_UPLOAD}{name}"

    def archive(self, name: str) -> Path:
        """Return the path of a checkpoint's archive while it is downloaded."""
        return self._folder / f"{_ARCHIVE}{name}"

    def drop_abandoned(self, system_s: float) -> None:
        """Remove archives that nobody has fetched for an hour; *system_s* is the machine's time in seconds."""
        with suppress(FileNotFoundError):
            for each in self._folder.iterdir():
                if each.name.startswith((_UPLOAD, _ARCHIVE)):
                    with suppress(FileNotFoundError):
                        if each.stat().st_mtime < system_s - _ABANDONED_S:
                            each.unlink()

    def discard(self, draft: Path) -> None:
        """Remove a draft."""
        import shutil  # imports every compression module

        if draft.is_dir() and not draft.is_symlink():
            shutil.rmtree(draft, ignore_errors=True)
        else:
            with suppress(OSError):
                draft.unlink(missing_ok=True)

    def all(self) -> list[About]:
        """Return every checkpoint, by name; one that cannot be read is left out."""
        checkpoints = []
        with suppress(FileNotFoundError):
            for each in sorted(self._folder.iterdir()):
                if not each.name.startswith("."):
                    with suppress(LabError):
                        checkpoints.append(self.about(check_name(each.name)))
        return checkpoints

    def about(self, name: str) -> About:
        """Return what is known about a checkpoint.

        Raises: LabError (NotFound, InvalidCheckpoint).
        """
        return read_description(self._folder / name, name)

    def path(self, name: str) -> Path:
        """Return the folder of a checkpoint.

        Raises: LabError (NotFound).
        """
        self.about(name)
        return self._folder / name

    def fingerprint(self, name: str) -> Fingerprint | None:
        """Return the fingerprint of a checkpoint's tables; None when there are none."""
        try:
            found = (self._folder / name / TABLES).stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def remove(self, name: str) -> None:
        """Remove a checkpoint, and the archive of it.

        Raises: LabError (NotFound).
        """
        old = self.draft()
        try:
            (self._folder / name).rename(old / "old")
        except FileNotFoundError:
            raise LabError("NotFound", what="checkpoint", name=name) from None
        finally:
            self.discard(old)
        self.archive(name).unlink(missing_ok=True)

    def put_back(self, name: str, given: list[str]) -> None:
        """Link the files of a checkpoint that the work folder lacks into it; append each to *given*.

        Raises: OSError.
        """
        root = self._folder / name / FILES
        for file in files_of(root):
            target = self._work / file
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                given.append(file)
                _link(root / file, target)

    def tables(self, name: str) -> sqlite3.Connection:
        """Open the tables of a checkpoint, which are sound and of this program's schema; close them after use.

        Raises: sqlite3.Error.
        """
        return open_complete(self._folder / name / TABLES)


def read_description(folder: Path, name: str) -> About:
    """Read what the checkpoint in *folder* says of itself; *name* is what it is called here.

    Raises: LabError (NotFound, InvalidCheckpoint).
    """
    try:
        with (folder / ABOUT).open("rb") as file:
            text = file.read(LONGEST).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise LabError("NotFound", what="checkpoint", name=name) from None
    except (OSError, UnicodeDecodeError):
        raise LabError("InvalidCheckpoint", reason="its description cannot be read") from None
    return read_about(text, name)


def files_of(root: Path) -> Iterator[str]:
    """Yield the files below *root* as paths from there."""
    for folder, _, names in os.walk(root):
        for each in names:
            yield (Path(folder) / each).relative_to(root).as_posix()


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileExistsError:
        pass
    except FileNotFoundError:
        raise
    except OSError:  # the file system has no links
        target.write_bytes(source.read_bytes())
