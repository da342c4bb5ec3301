"""Pending deliveries: each subscription has a lane of its own, with a timer for its next attempt.

A delivery is a row, written in the transaction of the publish; the row changes only when an attempt has ended. So a
crash at any moment repeats one attempt at most, and after a restart every delivery is tried at the time in its row.
Lanes share only a limit of open connections, of which each lane may always have one: a subscriber that hangs delays no
other.

Attempts, ended deliveries and their messages, and counts of them are remembered until the emulator stops: `History`.
"""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from typing import assert_never

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.ids import Ids
from emulator.kernel.tasks import TaskGroup
from emulator.kernel.timers import Timers
from emulator.kernel.tracing import because, begin, push_key
from emulator.kernel.turnstile import Unanswered
from emulator.services.mns.limits import PUSHES, PUSHES_PER_SUBSCRIPTION
from emulator.services.mns.topics.carrier import Carrier
from emulator.services.mns.topics.catalog import TopicRegistry
from emulator.services.mns.topics.history import History, made
from emulator.services.mns.topics.model import (
    Delivery,
    DeliveryId,
    DeliveryReport,
    DeliveryState,
    Outcome,
    Publication,
    Subscription,
    SubscriptionId,
    Topic,
    Try,
)
from emulator.services.mns.topics.publishing import next_attempt
from emulator.services.mns.topics.store import TopicStore
from emulator.storage.database import CommitFailed, Database

_log = logging.getLogger(__name__)

_REST_MS = 5 * SECOND
"""How long a lane pauses when the result of an attempt could not be stored; it would repeat the attempt otherwise."""


class _Lane:
    __slots__ = ("rest_until", "under_way")

    def __init__(self) -> None:
        self.under_way: dict[DeliveryId, asyncio.Task[None]] = {}
        self.rest_until = 0

    def cancel(self) -> None:
        for task in self.under_way.values():
            task.cancel()


class Courier:
    """Starts attempts when they are due and decides on retries. *scale* multiplies the gap before every retry."""

    def __init__(
        self,
        database: Database,
        store: TopicStore,
        registry: TopicRegistry,
        carrier: Carrier,
        timers: Timers,
        clock: Clock,
        ids: Ids,
        *,
        scale: float,
    ) -> None:
        self._database = database
        self._store = store
        self._registry = registry
        self._carrier = carrier
        self._timers = timers
        self._turns = timers.turns
        self._clock = clock
        self._ids = ids
        self._scale = scale
        self._tasks = TaskGroup("mns-push")
        self._lanes: dict[SubscriptionId, _Lane] = {}
        self._starved: dict[SubscriptionId, None] = {}
        self.under_way = 0
        """How many attempts are being made."""
        self._closed = True
        self.history = History()
        database.on_rollback(self._after_rollback)
        timers.on_step_back(self._clock_set_back)

    def start(self) -> None:
        """Resume pending deliveries: overdue attempts are made now, the others at their times."""
        self._closed = False
        for subscription_id in self._store.subscriptions_with_deliveries():
            self._pump(subscription_id)

    async def close(self) -> None:
        """Break off the attempts under way; their rows stay as they are."""
        self.stop()
        await self._tasks.close()

    def reset(self) -> None:
        """Break off and forget the attempts under way; the caller removes the rows."""
        for lane in self._lanes.values():
            lane.cancel()
        self.stop()
        self.history.clear()
        self._closed = False

    def stop(self) -> None:
        """Start no more attempts."""
        self._closed = True
        for subscription_id in list(self._lanes):
            self._timers.cancel(_timer(subscription_id))
        self._lanes.clear()
        self._starved.clear()

    def dispatch(
        self, topic: Topic, publication: Publication, subscriptions: Sequence[Subscription], now: Millis
    ) -> None:
        """Deliver a message to *subscriptions*: to queues and the outbox now, to the others after the commit."""
        rows: list[tuple[SubscriptionId, int, Millis, str]] = []
        for subscription in subscriptions:
            # one whose order is chosen is on its way like any other
            outcome = None if self._turns.varies("push") else self._carrier.carry_now(subscription, publication)
            if outcome is None:
                rows.append((subscription.subscription_id, 0, now, ""))
                continue
            self.history.count(subscription, publication, 1, outcome)
            if outcome.delivered:
                self.history.end(subscription, publication, "delivered", (made(1, now, outcome),))
            elif (next_at := self._next(subscription, publication, 1, now)) is not None:
                rows.append((subscription.subscription_id, 1, next_at, outcome.detail))
        if rows:
            self._store.add_deliveries(self._store.add_publication(topic.topic_id, publication), rows)
            self._registry.counted(topic.topic_id, 1)
            self._database.after_commit(partial(self._committed, [row[0] for row in rows]))

    def forget(self, subscription_id: SubscriptionId) -> None:
        """Cancel and forget all deliveries to a removed subscription."""
        lane = self._lanes.pop(subscription_id, None)
        self._timers.cancel(_timer(subscription_id))
        self._starved.pop(subscription_id, None)
        self.history.forget(subscription_id)
        if lane is not None:
            lane.cancel()

    def redeliver(self, subscription: Subscription, message_id: str, now: Millis) -> bool:
        """Make the next attempt at a delivery now, or repeat an ended one; return False for an unknown message."""
        subscription_id = subscription.subscription_id
        pending = self._store.delivery_of(subscription_id, message_id)
        if pending is not None:
            self._store.hasten(pending, now)
        else:
            publication = self.history.publication(message_id)
            if publication is None:
                return False
            again = self._store.add_publication(subscription.topic_id, publication)
            self._store.add_deliveries(again, [(subscription_id, 0, now, "")])
            self._registry.counted(subscription.topic_id, 1)
        self._database.after_commit(partial(self._committed, [subscription_id]))
        return True

    def reports(self, subscription: Subscription, limit: int) -> list[DeliveryReport]:
        """Return pending deliveries, then ended ones, newest first."""
        return self.history.reports(subscription, self._store.pending(subscription.subscription_id, limit), limit)

    def attempts_under_way(self) -> list[tuple[str, str, str]]:
        """Return the attempts being made: topic, subscription, endpoint."""
        subscriptions = (
            self._store.subscription_by_id(number) for number, lane in self._lanes.items() for _ in lane.under_way
        )
        return [(each.topic_name, each.name, each.settings.endpoint) for each in subscriptions if each is not None]

    def _committed(self, subscription_ids: list[SubscriptionId], failure: CommitFailed | None) -> None:
        if failure is None:
            for subscription_id in subscription_ids:
                self._pump(subscription_id)

    def _after_rollback(self) -> None:
        """Start every lane anew after a pause: removed rows may be back, and postponed ones may be due."""
        if not self._closed:
            resting = Millis(self._clock.now() + _REST_MS)
            for subscription_id in self._store.subscriptions_with_deliveries():
                self._rest(subscription_id, resting)

    def _clock_set_back(self, before: Millis) -> None:
        """Make due now what was due before the clock was set back, which would wait for the old time otherwise."""
        if not self._closed:
            self._store.keep_due(self._clock.now(), before)
            for lane in self._lanes.values():
                lane.rest_until = 0
            self._database.after_commit(partial(self._committed, self._store.subscriptions_with_deliveries()))

    def _rest(self, subscription_id: SubscriptionId, until: Millis) -> None:
        lane = self._lanes.setdefault(subscription_id, _Lane())
        lane.rest_until = until
        self._timers.call_at(until, _timer(subscription_id), partial(self._pump, subscription_id))

    def _pump(self, subscription_id: SubscriptionId) -> None:
        """Start the attempts that are due, as many as there is room for, and arm the timer for the next one."""
        now = self._clock.now()
        if self._closed:
            return
        lane = self._lanes.setdefault(subscription_id, _Lane())
        if lane.rest_until > now:
            return
        room = self._room(lane)
        wanted = room + len(lane.under_way)
        due = self._store.due(subscription_id, now, wanted) if room else []
        for delivery_id in due:
            if room and delivery_id not in lane.under_way:
                room -= 1
                self.under_way += 1
                task = self._tasks.spawn(
                    self._attempt(subscription_id, delivery_id), f"{subscription_id}/{delivery_id}"
                )
                lane.under_way[delivery_id] = task
                # not in a finally of the attempt: one that is called off before it starts never gets there
                task.add_done_callback(partial(self._ended, subscription_id, lane, delivery_id))
        if not room and len(lane.under_way) < PUSHES_PER_SUBSCRIPTION:
            self._starved[subscription_id] = None
        next_at = self._store.next_due(subscription_id, now)
        if next_at is not None:
            self._timers.call_at(next_at, _timer(subscription_id), partial(self._pump, subscription_id))
        elif not lane.under_way:
            self._lanes.pop(subscription_id, None)

    def _room(self, lane: _Lane) -> int:
        own = PUSHES_PER_SUBSCRIPTION - len(lane.under_way)
        if own <= 0:
            return 0
        shared = min(own, PUSHES - self.under_way)
        return max(shared, 0 if lane.under_way else 1)

    async def _attempt(self, subscription_id: SubscriptionId, delivery_id: DeliveryId) -> None:
        try:
            subscription = self._store.subscription_by_id(subscription_id)
            delivery = self._store.delivery(delivery_id)
            if subscription is not None and delivery is not None:
                begin(delivery.publication.trace)
                because(push_key(delivery.publication.message_id, subscription.name, delivery.attempts + 1))
                if self._turns.active:
                    outcome = await self._in_turn(subscription, delivery)
                else:
                    outcome = await self._carrier.carry(subscription, delivery.publication)
                await self._database.writable()  # or the attempt would be made again
                self._conclude(subscription, delivery, outcome)
        except Exception:
            _log.exception("delivery %d of subscription %d failed inside the emulator", delivery_id, subscription_id)
            self._rest(subscription_id, Millis(self._clock.now() + _REST_MS))

    async def _in_turn(self, subscription: Subscription, delivery: Delivery) -> Outcome:
        """Make an attempt in its turn of a schedule of effects."""
        publication = delivery.publication
        name = f"{subscription.topic_name}/{subscription.name}#{delivery.attempts + 1}"
        return await self._turns.made(
            "push",
            name,
            partial(self._carrier.carry, subscription, publication),
            _unanswered,
            detail=publication.body,
            touches=subscription.settings.endpoint,
        )

    def _ended(
        self, subscription_id: SubscriptionId, lane: _Lane, delivery_id: DeliveryId, task: "asyncio.Task[None]"
    ) -> None:
        self.under_way -= 1
        lane.under_way.pop(delivery_id, None)
        while self._starved and self.under_way < PUSHES:  # the subscriptions that have waited come first
            waiting = next(iter(self._starved))
            del self._starved[waiting]
            if waiting in self._lanes:
                self._pump(waiting)
        if self._lanes.get(subscription_id) is lane:
            self._pump(subscription_id)

    def _conclude(self, subscription: Subscription, delivery: Delivery, outcome: Outcome) -> None:
        now = self._clock.now()
        attempts = delivery.attempts + 1
        publication = delivery.publication
        self.history.count(subscription, publication, attempts, outcome)
        tries = self.history.tried(delivery.delivery_id, attempts, now, outcome)
        if outcome.delivered:
            self._end(subscription, delivery, "delivered", tries)
            return
        next_at = self._next(subscription, publication, attempts, now)
        if next_at is not None:
            self.history.keep(delivery.delivery_id, tries)
            self._store.postpone(delivery.delivery_id, attempts, next_at, outcome.detail)
            return
        letter = self._carrier.send_dead_letter(subscription, publication)
        state: DeliveryState = "dead-lettered" if letter is not None and letter.delivered else "dropped"
        detail = outcome.detail if letter is None else f"{outcome.detail}; {letter.detail}"
        _log.warning(
            "message %s for subscription %s of topic %s is %s after %d attempts: %s",
            publication.message_id, subscription.name, subscription.topic_name, state, attempts, detail,
        )  # fmt: skip
        self._end(subscription, delivery, state, tries, detail)

    def _end(
        self, subscription: Subscription, delivery: Delivery, state: DeliveryState, tries: tuple[Try, ...],
        detail: str = "",
    ) -> None:  # fmt: skip
        if self._store.settle(delivery.delivery_id, delivery.publication_id):
            self._registry.counted(subscription.topic_id, -1)
        self.history.end(subscription, delivery.publication, state, tries, detail)

    def _next(self, subscription: Subscription, publication: Publication, failures: int, now: Millis) -> Millis | None:
        strategy = subscription.settings.strategy
        return next_attempt(strategy, failures, now, publication.published_at, self._ids.fraction(), self._scale)


def _timer(subscription_id: SubscriptionId) -> tuple[str, SubscriptionId]:
    return ("mns-push", subscription_id)


def _unanswered(verdict: Unanswered) -> Outcome:
    match verdict:
        case "lost-before":
            detail = "the connection was lost before the message was sent"
        case "lost-after":
            detail = "the connection was lost, and no answer has come"
        case "throttle":
            detail = "the receiver refuses more requests for now"
        case _:
            assert_never(verdict)
    return Outcome(delivered=False, detail=detail)
