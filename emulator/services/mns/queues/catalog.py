"""Queues: created, changed, looked at, listed, deleted."""

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.frozen import replace
from emulator.kernel.identity import Tenant
from emulator.kernel.paging import Page, cut
from emulator.services.mns import limits
from emulator.services.mns.errors import MnsError, QueueNotExist
from emulator.services.mns.ports import ResourceWatcher
from emulator.services.mns.queues.dead_letters import DeadLetters
from emulator.services.mns.queues.live_queues import LiveQueue, QueueRegistry
from emulator.services.mns.queues.model import (
    QUEUE,
    Change,
    Counters,
    QueueSettings,
    QueueView,
    check_queue_name,
    page_size,
    same_settings,
    settled,
)
from emulator.services.mns.queues.retention import Retention
from emulator.services.mns.queues.store import QueueStore, Wanted
from emulator.services.mns.queues.visibility import expiry_bound
from emulator.services.mns.queues.waiters import LongPolls


class Queues:
    """The queues of every tenant."""

    def __init__(
        self,
        registry: QueueRegistry,
        store: QueueStore,
        retention: Retention,
        dead_letters: DeadLetters,
        waiters: LongPolls,
        clock: Clock,
        profile: limits.Profile,
    ) -> None:
        self._registry = registry
        self._store = store
        self._retention = retention
        self._dead_letters = dead_letters
        self._waiters = waiters
        self._clock = clock
        self._profile = profile
        self.watcher: ResourceWatcher | None = None
        """Is told of new queues."""

    def view(self, tenant: Tenant, name: str) -> QueueView:
        """Return a queue and its counters.

        Raises: QueueNotExist.
        """
        return self._view(self._registry.find(tenant, name), self._clock.now())

    def page(self, tenant: Tenant, *, prefix: str = "", start: str = "", limit: int | None = None) -> Page[QueueView]:
        """Return queues by name, from the name *start* on; the page's marker is the first name of the next page.

        Raises: InvalidArgument for a limit outside 1..1000. Source: order and refusal assumed.
        """
        now = self._clock.now()
        part = self.names(tenant, prefix=prefix, start=start, limit=limit)
        return Page([self._view(live, now) for live in self._registry.find_all(tenant, part.items)], part.next_marker)

    def numbered(self, tenant: Tenant, wanted: Wanted, skipped: int, limit: int) -> tuple[list[QueueView], int]:
        """Return up to *limit* *wanted* queues by name, after the first *skipped*, and the number of all wanted."""
        now = self._clock.now()
        names = self._store.names(tenant, wanted, start="", limit=limit, skipped=skipped)
        views = [self._view(live, now) for live in self._registry.find_all(tenant, names)]
        return views, self._store.count(tenant, wanted)

    def names(self, tenant: Tenant, *, prefix: str = "", start: str = "", limit: int | None = None) -> Page[str]:
        """Return the names of the queues that `page` returns, without computing their counters.

        Raises: InvalidArgument for a limit outside 1..1000.
        """
        size = page_size(limit)
        return cut(self._store.names(tenant, Wanted(prefix), start=start, limit=size + 1), size, str)

    def create(self, tenant: Tenant, name: str, change: Change) -> bool:
        """Create a queue; return whether it is new (False: it existed with the same attributes).

        Raises: InvalidQueueName, QueueNameLengthError, InvalidArgument, QueueAlreadyExist.
        """
        check_queue_name(name, self._profile)
        change = settled(change, name)
        existing = self._store.queue(tenant, name)
        if existing is None:
            settings = replace(QueueSettings(), **change)
            self._registry.keep(self._store.add_queue(tenant, name, settings, self._clock.now()))
            if self.watcher is not None:
                self.watcher.queue_made(tenant, name)
            return True
        if not same_settings(QUEUE, existing.settings, change):
            raise MnsError("QueueAlreadyExist")
        return False

    def change(self, tenant: Tenant, name: str, change: Change) -> None:
        """Change attributes of a queue.

        A new retention applies to stored messages that have not expired, other attributes to later operations only.
        Source: assumed.

        Raises: QueueNotExist, InvalidArgument.
        """
        live = self._registry.find(tenant, name)
        change = settled(change, name)
        before = live.queue.settings
        now = self._clock.now()
        changed = replace(live.queue, settings=replace(before, **change), modified_at=now)
        if changed.settings.retention_s > before.retention_s:
            while not self._retention.sweep(live, now):  # a longer retention revives nothing
                pass
        self._store.put_queue(changed)
        live.queue = changed
        if changed.settings.retention_s != before.retention_s:
            self._retention.replan(changed)
        if changed.settings.dead_letter != before.dead_letter:
            self._dead_letters.replan(changed.queue_id)

    def delete(self, tenant: Tenant, name: str) -> None:
        """Delete a queue and its messages; its parked receivers get QueueNotExist.

        Deleting a missing queue succeeds. Source: assumed; no client knows an error.
        """
        try:
            queue = self._registry.find(tenant, name).queue
        except QueueNotExist:
            return
        self._store.remove_queue(queue.queue_id)
        self._registry.drop(queue)
        self._retention.purge(queue.queue_id)
        self._waiters.dismiss(queue.queue_id, QueueNotExist())

    def _view(self, live: LiveQueue, now: Millis) -> QueueView:
        """Return a queue with exact counters: expired messages are removed first or, if there are many, subtracted."""
        everything_removed = self._retention.sweep(live, now)
        counters = live.tally.counters(now)
        if not everything_removed:
            bound = expiry_bound(live.queue.settings, now)
            expired = self._store.expired_numbers(live.queue.queue_id, bound, now)
            counters = Counters(
                active=counters.active - expired.active,
                inactive=counters.inactive - expired.inactive,
                delayed=counters.delayed - expired.delayed,
            )
        return QueueView(queue=live.queue, counters=counters)
