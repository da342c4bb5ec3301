"""Numbered schema files and their statements; `emulator.storage.database.migrate` applies them."""

import re
import sqlite3
from pathlib import Path
from typing import Final

from emulator.kernel.frozen import frozen

_ADD_COLUMN = re.compile(r"(?:\s|--.*\n)*ALTER TABLE (\w+) ADD COLUMN (\w+)")


def added_column(statement: str) -> tuple[str, str] | None:
    """Return table and name of the column that a statement adds; None for any other statement."""
    addition = _ADD_COLUMN.match(statement)
    return None if addition is None else (addition[1], addition[2])


def statements_of(sql: str) -> list[str]:
    """Split a script."""
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
"""Makes the table of how far each service has come."""


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
