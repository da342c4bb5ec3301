"""Every number of topics, subscriptions and pushes.

Source: MNS limits page, HttpEndpoint and NotifyStrategy pages; what is marked "assumed" is not documented.
"""

from emulator.kernel.paging import Range

# --- topics and subscriptions ------------------------------------------------------------------------------------

RETENTION_S = 86_400
"""How long a topic keeps a message; nobody can change it."""

SUBSCRIPTIONS = 100
"""Subscriptions of one topic."""

SUBSCRIPTION_NAME_LENGTH = 255
TAG_LENGTH = 16
ATTRIBUTES_BYTES = 65_536
"""Message attributes of one message, names and texts together. Source: assumed, as large as a message."""

ENDPOINT_LENGTH = 2_048
"""Source: assumed."""

# --- pushes ------------------------------------------------------------------------------------------------------

PUSH_TIMEOUT_S = 5
"""What has not answered by then is tried again. Source: FAQ on push time-outs."""

BACKOFF_RETRIES = 3
BACKOFF_GAP_S = Range(10, 20, 15)
DECAY_GAPS_S = tuple(2**power for power in range(9)) + (512,) * 167
"""1, 2, 4 ... 256 seconds, then 512 seconds each: 176 retries, a little under a day."""

# --- ours --------------------------------------------------------------------------------------------------------

PUSHES_PER_SUBSCRIPTION = 16
PUSHES = 256
"""Pushes under way at once, of one subscription and of all; every subscription may always have one."""

HISTORY = 50
"""Ended deliveries remembered per subscription, for people who look."""

OUTBOX = 1_000
"""Mails, short messages and mobile notifications kept for people who look, in one account and region."""

PURGE_ROWS = 200
PURGE_PAUSE_MS = 5
"""What deleted subscriptions leave behind is removed in portions, so that other requests never wait long."""
