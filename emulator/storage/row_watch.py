"""Naming the rows that are written, while somebody looks: by triggers of this connection alone.

Nothing of them is in the file, and a statement costs what it did before once they are gone. Stores need not say
anything: whatever writes a row is seen.
"""

import sqlite3
from collections.abc import Callable, Mapping

_FUNCTION = "localyun_row_is_written"

_EVENTS = (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD"))
"""What can happen to a row, and how a trigger calls it then."""


def watch_rows(
    connection: sqlite3.Connection, names: Mapping[str, str], tell: Callable[[str], None]
) -> Callable[[], None]:
    """Call *tell* with the name of each row that *connection* writes, until the function that is returned is called.

    *names* has for a table an SQL expression of what its rows are called, in which ``{row}`` is the row; one that is
    NULL is not told. Tables that are not in it are not watched. Outside a transaction only, as a rollback would undo
    it.

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
