"""Task steps: target, pattern, parameters, policies."""

from typing import Any, Final

from emulator.services.workflow.definition.check import Outline
from emulator.services.workflow.definition.fields import Fields, Part
from emulator.services.workflow.definition.limits import TIMEOUT_S
from emulator.services.workflow.definition.mappings import read_error_mappings
from emulator.services.workflow.definition.nodes import FunctionResource, Pattern, Resource
from emulator.services.workflow.definition.parameters import read_parameters
from emulator.services.workflow.definition.policies import read_catch, read_retry
from emulator.services.workflow.definition.resources import PATTERNS, parse_action, parse_arn
from emulator.services.workflow.expression.paths import Path

TASK_FIELDS: Final = frozenset(
    {"resourceArn", "action", "pattern", "timeoutSeconds", "serviceParams", "retry", "catch", "errorMappings"}
)
_ALIASES: Final = {"requestComplete": "requestResponse"}


def read_task(fields: Fields, outline: Outline) -> tuple[dict[str, Any], list[Part]]:
    """Return the arguments of a `TaskStep` beyond those of every step, and where its jump targets stand.

    Raises: DefinitionError.
    """
    resource, arn = _resource(fields)
    pattern = _pattern(fields, resource)
    parameters = read_parameters(fields.find("serviceParams"), resource, fields.part)
    retry, catch = fields.find("retry"), fields.find("catch")
    catches = [read_catch(item) for item in catch.items()] if catch else []
    _remark(fields, outline, pattern, resource, parameters)
    arguments = {
        "resource": resource,
        "resource_arn": arn,
        "pattern": pattern,
        "timeout_s": fields.whole("timeoutSeconds", TIMEOUT_S),
        "service_params": parameters,
        "retry": tuple(read_retry(item) for item in retry.items()) if retry else (),
        "catch": tuple(policy for policy, _ in catches),
        "error_mappings": read_error_mappings(fields.find("errorMappings")),
    }
    return arguments, [target for _, target in catches]


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
    fields: Fields, outline: Outline, pattern: Pattern, resource: Resource, parameters: dict[str, Any] | None
) -> None:
    """Warn about what is allowed and probably not meant."""
    given = parameters or {}
    for key, value in given.items():
        if isinstance(value, str) and value.startswith(("$input", "$local", "$context")):
            outline.warn(fields.need("serviceParams"), f"{key} is the constant {value!r}: paths start with $ here")
    asynchronous = given.get("InvocationType") == "Async" or isinstance(given.get("InvocationType"), Path)
    if pattern == "sync" and isinstance(resource, FunctionResource) and not asynchronous:
        outline.warn(fields.need("pattern"), "sync is meant for functions with InvocationType Async")
    errors = fields.find("errorMappings")
    if errors and fields.find("catch") is None:
        outline.warn(errors, "errorMappings have no effect without catch")
