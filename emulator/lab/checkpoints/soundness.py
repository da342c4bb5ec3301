"""Whether tables of unknown origin can be this emulator's state: their schema, what SQLite finds, and every row.

A checkpoint that this process has saved is known to be whole. Others are checked before they are used: one uploaded as
an archive, and one left by an earlier run, which another program may have changed since.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator

from emulator.kernel.clock import FURTHEST
from emulator.kernel.identity import ACCOUNT_DIGITS
from emulator.lab.errors import LabError
from emulator.services.mns.limits import PRIORITY
from emulator.services.workflow.engine.language import TIMERS

ACCOUNT = re.compile(f"[0-9]{{1,{ACCOUNT_DIGITS}}}", re.ASCII)
REGION = re.compile(r"[a-z][a-z0-9-]{0,63}", re.ASCII)

_LARGEST = 2**53
"""The largest number allowed, so that additions do not overflow; `_HELD` is added to those of held messages."""

_HELD = 2**60

_TIMES = re.compile(r"(\w+_)?at|since|frozen_at|running_from", re.ASCII)

_TYPES = {"INTEGER": ("integer",), "TEXT": ("text",), "BLOB": ("blob", "text"), "REAL": ("real", "integer")}

_NAMED = (
    ("mns_messages", "queue", "SELECT id FROM mns_queues UNION SELECT id FROM mns_deleted_queues"),
    ("mns_tallies", "queue", "SELECT id FROM mns_queues UNION SELECT id FROM mns_deleted_queues"),
    ("mns_subscriptions", "topic", "SELECT id FROM mns_topics"),
    (
        "mns_deliveries",
        "subscription",
        "SELECT id FROM mns_subscriptions UNION SELECT id FROM mns_deleted_subscriptions",
    ),
    ("mns_deliveries", "publication", "SELECT id FROM mns_publications"),
    ("fc_task_events", "seq", "SELECT seq FROM fc_async_calls"),
    ("workflow_flows", "world", "SELECT id FROM workflow_worlds"),
    ("workflow_flows", "definition", "SELECT id FROM workflow_definitions"),
    ("workflow_definitions", "flow", "SELECT id FROM workflow_flows"),
    ("workflow_executions", "world", "SELECT id FROM workflow_worlds"),
    ("workflow_executions", "flow", "SELECT id FROM workflow_flows"),
    ("workflow_executions", "definition", "SELECT id FROM workflow_definitions"),
    ("workflow_turns", "execution", "SELECT id FROM workflow_executions"),
    ("workflow_wakeups", "execution", "SELECT id FROM workflow_executions"),
    ("workflow_calls", "execution", "SELECT id FROM workflow_executions"),
    ("workflow_callbacks", "execution", "SELECT id FROM workflow_executions"),
    ("workflow_map_runs", "execution", "SELECT id FROM workflow_executions"),
    ("workflow_schedules", "flow", "SELECT id FROM workflow_flows"),
    ("workflow_versions", "flow", "SELECT id FROM workflow_flows"),
    ("workflow_aliases", "flow", "SELECT id FROM workflow_flows"),
)
"""References without a foreign key: table, column, and the query of the values allowed in it."""

_WORDS = {("workflow_wakeups", "kind"): frozenset(TIMERS)}
"""Columns that hold one of a few words that the program has as a closed set."""

_PRIORITIES = PRIORITY.low, PRIORITY.high

_RANGES: dict[tuple[str, str], tuple[int, int]] = {
    ("lab_clock", "offset_ms"): (-FURTHEST, FURTHEST),
    ("mns_messages", "visible_from"): (0, _HELD + _LARGEST),
    ("mns_messages", "priority"): _PRIORITIES,
    ("mns_tallies", "priority"): _PRIORITIES,
}
"""Columns of whole numbers with a range of their own."""


def unsound(reason: str) -> LabError:
    """Return the error for tables that are no state."""
    return LabError("InvalidCheckpoint", reason=reason)


def check_pages(tables: sqlite3.Connection) -> None:
    """Check the whole file with SQLite: pages, indexes, constraints, foreign keys.

    Raises: LabError (InvalidCheckpoint), sqlite3.Error.
    """
    verdict = str(tables.execute("PRAGMA integrity_check(1)").fetchone()[0])
    if verdict != "ok":
        raise unsound(f"its tables are damaged ({' '.join(verdict.split())[:100]})")
    if (row := tables.execute("PRAGMA foreign_key_check").fetchone()) is not None:
        raise unsound(f"a row of {row[0]} names one of {row[2]} that is not there")


def check_rows(tables: sqlite3.Connection) -> None:
    """Check the kind and range of every value, and that every reference names a row that exists.

    The tables have to have this program's schema.

    Raises: LabError (InvalidCheckpoint), sqlite3.Error.
    """
    tables.create_function("is_account", 1, _matching(ACCOUNT), deterministic=True)
    tables.create_function("is_region", 1, _matching(REGION), deterministic=True)
    names = [row[0] for row in tables.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()]
    for table in names:
        wrong = list(_wrong(tables, table))
        tests = ", ".join(f"max({test})" for _, test in wrong)
        found = tables.execute(f'SELECT {tests} FROM "{table}"').fetchone() if wrong else ()  # noqa: S608 - known names
        for (column, _), holds in zip(wrong, found, strict=True):
            if holds:
                raise unsound(f"{table}.{column} holds what cannot be there")
    for table, column, there in _NAMED:
        sql = f"SELECT 1 FROM {table} WHERE {column} NOT IN ({there}) LIMIT 1"  # noqa: S608 - constants
        if tables.execute(sql).fetchone() is not None:
            raise unsound(f"a row of {table} names a {column} that is not there")


def _wrong(tables: sqlite3.Connection, table: str) -> Iterator[tuple[str, str]]:
    """Yield the columns of a table, each with an SQL expression that is 1 for a row with an invalid value."""
    if table == "sqlite_sequence":
        yield "seq", f"typeof(seq) <> 'integer' OR seq NOT BETWEEN 0 AND {_LARGEST}"
        return
    for _, column, kind, _, _, _ in tables.execute(f'PRAGMA table_info("{table}")').fetchall():
        known = ", ".join(f"'{each}'" for each in (*_TYPES[kind.upper()], "null"))
        test = f'typeof("{column}") NOT IN ({known})'
        if kind.upper() == "INTEGER":
            low, high = _range(table, column)
            test += f' OR "{column}" NOT BETWEEN {low} AND {high}'
        elif words := _WORDS.get((table, column)):
            test += f' OR "{column}" NOT IN ({", ".join(f"{each!r}" for each in sorted(words))})'
        elif column in {"account", "region"}:
            test += f' OR NOT is_{column}("{column}")'
        yield column, f"ifnull({test}, 0)"


def _range(table: str, column: str) -> tuple[int, int]:
    of_its_kind = (0, int(FURTHEST)) if _TIMES.fullmatch(column) else (-_LARGEST, _LARGEST)
    return _RANGES.get((table, column), of_its_kind)


def _matching(pattern: "re.Pattern[str]") -> Callable[[object], bool]:
    return lambda text: isinstance(text, str) and pattern.fullmatch(text) is not None
