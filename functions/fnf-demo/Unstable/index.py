"""Fails in the two ways the troubleshooting tutorial is about: for a while, and for good."""

import json
import logging
from collections import Counter

logger = logging.getLogger()

calls = Counter()
"""Calls so far by id. Instances stay warm between the retries of a step, also after an error."""


class ErrorNeedsRetry(Exception):
    """Something that passes: a flow catches it by this name."""


def handler(event, context):
    """Return ``{"attempts": n}`` once the calls with the event's ``id`` are more than its ``failures``.

    Raises: ErrorNeedsRetry before that; ValueError when ``failures`` is negative, which no retry helps.
    """
    asked = json.loads(event)
    failures = asked["failures"]
    if failures < 0:
        raise ValueError("failures must not be negative")
    calls[asked["id"]] += 1
    attempts = calls[asked["id"]]
    if attempts <= failures:
        logger.warning("attempt %d fails", attempts)
        raise ErrorNeedsRetry(f"attempt {attempts} failed, try again")
    logger.info("attempt %d succeeds", attempts)
    return {"attempts": attempts}
