"""Reads every stored row, to validate a database that this emulator has not written itself, such as a checkpoint."""

from emulator.services.mns.queues.store import QueueStore
from emulator.services.mns.topics.store import TopicStore
from emulator.storage.database import Database


def read_through(database: Database) -> None:
    """Parse every row.

    Raises: any exception, for a row that cannot be parsed.
    """
    QueueStore(database).read_through()
    TopicStore(database).read_through()
