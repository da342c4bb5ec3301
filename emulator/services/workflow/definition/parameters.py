"""serviceParams: which parameters each target knows, which it needs, and what their constants may be.

Source: service integration pages, Serverless Workflow guide. That others are refused is assumed. Values given by a path
are known only when the step runs; the engine checks them then.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from emulator.kernel.paging import Range
from emulator.services.workflow.definition.fields import Fields, Part, whole
from emulator.services.workflow.definition.limits import DELAY_S, PRIORITY
from emulator.services.workflow.definition.nodes import (
    ActionResource,
    FlowResource,
    FunctionResource,
    QueueResource,
    Resource,
    TopicResource,
)
from emulator.services.workflow.expression.mappings import parse_parameter
from emulator.services.workflow.expression.paths import Path

Check = Callable[[Part, Any], Any]
"""Takes a constant where it stands and its value; returns the value to keep, or raises DefinitionError."""


class Parameters(NamedTuple):
    """The parameters of one target: a check for each, and which are required."""

    checks: dict[str, Check]
    required: tuple[str, ...] = ()


def _anything(_part: Part, value: Any) -> Any:
    return value


def _text(part: Part, _value: Any) -> Any:
    return part.text()


def _name(part: Part, _value: Any) -> Any:
    return part.name()


def _whole(limit: Range) -> Check:
    def check(part: Part, value: Any) -> Any:
        # The service gets text in any case, so digits in quotes are as good as a number.
        if isinstance(value, str) and value.isascii() and value.isdigit() and limit.contains(int(value[:20])):
            return int(value)
        return whole(part, limit)

    return check


def _invocation_type(part: Part, value: Any) -> Any:
    if value not in {"Sync", "Async"}:
        raise part.failure("must be Sync or Async")
    return value


_BY_TARGET: Final[dict[type, Parameters]] = {
    FunctionResource: Parameters({"InvocationType": _invocation_type, "StatefulAsyncInvocationID": _text}),
    QueueResource: Parameters(
        {"MessageBody": _anything, "DelaySeconds": _whole(DELAY_S), "Priority": _whole(PRIORITY)}, ("MessageBody",)
    ),
    TopicResource: Parameters(
        {"MessageBody": _anything, "MessageTag": _anything, "MessageAttributes": _anything}, ("MessageBody",)
    ),
    FlowResource: Parameters({"Input": _anything, "ExecutionName": _name}),
}
_START_EXECUTION: Final = Parameters(
    {"FlowName": _name, "ExecutionName": _name, "Input": _anything, "CallbackFnFTaskToken": _text}, ("FlowName",)
)


def read_parameters(part: Part | None, resource: Resource, step: Part) -> dict[str, Any] | None:
    """Return the parameters, each a constant or a `Path` on the step's input; None when there are none.

    Raises: DefinitionError for unknown, missing or unusable ones; a missing one points at *step* when there is no
    ``serviceParams`` at all.
    """
    known = _known(resource)
    if part is None:
        if known is not None and isinstance(resource, ActionResource) and known.required:
            raise step.failure(f"serviceParams must have {known.required[0]!r} for this action")
        return None
    fields = Fields(part, known.checks if known else None)
    for key in known.required if known else ():
        if fields.raw(key) is None:
            raise part.failure(f"the parameter {key!r} is required")
    checks = known.checks if known else {}
    return {key: _read(fields, key, checks.get(key, _anything)) for key in fields}


def _known(resource: Resource) -> Parameters | None:
    """Return the parameters of a target, or None for an action nobody knows here."""
    if isinstance(resource, ActionResource):
        return _START_EXECUTION if (resource.service, resource.operation) == ("fnf", "StartExecution") else None
    return _BY_TARGET[type(resource)]


def _read(fields: Fields, key: str, check: Check) -> Any:
    part = fields.raw(key)
    assert part is not None
    value = parse_parameter(part.value())
    return value if isinstance(value, Path) else check(part, value)
