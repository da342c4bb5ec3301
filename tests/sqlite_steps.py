"""Counting what SQLite does: steps of its machine, which grow with the rows that are looked at, whatever the time."""

from collections.abc import Iterator
from contextlib import contextmanager

from emulator.storage.database import Database


@contextmanager
def counted_steps(database: Database) -> Iterator[list[int]]:
    """Count the steps in the first place of the list, until the block ends."""
    count = [0]

    def step() -> int:
        count[0] += 1
        return 0

    database._connection.set_progress_handler(step, 1)
    try:
        yield count
    finally:
        database._connection.set_progress_handler(None, 0)
