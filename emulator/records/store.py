"""The table of records."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
_FROM = _SELECT[_SELECT.index(" FROM") :]
_COUNT = f"SELECT count(*){_FROM}"
_WITHIN = (
    f"SELECT json_extract(content, ?), name{_FROM}"  # noqa: S608 - constants
    " AND json_extract(content, ?) IN (SELECT value FROM json_each(?)) ORDER BY created_at, name"
)
_DELETE = "DELETE FROM records WHERE account = ? AND region = ?"


class Wanted(NamedTuple):
    """A filter of records of a kind: by ``names``, by values of ``content``, by tags.

    A tag with an empty value matches any value.
    """

    names: Sequence[str] | None = None
    content: Mapping[str, str] = {}
    tags: Mapping[str, str] = {}

    @property
    def where(self) -> tuple[str, list[str]]:
        """The SQL condition to append to that of the kind, and its values."""
        sql, values = "", []
        if self.names is not None:
            sql += " AND name IN (SELECT value FROM json_each(?))"
            values.append(json.dumps(self.names))
        for member, value in self.content.items():
            sql += " AND json_extract(content, ?) = ?"
            values += (f'$."{member}"', value)
        for tag in self.tags.items():
            sql += " AND EXISTS (SELECT 1 FROM json_each(tags) WHERE key = ? AND ? IN ('', value))"
            values += tag
        return sql, values


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

    def page(self, tenant: Tenant, kind: str, wanted: Wanted, skipped: int, limit: int) -> tuple[list[Record], int]:
        """Return up to *limit* records that *wanted* matches, oldest first after *skipped*, and how many match."""
        sql, values = wanted.where
        given = (*tenant, kind, "", *values)
        rows = self._database.read(
            f"{_SELECT}{sql} ORDER BY created_at, name LIMIT ? OFFSET ?", (*given, limit, skipped)
        )
        (number,) = self._database.read(f"{_COUNT}{sql}", given).fetchone()
        return [_record(row) for row in rows], number

    def names_within(self, tenant: Tenant, kind: str, member: str, parents: Sequence[str]) -> dict[str, list[str]]:
        """Return the names of the records whose *member* is one of *parents*, by parent, oldest first."""
        names: dict[str, list[str]] = {}
        path = f'$."{member}"'
        rows = self._database.read(_WITHIN, (path, *tenant, kind, "", path, json.dumps(parents)))
        for parent, name in rows:
            names.setdefault(parent, []).append(name)
        return names

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
        """Remove a record; with a log project, also its stores."""
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
