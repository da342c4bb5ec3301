"""The numbers and name rules a definition is held to.

Source: limits, Serverless Workflow guide, where not marked as assumed.
"""

import re
from typing import Final

from emulator.kernel.paging import Range

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,127}\Z")
"""Names of flows and executions; for steps the same rule is assumed."""

NAME_RULE: Final = "1 to 128 letters, digits, '_' or '-', a letter or '_' first"

VERSIONS: Final = ("v1", "v1beta1", "v1.0")
"""Three names of one language: its name, its preview name and the one of the API reference."""

YEAR_S: Final = 31_536_000
"""The longest execution, in seconds."""

TIMEOUT_S: Final = Range(1, YEAR_S, YEAR_S)
"""``timeoutSeconds`` of a flow or task; the upper end for tasks is assumed."""

WAIT_S: Final = Range(0, 172_800, 0)
"""``duration`` of a wait; that 0 is taken is assumed."""

BRANCHES: Final = Range(1, 100, 1)
"""Branches of a parallel."""

RETRY_INTERVAL_S: Final = Range(0, 86_400, 1)
RETRY_MAX_INTERVAL_S: Final = Range(0, 86_400, 86_400)
RETRY_ATTEMPTS: Final = Range(0, 2**31 - 1, 3)
RETRY_MULTIPLIER: Final = Range(1, 2**31 - 1, 2)
"""The upper ends of attempts and multiplier are assumed: they keep the arithmetic finite."""

DELAY_S: Final = Range(0, 604_800, 0)
PRIORITY: Final = Range(1, 16, 8)
"""``DelaySeconds`` and ``Priority`` of a message sent to a queue."""

MAX_NODES: Final = 250_000
"""Scalars, lists and maps of one document, aliases expanded: plenty for a flow that fills a request. Assumed."""

MAX_DEPTH: Final = 128
"""Levels of lists and maps in one document; assumed."""

MAX_NUMBER_CHARS: Final = 300
"""Length of a number; longer ones do not fit a double. Assumed."""
