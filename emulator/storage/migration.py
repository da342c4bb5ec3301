"""Numbered schema files, and migrating a database with them.

Each service keeps ``schema/0001_initial.sql``, ``0002_....sql`` and so on; the table ``schema_versions`` records how
far each has come. Files are never edited once released; a change is a new number, and a number is given once.
"""

import re
import sqlite3
from pathlib import Path
from typing import Final

from emulator.kernel.frozen import frozen
from emulator.storage.database import Database

_ADD_COLUMN = re.compile(r"(?:\s|--.*\n)*ALTER TABLE (\w+) ADD COLUMN (\w+)")


def added_column(statement: str) -> tuple[str, str] | None:
    """Return table and name of the column that a statement adds; None for any other statement."""
    addition = _ADD_COLUMN.match(statement)
    return None if addition is None else (addition[1], addition[2])


def statements_of(sql: str) -> list[str]:
    """Split a script into its statements."""
    statements, current = [], ""
    for line in sql.splitlines(keepends=True):
        current += line
        if line.rstrip().endswith(";") and sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    if current.strip():
        statements.append(current)
    return statements


class StateTooNew(Exception):
    """The state file was written by a newer program."""


VERSIONS: Final = (
    "CREATE TABLE IF NOT EXISTS schema_versions (service TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID"
)
"""The statement that makes the table ``schema_versions``."""


@frozen(kw_only=False)
class Schema:
    """A service's numbered SQL files."""

    service: str
    folder: Path

    def steps(self) -> dict[int, Path]:
        """Return the files by their numbers, in order.

        Raises: ValueError for a file without a number, or a number given twice: a state could stop between the two and
            miss the second.
        """
        found = sorted(file for file in self.folder.iterdir() if file.suffix == ".sql")
        files = {int(file.name[:4]): file for file in found}
        if len(files) < len(found):
            raise ValueError(f"{self.folder} has a number twice")
        return files


def migrate(database: Database, schemas: list[Schema]) -> None:
    """Run the files of *schemas* that *database* has not had yet, all or none; a column that exists is not added again.

    Raises: StateTooNew when the file has a schema of a number that this program does not have.
    """
    database.write(VERSIONS)
    reached = dict(database.read("SELECT service, version FROM schema_versions").fetchall())
    script: list[str] = []
    for schema in schemas:
        steps = schema.steps()
        newest = max(steps, default=0)
        at = reached.get(schema.service, 0)
        if at > newest:
            message = f"{schema.service} schema {at} is newer than this program knows ({newest})"
            raise StateTooNew(message)
        for number, file in steps.items():
            if number > at:
                statements = statements_of(file.read_text(encoding="utf-8"))
                script += [each for each in statements if not _adds_what_is_there(database, each)]
                script.append(f"INSERT OR REPLACE INTO schema_versions VALUES ('{schema.service}', {number})")  # noqa: S608 - own names
    database.write_script("\n;".join(script))


def _adds_what_is_there(database: Database, statement: str) -> bool:
    """Whether a statement adds a column that the table has; SQLite knows no ``IF NOT EXISTS`` for columns."""
    column = added_column(statement)
    if column is None:
        return False
    return database.read("SELECT 1 FROM pragma_table_info(?) WHERE name = ?", column).fetchone() is not None
