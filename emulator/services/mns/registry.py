"""Queues in use: what is kept in memory about each, made from the tables on first use.

Everything here can be made again at any time; it is dropped when a commit fails.
"""

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.services.mns.counting import Tally
from emulator.services.mns.errors import QueueNotExist
from emulator.services.mns.model import Queue, QueueId
from emulator.services.mns.store import Store
from emulator.storage.database import Database

REMEMBERED = 10_000
"""Queues with as many messages are not counted again after an orderly end."""


class LiveQueue:
    """A queue in use: its stored form and its counters."""

    __slots__ = ("queue", "tally")

    def __init__(self, queue: Queue, tally: Tally) -> None:
        self.queue = queue
        self.tally = tally


class Registry:
    """Finds queues by name and by number."""

    def __init__(self, database: Database, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._by_name: dict[tuple[str, str, str], LiveQueue] = {}
        self._by_id: dict[QueueId, LiveQueue] = {}
        database.on_rollback(self.forget)

    def find(self, tenant: Tenant, name: str) -> LiveQueue:
        """Return a queue.

        Raises: QueueNotExist.
        """
        live = self._by_name.get((tenant.account, tenant.region, name))
        if live is not None:
            return live
        queue = self._store.queue(tenant, name)
        if queue is None:
            raise QueueNotExist
        return self.keep(queue)

    def find_by_id(self, queue_id: QueueId) -> LiveQueue | None:
        """Return a queue, or None when it has been deleted."""
        live = self._by_id.get(queue_id)
        if live is not None:
            return live
        queue = self._store.queue_by_id(queue_id)
        return None if queue is None else self.keep(queue)

    def keep(self, queue: Queue) -> LiveQueue:
        """Take a stored queue into use; its counters are made from the tables."""
        live = LiveQueue(queue, self._count(queue.queue_id, self._clock.now()))
        self._by_name[queue.tenant.account, queue.tenant.region, queue.name] = live
        self._by_id[queue.queue_id] = live
        return live

    def in_use(self) -> list[LiveQueue]:
        """Return the queues that are in memory."""
        return list(self._by_id.values())

    def drop(self, queue: Queue) -> None:
        """Forget a deleted queue."""
        self._by_name.pop((queue.tenant.account, queue.tenant.region, queue.name), None)
        self._by_id.pop(queue.queue_id, None)

    def forget(self) -> None:
        """Forget every queue; the tables are asked again."""
        self._by_name.clear()
        self._by_id.clear()

    def remember(self) -> None:
        """Store the numbers of large queues at the end of a run: counting a million messages takes a while."""
        for queue_id, live in self._by_id.items():
            if live.tally.total >= REMEMBERED:
                self._store.put_tally(queue_id, live.tally.numbers())

    def _count(self, queue_id: QueueId, now: Millis) -> Tally:
        tally = Tally()
        for priority, number in self._store.take_tally(queue_id) or self._store.numbers(queue_id):
            tally.added(priority, number)
            for visible_from, hidden, received in self._store.hidden_numbers(queue_id, priority, now):
                if received:
                    tally.hidden(visible_from, now, received=True, number=received)
                if hidden > received:
                    tally.hidden(visible_from, now, received=False, number=hidden - received)
        return tally
