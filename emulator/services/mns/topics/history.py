"""The history of deliveries, kept until the emulator stops: attempts, ended deliveries with their messages, counts."""

import logging
from collections import deque
from collections.abc import Sequence

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import replace
from emulator.kernel.metering import Tally
from emulator.services.mns.limits import BODY_SHOWN, HISTORY, TRIES
from emulator.services.mns.topics.model import (
    DeliveryId,
    DeliveryReport,
    DeliveryState,
    Outcome,
    Publication,
    Subscription,
    SubscriptionId,
    Try,
    kind_of,
)

_log = logging.getLogger(__name__)

_ATTEMPT_LINE = (
    "attempt %(attempt)d to deliver message %(message_id)s to subscription %(subscription)s of topic %(topic)s"
    " %(result)s: %(detail)s"
)

_TRIED_KEPT = 1000
"""How many pending deliveries' attempts are remembered."""

_PUBLISHED_KEPT = 8 * 1024 * 1024
"""How many bytes of messages are remembered after their last delivery has ended, to redeliver them on demand."""


class History:
    """The latest attempts at pending deliveries, the latest ended deliveries, and counts of both since the start."""

    def __init__(self) -> None:
        self.attempts: dict[tuple[str, str], int] = {}
        """Attempts since the start by kind of endpoint and result."""
        self.pushes = Tally()
        """Attempts since the start by topic and kind of endpoint."""
        self.ended: dict[str, int] = {}
        """Deliveries that have ended since the start, by result."""
        self._reports: dict[SubscriptionId, deque[DeliveryReport]] = {}
        self._tries: dict[DeliveryId, tuple[Try, ...]] = {}
        self._published: dict[str, Publication] = {}
        self._published_bytes = 0

    def clear(self) -> None:
        """Forget everything but the counts."""
        self._reports.clear()
        self._tries.clear()
        self._published.clear()
        self._published_bytes = 0

    def forget(self, subscription_id: SubscriptionId) -> None:
        """Forget the ended deliveries of a subscription."""
        self._reports.pop(subscription_id, None)

    def count(self, subscription: Subscription, publication: Publication, attempt: int, outcome: Outcome) -> None:
        """Count an attempt and log it."""
        key = kind_of(subscription.settings.endpoint), "delivered" if outcome.delivered else "failed"
        self.attempts[key] = self.attempts.get(key, 0) + 1
        self.pushes.add("mns.pushes", f"topics/{subscription.topic_name}", key[0])
        _log.info(
            _ATTEMPT_LINE,
            {
                "attempt": attempt, "message_id": publication.message_id, "subscription": subscription.name,
                "topic": subscription.topic_name, "result": key[1], "detail": outcome.detail,
                "trace": publication.trace,
            },
        )  # fmt: skip

    def tried(self, delivery_id: DeliveryId, number: int, at: Millis, outcome: Outcome) -> tuple[Try, ...]:
        """Return the latest attempts at a delivery with this one, and forget them; `keep` stores them again."""
        return (*self._tries.pop(delivery_id, ()), made(number, at, outcome))[-TRIES:]

    def keep(self, delivery_id: DeliveryId, tries: tuple[Try, ...]) -> None:
        """Remember the attempts at a pending delivery; beyond a limit, those of the oldest delivery are dropped."""
        self._tries[delivery_id] = tries
        if len(self._tries) > _TRIED_KEPT:
            del self._tries[next(iter(self._tries))]

    def end(
        self, subscription: Subscription, publication: Publication, state: DeliveryState, tries: tuple[Try, ...],
        detail: str = "",
    ) -> None:  # fmt: skip
        """Remember a delivery that has ended with the last of *tries*; *detail* replaces the result of that attempt."""
        last = tries[-1]
        self.ended[state] = self.ended.get(state, 0) + 1
        self._keep_published(publication)
        reports = self._reports.setdefault(subscription.subscription_id, deque(maxlen=HISTORY))
        reports.append(
            DeliveryReport(
                delivery_id=DeliveryId(0),
                message_id=publication.message_id,
                body=publication.body[:BODY_SHOWN],
                tag=publication.tag,
                endpoint=subscription.settings.endpoint,
                tries=tries,
                published_at=publication.published_at,
                state=state,
                attempts=last.number,
                last_result=detail or last.detail,
                ended_at=last.at,
            )
        )

    def publication(self, message_id: str) -> Publication | None:
        """Return a message of an ended delivery, if it is still remembered."""
        return self._published.get(message_id)

    def reports(
        self, subscription: Subscription, pending: Sequence[DeliveryReport], limit: int
    ) -> list[DeliveryReport]:
        """Return *pending* with endpoint and attempts, then the ended deliveries of a subscription, newest first."""
        endpoint = subscription.settings.endpoint
        complete = [
            replace(each, body=each.body[:BODY_SHOWN], endpoint=endpoint, tries=self._tries.get(each.delivery_id, ()))
            for each in pending
        ]
        return [*complete, *reversed(self._reports.get(subscription.subscription_id, ()))][:limit]

    def _keep_published(self, publication: Publication) -> None:
        """Remember a message, and drop the oldest ones beyond the limit of bytes."""
        if publication.message_id in self._published:
            return
        self._published[publication.message_id] = publication
        self._published_bytes += len(publication.body)
        while self._published_bytes > _PUBLISHED_KEPT:
            self._published_bytes -= len(self._published.pop(next(iter(self._published))).body)


def made(number: int, at: Millis, outcome: Outcome) -> Try:
    """Return the record of an attempt with its result."""
    return Try(number=number, at=at, delivered=outcome.delivered, detail=outcome.detail, push=outcome.push)
