"""How objects are kept in tables: the columns of each attribute; and tables whose changes are counted."""

import json
import sqlite3
from collections.abc import Callable, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

from emulator.kernel.frozen import fields_of
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.services.fc.model import FunctionRef, Scope
from emulator.storage.database import Database

T = TypeVar("T")


class Form(NamedTuple):
    """How an attribute is kept that is neither number nor text; None is kept as null.

    *write* returns what goes into its column, *read* takes that and returns the value. With *columns* these are several
    and not called like the attribute.
    """

    write: Callable[[Any], Any]
    read: Callable[..., Any]
    columns: tuple[str, ...] = ()


JSON = Form(json.JSONEncoder(separators=(",", ":")).encode, json.loads)
LIST = Form(json.dumps, lambda text: tuple(json.loads(text)))
SCOPE = Form(attrgetter("service", "function"), Scope, ("scope_service", "scope_function"))
TENANT = Form(tuple, Tenant, ("account", "region"))
PLACE = Form(
    lambda place: (*place.tenant, *place[1:]),
    lambda account, region, *place: FunctionRef(Tenant(AccountId(account), Region(region)), *place),
    ("account", "region", "service", "function", "qualifier"),
)


class Rows(Generic[T]):
    """The rows of a table as objects of a frozen class: an attribute in the column of its name, or as its form says.

    ``columns`` are named in order. ``put`` writes a row, new or not; the columns *owner*, which are no attributes, come
    first in it.
    """

    def __init__(self, kind: Callable[..., T], table: str, owner: tuple[str, ...] = (), /, **forms: Form) -> None:
        self._kind = kind
        self.table = table
        self._forms = [(each.name, forms.get(each.name)) for each in fields_of(kind)]
        names = [column for name, form in self._forms for column in (form.columns if form else ()) or (name,)]
        self.columns = ", ".join(names)
        self.select = f"SELECT {self.columns} FROM {table}"  # noqa: S608 - names of attributes
        written = (*owner, *names)
        marks = ", ".join("?" * len(written))
        self.put = f"INSERT OR REPLACE INTO {table} ({', '.join(written)}) VALUES ({marks})"  # noqa: S608 - as above

    def values(self, item: T) -> list[Any]:
        """Return what the columns of *item* hold."""
        values: list[Any] = []
        for name, form in self._forms:
            value = getattr(item, name)
            if form is None or (value is None and not form.columns):
                values.append(value)
            elif form.columns:
                values += [None] * len(form.columns) if value is None else form.write(value)
            else:
                values.append(form.write(value))
        return values

    def item(self, row: Sequence[Any]) -> T:
        """Return the object whose columns hold *row*; an attribute is None where its last column is null."""
        cells, attributes = iter(row), {}
        for name, form in self._forms:
            if form is None:
                attributes[name] = next(cells)
            else:
                held = list(islice(cells, len(form.columns) or 1))
                attributes[name] = None if held[-1] is None else form.read(*held)
        return self._kind(**attributes)


class RowStore:
    """Tables that are read as objects."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _one(self, rows: Rows[T], where: str, values: Sequence[Any]) -> T | None:
        row = self._database.read(f"{rows.select} WHERE {where}", values).fetchone()
        return rows.item(row) if row else None

    def _all(self, rows: Rows[T], where: str, values: Sequence[Any] = ()) -> list[T]:
        return [rows.item(row) for row in self._database.read(f"{rows.select} WHERE {where}", values)]

    def _put(self, rows: Rows[T], item: T, *owner: str) -> None:
        self._write(rows.put, (*owner, *rows.values(item)))

    def _delete(self, rows: Rows[T], where: str, values: Sequence[Any]) -> bool:
        """Remove the rows *where* says; return whether there were any."""
        return self._write(f"DELETE FROM {rows.table} WHERE {where}", values).rowcount > 0  # noqa: S608 - constants

    def _write(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        return self._database.write(sql, values)


class CountingStore(RowStore):
    """Tables whose changes are counted: what was computed from them holds until ``generation`` is another."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.generation = 0
        """A number that grows with every change."""
        self._watchers: list[Callable[[], None]] = []
        database.on_rollback(self._rolled_back)

    def watch(self, changed: Callable[[], None]) -> None:
        """Call *changed* after every write from now on, still within the transaction."""
        self._watchers.append(changed)

    def _write(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        self.generation += 1
        cursor = self._database.write(sql, values)
        for changed in self._watchers:
            changed()
        return cursor

    def _rolled_back(self) -> None:
        self.generation += 1
