"""The schema of tables, compared with the one this program's migrations make: whether a foreign file is a state.

Every object of a schema is taken apart: the head of its statement, the parts between the outer brackets, and what
follows. The order of the parts does not count in tables that later migrations have added columns to, because different
releases added them in different orders. Only the table `sqlite_master` is read, which runs nothing that a foreign file
brings along.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from emulator.kernel.frozen import frozen
from emulator.storage.migration import VERSIONS, Schema

_OWN = frozenset({"sqlite_sequence"})
"""Tables that SQLite makes itself."""

_HEAD_BYTES = 100
_PAGE_BYTES = 4096
_FORM = (_PAGE_BYTES.to_bytes(2, "big"), b"\x00\x00\x00\x01")
_JOURNALS = (b"\x01\x01", b"\x02\x02")
"""Page size, UTF-8, either kind of journal: the form in which a checkpoint's tables are written."""

Shape = Mapping[tuple[str, str], tuple[str, ...]]
"""The objects of a schema by kind and name, each as the parts of its statement."""


class ForeignTables(Exception):
    """The schema is not one that this program makes."""


def shape_of(tables: sqlite3.Connection) -> Shape:
    """Read the schema of *tables*.

    Raises: sqlite3.Error.
    """
    return {key: tuple(_parts(sql)) for key, sql in _statements(tables)}


def _statements(tables: sqlite3.Connection) -> Iterator[tuple[tuple[str, str], str]]:
    """Return the objects of a schema by kind and name, each with its statement."""
    rows = tables.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return (((kind, name), sql) for kind, name, sql in rows if name not in _OWN)


@frozen
class ProgramShape:
    """The schemas a program's migrations make: ``now`` is the final one, ``forms`` are all forms each object had."""

    now: Shape
    forms: Mapping[tuple[str, str], frozenset[tuple[str, ...]]]

    def check_within(self, shape: Shape) -> None:
        """Check that *shape* has only objects and parts that some migration has made.

        Raises: ForeignTables.
        """
        for key, parts in shape.items():
            if key not in self.forms:
                raise ForeignTables(f"the {key[0]} {key[1][:60]!r} is not of this program")
            known: Counter[str] = Counter()
            for form in self.forms[key]:
                known |= Counter(form)
            if Counter(parts) - known:
                raise ForeignTables(f"the {key[0]} {key[1]!r} has parts that are not of this program")

    def check_equal(self, shape: Shape) -> None:
        """Check that *shape* is the schema after the last migration.

        Raises: ForeignTables.
        """
        self.check_within(shape)
        for key, parts in self.now.items():
            found = shape.get(key, ())
            if found != parts and not (len(self.forms[key]) > 1 and Counter(found) == Counter(parts)):
                raise ForeignTables(f"the {key[0]} {key[1]!r} is missing, incomplete or in another order")


def shape_of_program(schemas: Sequence[Schema]) -> ProgramShape:
    """Run the migrations in memory, step by step, and return what they make; takes some 30 ms."""
    forms: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    seen: set[tuple[tuple[str, str], str]] = set()  # most objects are after a step what they were before
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as tables:
        tables.execute(VERSIONS)
        for schema in schemas:
            for file in schema.steps().values():
                tables.executescript(f"BEGIN;{file.read_text(encoding='utf-8')};COMMIT")
                changed = {*_statements(tables)} - seen
                seen |= changed
                for key, sql in changed:
                    forms.setdefault(key, set()).add(tuple(_parts(sql)))
        return ProgramShape(now=shape_of(tables), forms={key: frozenset(each) for key, each in forms.items()})


def check_form(file: Path) -> None:
    """Check that *file* is a SQLite database in the form of a checkpoint, before SQLite opens it.

    Raises: ForeignTables, OSError.
    """
    with file.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    if len(head) < _HEAD_BYTES or not head.startswith(b"SQLite format 3\0"):
        raise ForeignTables("they are not a database")
    if (head[16:18], head[56:60]) != _FORM or head[18:20] not in _JOURNALS:
        raise ForeignTables("they have another form than a checkpoint's")
    if int.from_bytes(head[28:32], "big") * _PAGE_BYTES != file.stat().st_size:
        raise ForeignTables("they are not as long as they say")


def _parts(sql: str) -> Iterator[str]:
    """Yield the head of a statement, what stands between its outer brackets part by part, and its tail.

    Comments do not count. A quoted text with ``--`` in it would be cut off and then equal no part of this program's
    schema.
    """
    depth, begin, quote = 0, 0, ""
    sql = "\n".join(line.partition("--")[0] for line in sql.splitlines())
    for at, character in enumerate(sql):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"`":
            quote = character
        elif character in "()," and depth + (character == "(") == 1:
            yield _plain(sql[begin:at])
            begin = at + 1
        if not quote:
            depth += (character == "(") - (character == ")")
    yield _plain(sql[begin:])


def _plain(text: str) -> str:
    return " ".join(text.split())
