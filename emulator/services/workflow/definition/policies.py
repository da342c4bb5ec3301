"""The retry and catch policies of a task.

Source: error handling, Serverless Workflow guide.
"""

from typing import Final

from emulator.services.workflow.definition.fields import Fields, Part
from emulator.services.workflow.definition.limits import (
    RETRY_ATTEMPTS,
    RETRY_INTERVAL_S,
    RETRY_MAX_INTERVAL_S,
    RETRY_MULTIPLIER,
)
from emulator.services.workflow.definition.nodes import CatchPolicy, RetryPolicy

_RETRY: Final = frozenset({"errors", "intervalSeconds", "maxIntervalSeconds", "maxAttempts", "multiplier"})
_CATCH: Final = frozenset({"errors", "goto"})


def read_retry(part: Part) -> RetryPolicy:
    """Return one retry policy.

    Raises: DefinitionError.
    """
    fields = Fields(part, _RETRY)
    attempts = fields.whole("maxAttempts", RETRY_ATTEMPTS)
    return RetryPolicy(
        errors=_errors(fields),
        interval_s=fields.number("intervalSeconds", RETRY_INTERVAL_S),
        max_interval_s=fields.number("maxIntervalSeconds", RETRY_MAX_INTERVAL_S),
        max_attempts=RETRY_ATTEMPTS.default if attempts is None else attempts,
        multiplier=fields.number("multiplier", RETRY_MULTIPLIER),
    )


def read_catch(part: Part) -> tuple[CatchPolicy, Part]:
    """Return one catch policy and where its jump target stands.

    Raises: DefinitionError.
    """
    fields = Fields(part, _CATCH)
    target = fields.need("goto")
    return CatchPolicy(errors=_errors(fields), goto=target.text()), target


def _errors(fields: Fields) -> tuple[str, ...]:
    return tuple(error.text() for error in fields.need("errors").items(least=1))
