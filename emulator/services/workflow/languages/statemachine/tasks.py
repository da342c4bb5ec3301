"""Reads task states: their action, parameters and time-out.

Source: task states and integrations, CloudFlow documentation.
"""

from typing import Any, Final

from emulator.kernel.digits import read_digits
from emulator.kernel.phrases import Phrase, alternatives, together
from emulator.services.workflow.languages.document import LocatedNode, Reading, settle
from emulator.services.workflow.languages.notation import placed
from emulator.services.workflow.languages.resources import impossible_name
from emulator.services.workflow.languages.statemachine.actions import ACTIONS, PARAMETER_VALUES, Action, read_action
from emulator.services.workflow.languages.statemachine.expressions import STATE_ROOTS, Fixed, Members, Template
from emulator.services.workflow.languages.statemachine.nodes import PATTERNS, TIMEOUT_S
from emulator.services.workflow.languages.statemachine.reading import dynamic, read_constructor
from emulator.services.workflow.ports import ArnTarget
from emulator.wire.schema.kinds import OBJECT, Also, Duration, Either, Field, OneOf, Text


def _seconds(part: LocatedNode, _reading: Reading) -> int | None:
    """Return a time-out in seconds, given as a number or as digits; None for 0, which means no time-out."""
    seconds = read_digits(part.text(), 9)
    if seconds is None or seconds > TIMEOUT_S:
        raise part.failure(Phrase("must be a whole number from {low} to {high}", low=0, high=TIMEOUT_S))
    return seconds or None


TASK: Final = (
    Field("TaskMode", "mode", OneOf(tuple(PATTERNS), label="mode"), None,
          help=("what the step waits for: the response, the end of the called job, or a callback",
                "步骤等待什么：响应、被调用任务结束，或回调")),
    Field("Action", "action", Also(Text(form="[^:]+:[^:]+"), placed), required=True,
          help=("the action to call: `{serviceName}:{apiName}`", "要调用的操作：`{serviceName}:{apiName}`")),
    *dynamic(
        Field("Timeout", "timeout_s", Also(Duration(0, TIMEOUT_S), _seconds, Text(form="[0-9]{1,9}")),
              help=("timeout of an attempt; 0 means no limit", "一次尝试的超时时间；0 表示不限")),
        "timeout",
    ),
    Field("Parameters", "arguments", Also(OBJECT, placed), None, help=("parameters of the action", "操作的参数")),
)  # fmt: skip
"""The fields that only tasks have."""

TIMEOUTS: Final = Either(("Timeout", "Timeout.$"), needed=False)


def finish_task(values: dict[str, Any], part: LocatedNode, reading: Reading) -> dict[str, Any]:
    """Return the arguments of a `TaskState`; check the rules that concern several of its fields.

    Raises: DefinitionError.
    """
    mode = values.pop("mode")
    pattern = PATTERNS[mode] if mode is not None else "requestResponse"
    called: LocatedNode | None = values.get("action")
    if called is None:  # it has a mistake, which is reported beside those of this
        return values
    try:
        action = read_action(called.text(), pattern)
    except ValueError as error:
        raise called.failure(str(error)) from error
    if mode is not None and pattern not in action.kind.patterns:
        known = [name for name, each in PATTERNS.items() if each in action.kind.patterns]
        text = "for {name} the mode is {modes}"
        raise part.get("TaskMode").failure(Phrase(text, name=action.name, modes=alternatives(known)))
    if action.kind.stands_for is None:
        text = "{name} is not available here and will fail; there are {names}"
        reading.warn(called, Phrase(text, name=action.name, names=_available()))
    values |= {
        "action": action,
        "resource": action.resource,
        "pattern": pattern,
        "arguments": _parameters(values["arguments"], part, action, reading),
    }
    return values


def _available() -> str:
    return ", ".join(name for name, kind in ACTIONS.items() if kind.stands_for is not None)


def _parameters(part: LocatedNode | None, state: LocatedNode, action: Action, reading: Reading) -> Template:
    parameters = {each.name: each for each in action.kind.parameters}
    required = [name for name, each in parameters.items() if each.required]
    if part is None:
        if required:
            text = "Parameters must have {names} for {name}"
            raise state.failure(Phrase(text, names=together(required), name=action.name))
        return Fixed({})
    template = read_constructor(part, STATE_ROOTS)
    if isinstance(template, Members):
        templates: dict[str, Template] = dict(template.members)
    else:
        assert isinstance(template, Fixed)
        templates = {name: Fixed(value) for name, value in template.value.items()}
    mistakes = [
        part.failure(Phrase("the parameter {name!r} is required", name=name))
        for name in required
        if _is_missing(templates.get(name))
    ]
    places = dict(part.members())
    for name, value in templates.items():
        known, here = parameters.get(name), places.get(name, part)
        if known is None and parameters:
            text = "{action} has no parameter {name!r}, which is ignored"
            reading.warn(here, Phrase(text, action=action.name, name=name))
        elif known is not None and isinstance(value, Fixed) and value.value is not None:
            try:
                read = PARAMETER_VALUES.reader(known.kind)(value.value, name)
            except ValueError as error:
                mistakes.append(here.failure(str(error)))
                continue
            if isinstance(read, ArnTarget) and (problem := impossible_name(read)):
                reading.warn(here, problem)
    settle(mistakes)
    return template


def _is_missing(value: Template | None) -> bool:
    """Whether a parameter is left out, or a constant null, which is the same."""
    return value is None or (isinstance(value, Fixed) and value.value is None)
