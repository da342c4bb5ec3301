"""Checkpoints on disk: a folder each, with a description, the tables as a SQLite file, and files of code and objects.

Content never changes once it is written, so its files are hard links and cost nothing. A checkpoint is written under a
draft name and renamed, so what has its own name is whole. Everything here may run in a thread.
"""

import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import fields_of, frozen, replace
from emulator.lab.errors import LabError, invalid
from emulator.storage.database import Database, Schema, StateTooNew, migrate
from emulator.wire.dates import iso_millis

FORM = 1
"""The number of the form that checkpoints and archives have; a higher one is of a newer program."""

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"


@frozen
class About:
    """A checkpoint: when it was made (the machine's time), the emulator's time then, whose state it is.

    ``schema`` is how far each service's tables had come, ``size`` the bytes of its tables.
    """

    name: str
    created_at: Millis
    now: Millis
    version: str
    account: str
    region: str
    size: int
    schema: dict[str, int]

    def shown(self) -> dict[str, Any]:
        """Return the admin API's form."""
        return {
            "name": self.name,
            "created_at": iso_millis(self.created_at),
            "now": iso_millis(self.now),
            "bytes": self.size,
            "version": self.version,
        }

    def text(self) -> str:
        """Return the form on disk."""
        content = {each.name: getattr(self, each.name) for each in fields_of(self)}
        return json.dumps({"form": FORM, **content}, indent=2)


def read_about(text: str, name: str) -> About:
    """Read the form on disk; *name* is the checkpoint's name here.

    Raises: LabError (InvalidCheckpoint).
    """
    try:
        content = json.loads(text)
        if content["form"] > FORM:
            raise LabError("InvalidCheckpoint", reason=f"it was made by localyun {content['version']}, which is newer")
        return About(
            name=name,
            created_at=Millis(int(content["created_at"])),
            now=Millis(int(content["now"])),
            version=str(content["version"]),
            account=str(content["account"]),
            region=str(content["region"]),
            size=int(content["size"]),
            schema={str(service): int(number) for service, number in content["schema"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise LabError("InvalidCheckpoint", reason="its description cannot be read") from None


def check_name(name: str) -> str:
    """Check the name of a checkpoint and return it.

    Raises: LabError (InvalidParameter).
    """
    if not re.fullmatch(_NAME, name):
        raise invalid(
            "a checkpoint's name has letters, digits, '.', '_' and '-', up to 128, and begins with one of the first two"
        )
    return name


_ABOUT = "checkpoint.json"
_TABLES = "state.db"
_FILES = "files"
_DRAFT = ".new-"


class ContentGone(Exception):
    """A file that the tables name was removed while they were copied."""


class CheckpointStore:
    """The checkpoints below *folder*, which is made with the first; *work* is where code and objects are.

    *schemas* are this program's tables.
    """

    def __init__(self, folder: Path, work: Path, schemas: list[Schema]) -> None:
        self._folder = folder
        self._work = work
        self._schemas = schemas

    @cached_property
    def _newest(self) -> dict[str, int]:
        """The tables of this program, as a checkpoint names them."""
        return {schema.service: max(schema.steps(), default=0) for schema in self._schemas}

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
        path = draft / _TABLES
        with closing(sqlite3.connect(path, isolation_level=None)) as tables:
            tables.execute("PRAGMA synchronous=OFF")  # it is read only once it is complete
            write_tables(tables)
            schema = dict(tables.execute("SELECT service, version FROM schema_versions").fetchall())
        about = replace(about, size=path.stat().st_size, schema=schema)
        (draft / _ABOUT).write_text(about.text(), encoding="ascii")
        return about

    def link(self, draft: Path, files: Iterable[str]) -> None:
        """Keep *files*, paths below the work folder.

        Raises: ContentGone, OSError.
        """
        for name in files:
            target = draft / _FILES / name
            if target.exists():
                continue
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                _link(self._work / name, target)
            except FileNotFoundError:
                raise ContentGone(name) from None

    def accept(self, draft: Path, name: str) -> None:
        """Let the folder be the checkpoint *name*, in place of the one there was."""
        final = self._folder / name
        old = None
        if final.exists():
            old = self.draft()
            final.rename(old / "old")
        draft.rename(final)
        if old is not None:
            self.discard(old)

    def upload(self, name: str) -> Path:
        """Return where the archive of a checkpoint to be is gathered."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self._folder / f".upload-{name}"

    def discard(self, draft: Path) -> None:
        """Remove a draft."""
        import shutil  # pulls in every compression module

        shutil.rmtree(draft, ignore_errors=True)

    def all(self) -> list[About]:
        """Return every checkpoint, by name; one that cannot be read is left out."""
        checkpoints = []
        with suppress(FileNotFoundError):
            for each in sorted(self._folder.iterdir()):
                if not each.name.startswith("."):
                    with suppress(LabError):
                        checkpoints.append(self.about(each.name))
        return checkpoints

    def about(self, name: str) -> About:
        """Return what is known about a checkpoint.

        Raises: LabError (NotFound, InvalidCheckpoint).
        """
        try:
            text = (self._folder / name / _ABOUT).read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            raise LabError("NotFound", what="checkpoint", name=name) from None
        except UnicodeDecodeError:
            raise LabError("InvalidCheckpoint", reason="its description cannot be read") from None
        return read_about(text, name)

    def path(self, name: str) -> Path:
        """Return the folder of a checkpoint.

        Raises: LabError (NotFound).
        """
        self.about(name)
        return self._folder / name

    def remove(self, name: str) -> None:
        """Remove a checkpoint.

        Raises: LabError (NotFound).
        """
        old = self.draft()
        try:
            (self._folder / name).rename(old / "old")
        except FileNotFoundError:
            raise LabError("NotFound", what="checkpoint", name=name) from None
        finally:
            self.discard(old)

    def put_back(self, name: str) -> None:
        """Give the work folder the files of a checkpoint that it does not have."""
        root = self._folder / name / _FILES
        for folder, _, names in os.walk(root):
            for each in names:
                source = Path(folder) / each
                target = self._work / source.relative_to(root)
                if not target.exists():
                    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                    _link(source, target)

    def release(self, files: Iterable[str]) -> None:
        """Remove *files* from the work folder: no table names them any more."""
        for name in files:
            (self._work / name).unlink(missing_ok=True)

    def tables(self, about: About) -> sqlite3.Connection:
        """Open the tables of a checkpoint, brought to this program's schema; close them after use.

        Raises: LabError (InvalidCheckpoint); sqlite3.Error.
        """
        path = self._folder / about.name / _TABLES
        if about.schema == self._newest:
            return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        draft = self.draft()
        try:
            copy = draft / _TABLES
            copy.write_bytes(path.read_bytes())
            database = Database(copy)
            try:
                migrate(database, self._schemas)
                memory = sqlite3.connect(":memory:", check_same_thread=False)
                database.copy_to(memory)
            finally:
                database.close()
        except StateTooNew as error:
            raise LabError("InvalidCheckpoint", reason=f"it is of a newer version, {about.version}: {error}") from None
        finally:
            self.discard(draft)
        return memory


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileExistsError:
        pass
    except FileNotFoundError:
        raise
    except OSError:  # a file system without links
        target.write_bytes(source.read_bytes())
