"""Every number of the security token service."""

from emulator.kernel.clock import HOUR
from emulator.kernel.paging import Range

DURATION_S = Range(900, 43_200, 3_600)
"""How long assumed credentials may last. 43,200 is the most a role can be set to allow."""

SESSION_NAME_LENGTH = Range(2, 64, 2)
POLICY_LENGTH = 2_048

FUNCTION_DURATION_S = 36 * 3_600
"""How long the credentials in a function's context last. Source: Function Compute, "Grant permissions"."""

MAX_KEYS = 50_000
"""Live temporary keys kept at most; more are refused as throttled. Assumed: a guard of this emulator."""

CACHED_KEYS = 2_048
CACHED_SESSIONS = 2_048

KEPT_EXPIRED_MS = HOUR
"""An expired key is still known for this long, so that its users learn that it has expired."""
