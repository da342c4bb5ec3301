"""Which subscriptions get a message, and when a failed delivery is retried: pure rules.

Source: MNS developer guide on filter tags; NotifyStrategy page.
"""

from collections.abc import Iterable

from emulator.kernel.clock import SECOND, Millis
from emulator.services.mns.limits import BACKOFF_GAP_S, BACKOFF_RETRIES, DECAY_GAPS_S, TOPIC_RETENTION_S
from emulator.services.mns.topics.model import NotifyStrategy, Subscription


def wants(filter_tag: str | None, tag: str | None) -> bool:
    """Whether a subscription with *filter_tag* gets a message with *tag*.

    Without a filter it gets every message, tagged or not; with one only those with the equal tag. That case matters is
    assumed.
    """
    return not filter_tag or filter_tag == tag


def subscribers(subscriptions: Iterable[Subscription], tag: str | None) -> list[Subscription]:
    """Return the subscriptions that get a message with *tag*."""
    return [item for item in subscriptions if wants(item.settings.filter_tag, tag)]


def retries(strategy: NotifyStrategy) -> int:
    """Return how often a failed delivery is tried again."""
    return BACKOFF_RETRIES if strategy is NotifyStrategy.BACKOFF else len(DECAY_GAPS_S)


def next_attempt(
    strategy: NotifyStrategy, failures: int, failed_at: Millis, published_at: Millis, draw: float, scale: float = 1.0
) -> Millis | None:
    """Return when a delivery that has failed *failures* times is tried again; None: never.

    The gap counts from the failure. *draw* in [0, 1) chooses within the back-off's range; *scale* shrinks or stretches
    every gap. A message older than a topic keeps its messages is not tried again.
    """
    if failures > retries(strategy):
        return None
    if strategy is NotifyStrategy.BACKOFF:
        gap_s = BACKOFF_GAP_S.low + draw * (BACKOFF_GAP_S.high - BACKOFF_GAP_S.low)
    else:
        gap_s = float(DECAY_GAPS_S[failures - 1])
    at = Millis(failed_at + round(gap_s * scale * SECOND))
    return at if at < published_at + TOPIC_RETENTION_S * SECOND else None
