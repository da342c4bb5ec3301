"""Parameters to values, as every operation of the service needs them. Knows no rules but ranges and names.

The front has made sure that all parameters are text that can be stored.
"""

import re

from emulator.kernel.paging import Range
from emulator.services.workflow.errors import WorkflowError, invalid
from emulator.services.workflow.limits import CAUSE_CHARS, ERROR_CHARS, NAME_MAX
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Reply

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,127}\Z", re.ASCII)


def check_name(parameter: str, name: str) -> None:
    """Hold *name*, the value of *parameter*, against the one rule for flows, executions, schedules and aliases.

    Raises: WorkflowError: InvalidArgument.
    """
    if not _NAME.match(name):
        raise invalid(
            f"{parameter} must have 1 to {NAME_MAX} characters: letters, digits, '_' and '-', beginning "
            "with a letter or '_'."
        )


def required(call: OperationRequest, name: str) -> str:
    """Return a parameter that must be there.

    Raises: WorkflowError: MissingRequiredParams.
    """
    try:
        return call.parameters[name]
    except KeyError:
        raise WorkflowError("MissingRequiredParams", name=name) from None


def optional(call: OperationRequest, name: str) -> str:
    """Return a parameter's text, ``""`` when it is absent."""
    return call.parameters.get(name, "")


def whole(call: OperationRequest, name: str, allowed: Range) -> int:
    """Return a whole number in its range, the default when it is absent or empty.

    Raises: WorkflowError: InvalidArgument.
    """
    text = call.parameters.get(name, "").strip()
    if not text:
        return allowed.default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and allowed.contains(int(text))):
        reason = f"{name} must be a whole number from {allowed.low} to {allowed.high}."
        raise invalid(reason)
    return int(text)


def flag(call: OperationRequest, name: str, *, default: bool = False) -> bool:
    """Return a boolean parameter, *default* when it is absent or empty.

    Raises: WorkflowError: InvalidArgument.
    """
    text = call.parameters.get(name, "").lower()  # the clients write True and False, too
    if text not in {"", "true", "false"}:
        raise invalid(f"{name} must be true or false.")
    return text == "true" if text else default


def parse_failure(call: OperationRequest) -> tuple[str, str]:
    """Return the Error and Cause of a stop or report, ``""`` for what is absent.

    Raises: WorkflowError: InvalidArgument.
    """
    return _bounded_text(call, "Error", ERROR_CHARS), _bounded_text(call, "Cause", CAUSE_CHARS)


def _bounded_text(call: OperationRequest, name: str, longest: int) -> str:
    text = optional(call, name)
    if len(text) > longest:
        raise invalid(f"{name} must have at most {longest} characters.")
    return text


def render_page(name: str, items: list[Reply], marker: str | None) -> Reply:
    """Return the members of a list; NextToken is left out at its end."""
    return {name: items} if marker is None else {name: items, "NextToken": marker}
