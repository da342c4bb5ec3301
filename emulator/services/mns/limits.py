"""The limits of the message service.

Source: MNS limits page, parameter tables of the API reference; values marked "assumed" are not documented.
"""

from emulator.kernel.frozen import frozen
from emulator.kernel.paging import Range

DELAY_S = Range(0, 604_800, 0)
MESSAGE_SIZE = Range(1_024, 65_536, 65_536)
RETENTION_S = Range(60, 604_800, 345_600)
VISIBILITY_TIMEOUT_S = Range(1, 43_200, 30)
POLLING_WAIT_S = Range(0, 30, 0)
LIST_PAGE = Range(1, 1_000, 1_000)

MAX_RECEIVES = Range(1, 1_000, 16)
"""How often a message is received before it goes to the dead-letter queue. Source: assumed."""


PRIORITY = Range(1, 16, 8)
BATCH = Range(1, 16, 1)
BATCH_BYTES = 65_536
USER_PROPERTIES = 50
PROPERTY_NAME_LENGTH = 256
PROPERTY_VALUE_LENGTH = 4_096
GROUP_ID_LENGTH = 256
"""Source: assumed."""


POLL_MARGIN_MS = 120
"""An empty poll is answered this much before its time is over, never after. Source: observed, 0.87-0.88 s for 1 s."""

PARKED_POLLS = 10_000
"""More receivers than this waiting at one queue are answered at once. Source: documented without the number."""


SWEEP_ROWS = 200
"""Rows removed in one go, so that other requests never wait long behind a sweep."""

SWEEP_PAUSE_MS = 5
SWEEP_GRAIN_MS = 1_000
"""Expired messages are removed at the next full second; no answer shows them once they have expired."""


@frozen
class Profile:
    """Rules on which documents and clients disagree: the length of a queue's name, and whether priority 0 means unset.

    The Go client always sends a priority, 0 when the caller gave none.
    """

    queue_name_length: int
    zero_priority_is_default: bool


RELAXED = Profile(queue_name_length=256, zero_priority_is_default=True)
STRICT = Profile(queue_name_length=120, zero_priority_is_default=False)


TOPIC_RETENTION_S = 86_400
"""How long a topic keeps a message; it cannot be changed."""

SUBSCRIPTIONS = 100
"""Subscriptions of one topic."""

SUBSCRIPTION_NAME_LENGTH = 255
TAG_LENGTH = 16
ATTRIBUTES_BYTES = 65_536
"""Message attributes of one message, names and texts together. Source: assumed, as large as a message."""

ENDPOINT_LENGTH = 2_048
"""Source: assumed."""


PUSH_TIMEOUT_S = 5
"""The time-out of a push, in seconds; the push is tried again. Source: FAQ on push time-outs."""

BACKOFF_RETRIES = 3
BACKOFF_GAP_S = Range(10, 20, 15)
DECAY_GAPS_S = tuple(2**power for power in range(9)) + (512,) * 167
"""1, 2, 4 ... 256 seconds, then 512 seconds each: 176 retries, a little under a day."""


PUSHES_PER_SUBSCRIPTION = 16
PUSHES = 256
"""Pushes under way at once, of one subscription and of all; every subscription may always have one."""

HISTORY = 50
"""Ended deliveries remembered per subscription, for the admin API."""

TRIES = 5
"""Attempts remembered of a delivery, the latest ones."""

BODY_SHOWN = 4096
"""Characters of a message's body in a report; bytes of a push's request and answer."""

OUTBOX = 1_000
"""Mails, short messages and mobile notifications kept for the admin API, in one account and region."""

PURGE_ROWS = 200
PURGE_AT_ONCE = 20
"""Deleted subscriptions whose deliveries are removed in one turn of the loop."""

PURGE_PAUSE_MS = 5
"""The pause between portions in which deliveries of deleted subscriptions are removed, for other requests."""
