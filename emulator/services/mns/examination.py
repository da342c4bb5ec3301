"""Reading all that the service keeps as a start reads it: what is not of this program's making may hold anything."""

from emulator.services.mns.queues.store import QueueStore
from emulator.services.mns.topics.store import TopicStore
from emulator.storage.database import Database


def read_through(database: Database) -> None:
    """Read every row as what it stands for.

    Raises: whatever a row leads to that stands for nothing.
    """
    QueueStore(database).read_through()
    TopicStore(database).read_through()
