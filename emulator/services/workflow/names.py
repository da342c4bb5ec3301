"""The one rule for the names of flows, executions, schedules and aliases."""

import re

from emulator.services.workflow.errors import InvalidArgument
from emulator.services.workflow.limits import NAME_MAX

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,127}\Z", re.ASCII)


def check_name(parameter: str, name: str) -> None:
    """Hold a name, given as *parameter*, against the rule.

    Raises: InvalidArgument.
    """
    if not _NAME.match(name):
        raise InvalidArgument(
            reason=f"{parameter} must have 1 to {NAME_MAX} characters: letters, digits, '_' and '-', beginning "
            "with a letter or '_'."
        )
