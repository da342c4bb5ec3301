"""Numbered SQL files bring a state file to the schema of this program.

Each service keeps ``schema/0001_initial.sql``, ``0002_....sql`` and so on; the table ``schema_versions`` remembers how
far each has come. Files are never edited once released; a change is a new number.
"""

import sqlite3
from pathlib import Path

from emulator.kernel.frozen import frozen
from emulator.storage.database import Database


class StateTooNew(Exception):
    """The state file was written by a newer program."""


@frozen(kw_only=False)
class Schema:
    """A service's numbered SQL files."""

    service: str
    folder: Path

    def steps(self) -> list[tuple[int, str]]:
        """Return (number, SQL) in order."""
        files = sorted(self.folder.glob("[0-9][0-9][0-9][0-9]_*.sql"))
        return [(int(file.name[:4]), file.read_text(encoding="utf-8")) for file in files]


def migrate(database: Database, schemas: list[Schema]) -> None:
    """Apply what is missing, one transaction per step.

    Raises: StateTooNew when the file knows a step or a service schema that this program does not.
    """
    database.write(
        "CREATE TABLE IF NOT EXISTS schema_versions (service TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID"
    )
    reached = dict(database.read("SELECT service, version FROM schema_versions").fetchall())
    plan = []
    for schema in schemas:
        steps = schema.steps()
        newest = steps[-1][0] if steps else 0
        at = reached.get(schema.service, 0)
        if at > newest:
            message = f"{schema.service} schema {at} is newer than this program knows ({newest})"
            raise StateTooNew(message)
        plan += [(schema.service, number, sql) for number, sql in steps if number > at]
    for service, number, sql in plan:
        with database.unit():
            for statement in _statements(sql):
                database.write(statement)
            database.write("INSERT OR REPLACE INTO schema_versions VALUES (?, ?)", (service, number))
    database.commit()


def _statements(sql: str) -> list[str]:
    """Split a script; `executescript` would commit the surrounding transaction."""
    statements, current = [], ""
    for line in sql.splitlines(keepends=True):
        current += line
        if line.rstrip().endswith(";") and sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    if current.strip():
        statements.append(current)
    return statements
