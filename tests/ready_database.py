"""Tables that are made once: a database in memory gets a copy of them where how they come about is not under test."""

import functools
import sqlite3
from pathlib import Path

from emulator.storage.database import Database
from emulator.storage.migration import Schema, migrate


def with_tables(database: Database, schema: Schema) -> None:
    """Do what `migrate` does; an empty database in memory gets a copy."""
    is_empty = database.read("SELECT 1 FROM sqlite_master").fetchone() is None
    if database.path is None and is_empty:
        _made(schema.service, schema.folder).backup(database._connection)
    else:
        migrate(database, [schema])


def migration(usual, schemas):
    """Return what does as *usual* (`migrate`) does; an empty database gets a copy of what that has made of another.

    It lies in memory, which forked processes can share. What a state is migrated from is left to *usual*.
    """
    ready = Database(None)
    usual(ready, schemas)
    ready.commit()

    def migrated(database, schemas):
        if database.read("SELECT 1 FROM sqlite_master").fetchone() is not None:
            usual(database, schemas)
            return
        database.commit()
        ready._connection.backup(database._connection)

    return migrated


@functools.cache
def _made(service: str, folder: Path) -> sqlite3.Connection:
    database = Database(None)
    migrate(database, [Schema(service, folder)])
    return database._connection
