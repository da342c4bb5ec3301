"""Where records are kept."""

import json
from pathlib import Path
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.identity import AccountId, Tenant
from emulator.records.model import Record
from emulator.storage.database import Database
from emulator.storage.migration import Schema

SCHEMA = Schema("records", Path(__file__).parent / "schema")

_SELECT = (
    "SELECT kind, inside, name, content, tags, created_at FROM records "
    "WHERE account = ? AND region = ? AND kind = ? AND inside = ?"
)
_DELETE = "DELETE FROM records WHERE account = ? AND region = ?"


class RecordStore:
    """The records of every account and region."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, tenant: Tenant, kind: str, name: str, inside: str = "") -> Record | None:
        """Return a record; None when there is none."""
        row = self._database.read(f"{_SELECT} AND name = ?", (*tenant, kind, inside, name)).fetchone()
        return None if row is None else _record(row)

    def all(self, tenant: Tenant, kind: str, inside: str = "") -> list[Record]:
        """Return the records of a kind, oldest first."""
        rows = self._database.read(f"{_SELECT} ORDER BY created_at, name", (*tenant, kind, inside))
        return [_record(row) for row in rows]

    def put(self, tenant: Tenant, record: Record) -> None:
        """Store a record in place of one of its name."""
        self._database.write(
            "INSERT OR REPLACE INTO records (account, region, kind, inside, name, content, tags, created_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *tenant, record.kind, record.inside, record.name, json.dumps(record.content), json.dumps(record.tags),
                record.created_at,
            ),
        )  # fmt: skip

    def remove(self, tenant: Tenant, record: Record) -> None:
        """Remove a record, and of a log project what is inside of it."""
        own = (*tenant, record.kind, record.inside, record.name)
        self._database.write(f"{_DELETE} AND kind = ? AND inside = ? AND name = ?", own)
        if not record.inside:
            self._database.write(f"{_DELETE} AND inside = ?", (*tenant, record.name))

    def count(self, account: AccountId) -> int:
        """Return how many records an account has."""
        return int(self._database.read("SELECT count(*) FROM records WHERE account = ?", (account,)).fetchone()[0])

    def clear(self) -> None:
        """Remove everything."""
        self._database.write("DELETE FROM records")


def _record(row: Any) -> Record:
    kind, inside, name, content, tags, created_at = row
    return Record(
        kind=kind, name=name, inside=inside, content=json.loads(content), tags=json.loads(tags),
        created_at=Millis(created_at),
    )  # fmt: skip
