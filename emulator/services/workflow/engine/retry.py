"""Retry and catch: which policy answers an error, and how long the next attempt waits.

Source: error handling, Serverless Workflow guide and best practices (10 s, 20 s, 40 s for interval 10, multiplier 2).
That all retries of a step share one counter is assumed.
"""

from collections.abc import Sequence

from emulator.kernel.clock import Millis
from emulator.services.workflow.definition.nodes import CatchPolicy, RetryPolicy

ANY_ERROR = "FnF.ALL"
"""In a policy's list: matches every error."""


def matches(errors: Sequence[str], error: str) -> bool:
    """Tell whether a policy that lists *errors* is for *error*.

    Names are compared exactly, but for the prefix of child flows' errors, which the vendor writes as ``FnF.`` and
    ``fnf.``.
    """
    if ANY_ERROR in errors or error in errors:
        return True
    if error[:4].lower() != "fnf.":
        return False
    rest = error[4:]
    return any(name[:4].lower() == "fnf." and name[4:] == rest for name in errors)


def retry_at(policies: Sequence[RetryPolicy], error: str, retries: int, failed_at: Millis) -> Millis | None:
    """Return the instant of the next attempt, or None when no retry is left.

    *retries* counts those the step entry has had. Only the first policy that matches is asked; the wait before retry
    *k* is interval x multiplier^(k-1), at most the policy's maximum.
    """
    policy = next((policy for policy in policies if matches(policy.errors, error)), None)
    if policy is None or retries >= policy.max_attempts:
        return None
    try:
        wait_s = min(policy.interval_s * policy.multiplier**retries, policy.max_interval_s)
    except OverflowError:
        wait_s = policy.max_interval_s
    return Millis(failed_at + round(wait_s * 1000))


def catch_for(policies: Sequence[CatchPolicy], error: str) -> CatchPolicy | None:
    """Return the first policy that matches *error*."""
    return next((policy for policy in policies if matches(policy.errors, error)), None)
