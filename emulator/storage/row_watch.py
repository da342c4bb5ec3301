"""Watching which rows are written, by temporary triggers of this connection.

The triggers are not in the file, and without a watcher a statement costs nothing more. Stores need no code for it:
every write of a row is seen.
"""

import sqlite3
from collections.abc import Callable, Mapping

_FUNCTION = "localyun_row_is_written"

_EVENTS = (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD"))
"""The events of triggers, each with the alias of the row in it."""


def watch_rows(
    connection: sqlite3.Connection, names: Mapping[str, str], tell: Callable[[str], None]
) -> Callable[[], None]:
    """Call *tell* with the name of each row that *connection* writes, until the function that is returned is called.

    *names* has, by table, the SQL expression of a row's name, in which ``{row}`` stands for the row; rows whose name is
    NULL are left out. Tables not in it are not watched. Only outside a transaction, whose rollback would remove the
    triggers.

    Raises: sqlite3.OperationalError when there is no such table or column.
    """

    def written(name: str | None) -> None:
        if name is not None:
            tell(name)

    connection.create_function(_FUNCTION, 1, written)
    triggers = []
    for table, expression in names.items():
        for event, row in _EVENTS:
            trigger = f"localyun_{table}_{event}"
            connection.execute(
                f"CREATE TEMP TRIGGER {trigger} AFTER {event} ON main.{table} "
                f"BEGIN SELECT {_FUNCTION}({expression.format(row=row)}); END"
            )
            triggers.append(trigger)

    def stop() -> None:
        for trigger in triggers:
            connection.execute(f"DROP TRIGGER temp.{trigger}")
        connection.create_function(_FUNCTION, 1, None)

    return stop
