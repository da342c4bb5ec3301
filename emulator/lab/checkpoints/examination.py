"""Checking a checkpoint that this process has not saved itself, before any of it is used.

Checked are, in this order: the files, the schema of the tables, their integrity by SQLite, every value, and whether the
services can read every row. Tables of an earlier version are migrated on the way. All of it happens in a folder of its
own, so that a failed check leaves the checkpoint as it was.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path

from emulator.kernel.clock import FURTHEST, Millis
from emulator.lab.checkpoints.soundness import check_pages, check_rows, unsound
from emulator.lab.checkpoints.store import FILES, TABLES
from emulator.lab.errors import LabError
from emulator.storage.database import Database, StorageDamaged
from emulator.storage.exchange import open_complete
from emulator.storage.migration import Schema, migrate
from emulator.storage.shape import ForeignTables, ProgramShape, Shape, check_form, shape_of, shape_of_program

CONTENT = re.compile(r"code/[0-9a-f]{64}\.zip|objects/([0-9a-f]{2})/\1[0-9a-f]{0,62}", re.ASCII)
"""Files of a checkpoint, as paths below the emulator's folder."""

ReadThrough = Callable[[Database], list[str]]
"""Reads all rows as the services do and returns the files they name; raises any exception for an invalid row."""


class Examination:
    """Examines checkpoints for a program with *schemas*, whose services *read_through*."""

    def __init__(self, schemas: Sequence[Schema], read_through: ReadThrough) -> None:
        self._schemas = list(schemas)
        self._read_through = read_through

    @cached_property
    def _program(self) -> ProgramShape:
        return shape_of_program(self._schemas)

    def check_foreign(self, tables: Path, version: str) -> None:
        """Check that a file holds tables of this program or an earlier one, before SQL is run on them.

        *version* is the program that the description names.

        Raises: LabError (InvalidCheckpoint); OSError.
        """
        if not tables.is_file():
            raise unsound("it has no tables")
        with refusing():
            check_form(tables)
            with closing(open_complete(tables)) as opened:
                shape = shape_of(opened)
                self._check_age(opened, shape, version)
                self._program.check_within(shape)
                check_pages(opened)

    def _check_age(self, tables: sqlite3.Connection, shape: Shape, version: str) -> None:
        """Refuse tables of a newer program, naming it, once the table of versions has the expected schema."""
        key = ("table", "schema_versions")
        if shape.get(key) != self._program.now[key]:
            raise unsound("its tables are not of this program")
        newest = {schema.service: max(schema.steps(), default=0) for schema in self._schemas}
        for service, number in tables.execute("SELECT service, version FROM schema_versions"):
            if not isinstance(number, int) or number > newest.get(service, 0):
                raise unsound(f"it is of a newer version, {version}")

    def make_sound(self, folder: Path, draft: Path, system: Millis, version: str) -> None:
        """Check the checkpoint in *folder* and replace its tables by the checked and migrated ones.

        *draft* is an empty folder to work in, *system* the machine's time, *version* the program it is of.

        Raises: LabError (InvalidCheckpoint), and the checkpoint is as it was; OSError.
        """
        self.check_foreign(folder / TABLES, version)
        copy = draft / TABLES
        _copy(folder / TABLES, copy)
        with refusing():
            with closing(Database(copy)) as database:
                migrate(database, self._schemas)
                for name in self._read_through(database):
                    if not CONTENT.fullmatch(name) or not (folder / FILES / name).is_file():
                        raise unsound("its tables name a file that it does not have")
            with closing(sqlite3.connect(copy, isolation_level=None)) as tables:
                tables.execute("PRAGMA journal_mode=DELETE")  # the journal mode of a checkpoint
                self._program.check_equal(shape_of(tables))
                check_rows(tables)
                _check_clock(tables, system)
        copy.replace(folder / TABLES)


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as reader, target.open("xb") as writer:
        while piece := reader.read(1024 * 1024):
            writer.write(piece)


def _check_clock(tables: sqlite3.Connection, system: Millis) -> None:
    row = tables.execute("SELECT offset_ms, frozen_at FROM lab_clock").fetchone()
    if row is not None and not 0 <= (row[1] or system + row[0]) <= FURTHEST:
        raise unsound("its clock stands where no clock can stand")


@contextmanager
def refusing() -> Iterator[None]:
    """Turn every error in the context into a refusal: bytes from elsewhere can fail in any way.

    Raises: LabError (InvalidCheckpoint); OSError.
    """
    try:
        yield
    except (LabError, OSError):
        raise
    except (ForeignTables, StorageDamaged, sqlite3.Error) as error:
        raise unsound(f"its tables cannot be used: {error}") from error
    except Exception as error:
        raise unsound(f"its tables make no sense ({type(error).__name__})") from error
