"""Lists of steps and the eight kinds of step.

Source: flow definition language, Serverless Workflow guide.
"""

from collections.abc import Callable
from typing import Any, Final

from emulator.kernel.frozen import frozen
from emulator.services.workflow.definition.check import Outline, check_jumps
from emulator.services.workflow.definition.fields import Fields, Part, whole
from emulator.services.workflow.definition.limits import BRANCHES, WAIT_S
from emulator.services.workflow.definition.mappings import read_mappings
from emulator.services.workflow.definition.nodes import (
    ChoiceStep,
    FailStep,
    ForeachStep,
    Option,
    ParallelStep,
    PassStep,
    Step,
    StepList,
    SucceedStep,
    TaskStep,
    WaitStep,
)
from emulator.services.workflow.definition.tasks import TASK_FIELDS, read_task
from emulator.services.workflow.definition.timestamps import parse_timestamp
from emulator.services.workflow.expression.conditions import Condition
from emulator.services.workflow.expression.errors import ExpressionError
from emulator.services.workflow.expression.paths import STEP_ROOTS, Path

_EVERY_STEP: Final = frozenset({"type", "name", "inputMappings", "outputMappings", "description"})
_OPTION: Final = frozenset({"condition", "steps", "goto"})
_DEFAULT: Final = frozenset({"steps", "goto"})
_BRANCH: Final = frozenset({"steps"})
_ITERATION: Final = frozenset({"collection", "item", "index"})

Arguments = dict[str, Any]
"""Keyword arguments for a step's class."""


@frozen(kw_only=False)
class Surroundings:
    """What reading a step adds to: the outline of the flow, and the jumps out of the steps of this list."""

    outline: Outline
    jumps: list[Part]


def read_steps(part: Part, outline: Outline) -> StepList:
    """Return the steps of one list.

    Raises: DefinitionError.
    """
    around = Surroundings(outline, [])
    steps = tuple(_read_step(item, around) for item in part.items(least=1))
    step_list = StepList(steps=steps, index={step.name: position for position, step in enumerate(steps)})
    check_jumps(around.jumps, step_list)
    return step_list


def _read_step(part: Part, around: Surroundings) -> Step:
    anything = Fields(part)
    kind = anything.need("type")
    if kind.text() not in _KINDS:
        raise kind.failure(f"unknown type of step; there are {', '.join(_KINDS)}")
    node, own_fields, read = _KINDS[kind.text()]
    fields = Fields(part, _EVERY_STEP | own_fields)
    name = fields.need("name")
    around.outline.enter(name.name(), name)
    return node(
        name=name.text(),
        input_mappings=read_mappings(fields.find("inputMappings")),
        output_mappings=read_mappings(fields.find("outputMappings")),
        end=fields.flag("end"),
        **read(fields, around),
    )


def _nothing(_fields: Fields, _around: Surroundings) -> Arguments:
    return {}


def _task(fields: Fields, around: Surroundings) -> Arguments:
    arguments, jumps = read_task(fields, around.outline)
    around.jumps.extend(jumps)
    return arguments


def _wait(fields: Fields, _around: Surroundings) -> Arguments:
    duration, timestamp = fields.find("duration"), fields.find("timestamp")
    if (duration is None) == (timestamp is None):
        raise fields.part.failure("a wait has exactly one of duration and timestamp")
    if duration:
        value = duration.value()
        return {"duration": _path(duration) if isinstance(value, str) else whole(duration, WAIT_S)}
    assert timestamp is not None
    text = timestamp.text()
    if text.startswith("$"):
        return {"timestamp": _path(timestamp), "timestamp_text": text}
    try:
        return {"timestamp": parse_timestamp(text), "timestamp_text": text}
    except ValueError as error:
        raise timestamp.failure("must be an RFC 3339 time such as 2024-05-01T08:00:00Z, or a path") from error


def _fail(fields: Fields, _around: Surroundings) -> Arguments:
    return {"error": fields.text("error") or "", "cause": fields.text("cause") or ""}


def _choice(fields: Fields, around: Surroundings) -> Arguments:
    default = fields.find("default")
    return {
        "options": tuple(_option(item, around) for item in fields.need("choices").items(least=1)),
        "default": _way_out(Fields(default, _DEFAULT), around, None) if default else None,
    }


def _option(part: Part, around: Surroundings) -> Option:
    fields = Fields(part, _OPTION)
    condition = fields.need("condition")
    try:
        compiled = Condition.parse(condition.text())
    except ExpressionError as error:
        raise condition.failure(str(error)) from error
    return _way_out(fields, around, compiled)


def _way_out(fields: Fields, around: Surroundings, condition: Condition | None) -> Option:
    steps, goto = fields.find("steps"), fields.find("goto")
    if goto:
        around.jumps.append(goto)
    return Option(
        condition=condition,
        steps=read_steps(steps, around.outline) if steps else None,
        goto=goto.text() if goto else None,
    )


def _parallel(fields: Fields, around: Surroundings) -> Arguments:
    part = fields.need("branches")
    branches = part.items(least=BRANCHES.low)
    if len(branches) > BRANCHES.high:
        raise part.failure(f"a parallel has at most {BRANCHES.high} branches")
    return {"branches": tuple(read_steps(Fields(item, _BRANCH).need("steps"), around.outline) for item in branches)}


def _foreach(fields: Fields, around: Surroundings) -> Arguments:
    iteration = Fields(fields.need("iterationMapping"), _ITERATION)
    item, index = iteration.need("item"), iteration.find("index")
    for part in (item, index):
        if part and not part.text():
            raise part.failure("must not be empty")
    if index and index.text() == item.text():
        raise index.failure("item and index need different keys")
    return {
        "collection": _path(iteration.need("collection")),
        "item": item.text(),
        "index_name": index.text() if index else None,
        "steps": read_steps(fields.need("steps"), around.outline),
    }


def _path(part: Part) -> Path:
    try:
        return Path.parse(part.text(), STEP_ROOTS)
    except ExpressionError as error:
        raise part.failure(str(error)) from error


_KINDS: Final[dict[str, tuple[type[Step], frozenset[str], Callable[[Fields, Surroundings], Arguments]]]] = {
    "task": (TaskStep, TASK_FIELDS | {"end"}, _task),
    "pass": (PassStep, frozenset({"end"}), _nothing),
    "wait": (WaitStep, frozenset({"duration", "timestamp", "end"}), _wait),
    "choice": (ChoiceStep, frozenset({"choices", "default", "end"}), _choice),
    "parallel": (ParallelStep, frozenset({"branches", "end"}), _parallel),
    "foreach": (ForeachStep, frozenset({"iterationMapping", "steps", "end"}), _foreach),
    "succeed": (SucceedStep, frozenset(), _nothing),
    "fail": (FailStep, frozenset({"error", "cause"}), _fail),
}
"""For each type: its class, its fields beyond those of every step, and what reads them."""
