"""What deleted subscriptions leave behind is removed in small portions, between other requests."""

from collections import deque

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.timers import Timers
from emulator.services.mns.topic_limits import PURGE_PAUSE_MS, PURGE_ROWS
from emulator.services.mns.topic_model import SubscriptionId
from emulator.services.mns.topic_registry import TopicRegistry
from emulator.services.mns.topic_store import DeliveryStore

_TIMER = ("mns", "remains")


class Remains:
    """Removes the deliveries of deleted subscriptions; a crash on the way only delays that."""

    def __init__(self, registry: TopicRegistry, store: DeliveryStore, timers: Timers, clock: Clock) -> None:
        self._registry = registry
        self._store = store
        self._timers = timers
        self._clock = clock
        self._waiting: deque[SubscriptionId] = deque()

    def start(self) -> None:
        """Go on with what an earlier run has left."""
        self._waiting.extend(self._store.deleted_subscriptions())
        self._arm()

    def close(self) -> None:
        """Remove no more; the next start goes on."""
        self._timers.cancel(_TIMER)
        self._waiting.clear()

    def remove(self, subscription_id: SubscriptionId) -> None:
        """Remove the first portion now and the others bit by bit."""
        if not self._purge(subscription_id):
            self._waiting.append(subscription_id)
            self._arm()

    def _purge(self, subscription_id: SubscriptionId) -> bool:
        done = self._store.purge(subscription_id, PURGE_ROWS)
        self._registry.recount()
        return done

    def _fire(self) -> None:
        if self._purge(self._waiting[0]):
            self._waiting.popleft()
        self._arm()

    def _arm(self) -> None:
        if self._waiting:
            self._timers.call_at(Millis(self._clock.now() + PURGE_PAUSE_MS), _TIMER, self._fire)
