"""The notation of tables: which columns hold a value and in which form; and stores made of such tables.

A number or a text is a column as it is. Types that SQLite does not have are written as JSON, lists come back as tuples,
an enumeration is stored by its value. A value of several columns is a `Held`.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from emulator.kernel.frozen import fields_of
from emulator.storage.database import Database
from emulator.wire.schema.kinds import (
    Flag,
    Held,
    Items,
    Json,
    JsonText,
    Kind,
    MapOf,
    Number,
    OneOf,
    Shape,
    Text,
    Time,
    Whole,
)
from emulator.wire.schema.notation import Notation

T = TypeVar("T")

_compact = json.JSONEncoder(separators=(",", ":")).encode


class Column(NamedTuple):
    """How a value is stored: *write* and *read* are None where it is stored as it is; ``names`` are several columns."""

    write: Callable[[Any], Any] | None = None
    read: Callable[..., Any] | None = None
    names: tuple[str, ...] = ()
    type: str = "TEXT"
    """SQLite's type of the column."""


_AS_IT_IS = Column()
_NUMBER = Column(type="INTEGER")
_OBJECT = Column(_compact, json.loads)


class Columns(Notation[Column]):
    """The columns of a table."""

    def text(self, kind: Text) -> Column:
        """Keep a text."""
        return _AS_IT_IS

    def json_text(self, kind: JsonText) -> Column:
        """Keep a text that holds JSON."""
        return _AS_IT_IS

    def whole(self, kind: Whole) -> Column:
        """Keep a number."""
        return _NUMBER

    def number(self, kind: Number) -> Column:
        """Keep a number."""
        return Column(type="REAL")

    def time(self, kind: Time) -> Column:
        """Keep milliseconds."""
        return _NUMBER

    def flag(self, kind: Flag) -> Column:
        """Keep 0 or 1."""
        return Column(None, bool, type="INTEGER")

    def one_of(self, kind: OneOf) -> Column:
        """Keep a word, of an enumeration its value."""
        return _AS_IT_IS if kind.members is None else Column(attrgetter("value"), kind.members)

    def items(self, kind: Items) -> Column:
        """Keep a list as JSON; it comes back as a tuple, and so do lists in it."""
        if isinstance(kind.kind, Items):
            return Column(json.dumps, lambda text: tuple(tuple(item) for item in json.loads(text)))
        return Column(json.dumps, lambda text: tuple(json.loads(text)))

    def map_of(self, kind: MapOf) -> Column:
        """Keep a mapping as JSON."""
        return _OBJECT

    def json(self, kind: Json) -> Column:
        """Keep a value as JSON."""
        return _OBJECT

    def shape(self, kind: Shape) -> Column:
        """Keep an object as JSON, by the names that its members have inside."""
        if kind.record is None:
            return _OBJECT
        make, names = kind.record, [each.name for each in fields_of(kind.record)]
        return Column(
            lambda value: json.dumps({name: getattr(value, name) for name in names}),
            lambda text: make(**json.loads(text)),
        )

    def held(self, kind: Held) -> Column:
        """Keep a value in the columns it names."""
        return Column(kind.write, kind.read, kind.columns)


COLUMNS = Columns("column")


class Row(Generic[T]):
    """Objects of one class as rows: ``names`` are the columns in order, joined by commas in ``text``."""

    def __init__(self, make: Callable[..., T], kinds: Iterable[tuple[str, Kind | None]]) -> None:
        self._make = make
        self._columns = [(name, _AS_IT_IS if kind is None else COLUMNS.reader(kind)) for name, kind in kinds]
        self.names = tuple(each for name, column in self._columns for each in column.names or (name,))
        self.text = ", ".join(self.names)
        self._attributes = [name for name, _ in self._columns]
        self._read = list(_reading(self._columns))[::-1]

    @property
    def types(self) -> dict[str, str]:
        """SQLite's type of each column that has the name of an attribute."""
        return {name: column.type for name, column in self._columns if not column.names}

    def values(self, item: object) -> list[Any]:
        """Return what the columns of *item* hold; None is null."""
        values: list[Any] = []
        for name, column in self._columns:
            value = getattr(item, name)
            if column.names:
                values += [None] * len(column.names) if value is None or column.write is None else column.write(value)
            else:
                values.append(value if value is None or column.write is None else column.write(value))
        return values

    def item(self, row: Sequence[Any]) -> T:
        """Return the object whose columns hold *row*; an attribute is None where its last column is null."""
        values = list(row)
        for place, read, width in self._read:  # backwards: merging columns moves those that follow
            last = values[place + width - 1]
            if width > 1:
                values[place : place + width] = [None if last is None else read(*values[place : place + width])]
            elif last is not None:
                values[place] = read(last)
        return self._make(**dict(zip(self._attributes, values, strict=True)))


def _reading(columns: Iterable[tuple[str, Column]]) -> Iterator[tuple[int, Callable[..., Any], int]]:
    """Yield the first column, the reader and the number of columns of each attribute that is not kept as it is."""
    place = 0
    for _, column in columns:
        width = len(column.names) or 1
        if column.read is not None:
            yield place, column.read, width
        place += width


def row_of(shape: Shape) -> Row[Any]:
    """Return how the settings of a resource are kept as a row of a table.

    Raises: TypeError for a shape without a record.
    """
    if shape.record is None:
        raise TypeError(f"no class holds {shape.title}")
    return Row(shape.record, ((each.attribute, each.kind) for each in shape.stored))


class Rows(Row[T]):
    """The rows of a table as objects of a frozen class: an attribute without a kind is kept as it is.

    ``put`` writes a row, new or not; the columns *owner*, which are no attributes, come first in it.
    """

    def __init__(self, make: Callable[..., T], table: str, owner: tuple[str, ...] = (), /, **kinds: Kind) -> None:
        super().__init__(make, ((each.name, kinds.get(each.name)) for each in fields_of(make)))
        self.table = table
        self.select = f"SELECT {self.text} FROM {table}"  # noqa: S608 - names of attributes
        written = (*owner, *self.names)
        marks = ", ".join("?" * len(written))
        self.put = f"INSERT OR REPLACE INTO {table} ({', '.join(written)}) VALUES ({marks})"  # noqa: S608 - names of columns


class RowStore:
    """Tables that are read as objects: those of *TABLES* alone, others with more than one class."""

    TABLES: ClassVar[tuple[Rows[Any], ...]] = ()

    def __init__(self, database: Database) -> None:
        self._database = database

    def read_through(self) -> None:
        """Read every row as its object, to check a state of unknown origin.

        Raises: whatever the conversion of an invalid row raises.
        """
        for rows in self.TABLES:
            for row in self._database.read(rows.select):
                rows.item(row)

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
    """Tables whose changes are counted, for caches: what was computed from them is valid while ``generation`` stays."""

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
