"""Task steps: target, pattern, parameters, policies; and the mappings that every step has.

Region and account of an ARN may be empty or anything: there is one tenant here. Values of serviceParams that are given
by a path are known only when the step runs; the engine checks them then.

Source: service integration, error handling and limits, Serverless Workflow guide. Assumed: the form of FC 3's ARNs,
that unknown parameters are refused, and what is marked.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from emulator.kernel.paging import Range
from emulator.services.workflow.engine.model import CatchPolicy, Pattern, RetryPolicy, whole_number
from emulator.services.workflow.languages.fdl.mappings import Mapping, parse_error_source, parse_parameter, parse_source
from emulator.services.workflow.languages.fdl.paths import Path
from emulator.services.workflow.languages.fields import Fields, LocatedNode, Reading, parse_action, parse_arn
from emulator.services.workflow.languages.values import ExpressionError
from emulator.services.workflow.limits import EXECUTION_S
from emulator.services.workflow.ports import (
    ActionResource,
    FlowResource,
    FunctionResource,
    QueueResource,
    Resource,
    TopicResource,
)

TIMEOUT_S: Final = Range(1, EXECUTION_S, EXECUTION_S)
"""``timeoutSeconds`` of a flow or task; the upper end for tasks is assumed."""

RETRY_INTERVAL_S: Final = Range(0, 86_400, 1)
RETRY_MAX_INTERVAL_S: Final = Range(0, 86_400, 86_400)
RETRY_ATTEMPTS: Final = Range(0, 2**31 - 1, 3)
RETRY_MULTIPLIER: Final = Range(1, 2**31 - 1, 2)
"""The upper ends of attempts and multiplier are assumed: they keep the arithmetic finite."""

DELAY_S: Final = Range(0, 604_800, 0)
PRIORITY: Final = Range(1, 16, 8)
"""``DelaySeconds`` and ``Priority`` of a message sent to a queue."""


_KNOWN: Final = frozenset({"target", "source"})


def read_mappings(part: LocatedNode | None, parse: Callable[[Any], Any] = parse_source) -> tuple[Mapping, ...] | None:
    """Return the entries of mappings; None when the field is absent, () when it is empty."""
    return tuple(_entry(item, parse) for item in part.items()) if part else None


def _entry(part: LocatedNode, parse: Callable[[Any], Any]) -> Mapping:
    fields = Fields(part, _KNOWN)
    target = fields.need("target")
    if not all(target.text().split(".")):
        raise target.failure("a target is a key, or keys joined by dots")
    source = fields.raw("source")
    if source is None:
        raise part.failure("the field 'source' is required")
    value = source.value()
    try:
        return Mapping(target=target.text(), source=parse(value))
    except ExpressionError as error:
        raise source.failure(str(error)) from error


_RETRY: Final = frozenset({"errors", "intervalSeconds", "maxIntervalSeconds", "maxAttempts", "multiplier"})
_CATCH: Final = frozenset({"errors", "goto"})


def _retry(part: LocatedNode) -> RetryPolicy:
    fields = Fields(part, _RETRY)
    attempts = fields.whole("maxAttempts", RETRY_ATTEMPTS)
    return RetryPolicy(
        errors=fields.texts("errors"),
        interval_s=fields.number("intervalSeconds", RETRY_INTERVAL_S),
        max_interval_s=fields.number("maxIntervalSeconds", RETRY_MAX_INTERVAL_S),
        max_attempts=RETRY_ATTEMPTS.default if attempts is None else attempts,
        multiplier=fields.number("multiplier", RETRY_MULTIPLIER),
    )


def _catch(part: LocatedNode, reading: Reading) -> CatchPolicy:
    fields = Fields(part, _CATCH)
    target = fields.need("goto")
    reading.jumps.append(target)
    return CatchPolicy(errors=fields.texts("errors"), goto=target.text())


PATTERNS: Final[dict[type, tuple[Pattern, ...]]] = {
    FunctionResource: ("requestResponse", "sync", "waitForCallback"),
    QueueResource: ("requestResponse", "waitForCallback"),
    TopicResource: ("requestResponse", "waitForCallback"),
    FlowResource: ("requestResponse", "sync", "waitForCallback"),
    ActionResource: ("requestResponse",),
}
"""Which patterns each kind of target knows."""


Check = Callable[[LocatedNode, Any], Any]
"""Takes a constant where it stands and its value; returns the value to keep, or raises DefinitionError."""


class Parameters(NamedTuple):
    """The parameters of one target: a check for each, and which are required."""

    checks: dict[str, Check]
    required: tuple[str, ...] = ()


def _anything(_part: LocatedNode, value: Any) -> Any:
    return value


def _text(part: LocatedNode, _value: Any) -> Any:
    return part.text()


def _name(part: LocatedNode, _value: Any) -> Any:
    return part.name()


def _whole(limit: Range) -> Check:
    def check(part: LocatedNode, value: Any) -> Any:
        try:
            return whole_number(value, limit.low, limit.high)
        except ValueError as error:
            raise part.failure(str(error)) from error

    return check


def _invocation_type(part: LocatedNode, value: Any) -> Any:
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


def _parameters(part: LocatedNode | None, resource: Resource, step: LocatedNode) -> dict[str, Any] | None:
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
    return {key: _read_parameters(fields, key, checks.get(key, _anything)) for key in fields}


def _known(resource: Resource) -> Parameters | None:
    """Return the parameters of a target, or None for an action that is not available here."""
    if isinstance(resource, ActionResource):
        return _START_EXECUTION if (resource.service, resource.operation) == ("fnf", "StartExecution") else None
    return _BY_TARGET[type(resource)]


def _read_parameters(fields: Fields, key: str, check: Check) -> Any:
    part = fields.raw(key)
    assert part is not None
    value = parse_parameter(part.value())
    return value if isinstance(value, Path) else check(part, value)


TASK_FIELDS: Final = frozenset(
    {"resourceArn", "action", "pattern", "timeoutSeconds", "serviceParams", "retry", "catch", "errorMappings"}
)
_ALIASES: Final = {"requestComplete": "requestResponse"}


def read_task(fields: Fields, reading: Reading) -> dict[str, Any]:
    """Return the arguments of a `TaskStep` beyond those of every step."""
    resource, arn = _resource(fields)
    pattern = _pattern(fields, resource)
    parameters = _parameters(fields.find("serviceParams"), resource, fields.part)
    retry, catch = fields.find("retry"), fields.find("catch")
    _remark(fields, reading, pattern, resource, parameters)
    return {
        "resource": resource,
        "resource_arn": arn,
        "pattern": pattern,
        "timeout_s": fields.whole("timeoutSeconds", TIMEOUT_S),
        "service_params": parameters,
        "retry": tuple(_retry(item) for item in retry.items()) if retry else (),
        "catch": tuple(_catch(item, reading) for item in catch.items()) if catch else (),
        "error_mappings": read_mappings(fields.find("errorMappings"), parse_error_source),
    }


def _resource(fields: Fields) -> tuple[Resource, str]:
    action = fields.find("action")
    if action and fields.find("resourceArn"):
        raise action.failure("a task has resourceArn or action, not both")
    part = action or fields.need("resourceArn")
    text = part.text()
    try:
        return (parse_action(text), "") if action else (parse_arn(text), text)
    except ValueError as error:
        raise part.failure(str(error)) from error


def _pattern(fields: Fields, resource: Resource) -> Pattern:
    part = fields.find("pattern")
    if part is None:
        return "requestResponse"
    pattern = _ALIASES.get(part.text(), part.text())
    known = PATTERNS[type(resource)]
    if pattern not in known:
        raise part.failure(f"for this target the pattern is {' or '.join(known)}")
    return pattern


def _remark(
    fields: Fields, reading: Reading, pattern: Pattern, resource: Resource, parameters: dict[str, Any] | None
) -> None:
    """Warn about what is allowed and probably not meant."""
    constants = parameters or {}
    for key, value in constants.items():
        if isinstance(value, str) and value.startswith(("$input", "$local", "$context")):
            reading.warn(fields.need("serviceParams"), f"{key} is the constant {value!r}: paths start with $ here")
    asynchronous = constants.get("InvocationType") == "Async" or isinstance(constants.get("InvocationType"), Path)
    if pattern == "sync" and isinstance(resource, FunctionResource) and not asynchronous:
        reading.warn(fields.need("pattern"), "sync is meant for functions with InvocationType Async")
    errors = fields.find("errorMappings")
    if errors and fields.find("catch") is None:
        reading.warn(errors, "errorMappings have no effect without catch")
