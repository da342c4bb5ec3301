"""A definition's text -> a flow: the top level, lists of steps and the eight types of step, checked as a whole.

Source: flow definition language, Serverless Workflow guide.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from emulator.kernel.paging import Range
from emulator.services.workflow.engine.model import Step as AnyStep
from emulator.services.workflow.engine.model import StepList
from emulator.services.workflow.languages.fdl.conditions import Condition
from emulator.services.workflow.languages.fdl.decide import FlowProgram
from emulator.services.workflow.languages.fdl.mappings import constant_of
from emulator.services.workflow.languages.fdl.nodes import (
    ChoiceStep,
    FailStep,
    ForeachStep,
    Option,
    ParallelStep,
    PassStep,
    Step,
    SucceedStep,
    TaskStep,
    WaitStep,
    parse_timestamp,
)
from emulator.services.workflow.languages.fdl.paths import STEP_ROOTS, Path
from emulator.services.workflow.languages.fdl.tasks import TASK_FIELDS, TIMEOUT_S, read_mappings, read_task
from emulator.services.workflow.languages.fields import Fields, LocatedNode, Reading, reachable, whole
from emulator.services.workflow.languages.values import ExpressionError
from emulator.wire.yaml import Node

VERSIONS: Final = ("v1", "v1beta1", "v1.0")
"""Three names of one language: its name, its preview name and the one of the API reference."""

WAIT_S: Final = Range(0, 172_800, 0)
"""``duration`` of a wait; that 0 is taken is assumed."""

BRANCHES: Final = Range(1, 100, 1)
"""Branches of a parallel."""


_FLOW: Final = frozenset(
    {"version", "type", "name", "description", "steps", "inputMappings", "outputMappings", "timeoutSeconds"}
)


def read_flow(root: Node) -> FlowProgram:
    """Return the flow that the document *root* defines.

    Raises: DefinitionError, for everything that would keep the flow from running as written.
    Source: flow definition language, Serverless Workflow guide; assumed: unknown fields are refused, and a name may
        stand once in the whole flow, not only in its list, so that the history's step names are clear.
    """
    fields = Fields(LocatedNode(root, ""), _FLOW)
    version = fields.need("version")
    if version.text() not in VERSIONS:
        raise version.failure(f"unknown version; there are {', '.join(VERSIONS)}")
    kind = fields.need("type")
    if kind.text() != "flow":
        raise kind.failure("must be flow")
    fields.text("name")
    outline = Reading([], {}, [])
    steps = _read_steps(fields.need("steps"), outline)
    for name in _unreachable_steps(steps):
        outline.warnings.append(f"nothing leads to the step {name!r} (line {outline.names[name]})")
    return FlowProgram(
        steps=steps,
        input_mappings=read_mappings(fields.find("inputMappings")),
        output_mappings=read_mappings(fields.find("outputMappings")),
        timeout_s=fields.whole("timeoutSeconds", TIMEOUT_S),
        warnings=tuple(outline.warnings),
    )


_EVERY_STEP: Final = frozenset({"type", "name", "inputMappings", "outputMappings", "description"})
_OPTION: Final = frozenset({"condition", "steps", "goto"})
_DEFAULT: Final = frozenset({"steps", "goto"})
_BRANCH: Final = frozenset({"steps"})
_ITERATION: Final = frozenset({"collection", "item", "index"})

Arguments = dict[str, Any]
"""Keyword arguments for a step's class."""


def _read_steps(part: LocatedNode, outer: Reading) -> StepList:
    reading = outer._replace(jumps=[])
    steps = tuple(_read_step(item, reading) for item in part.items(least=1))
    index = {step.name: position for position, step in enumerate(steps)}
    for jump in reading.jumps:
        if jump.text() not in index:
            raise jump.failure(f"no step {jump.text()[:200]!r} stands in the same list of steps")
    return StepList(steps=steps, index=index)


def _read_step(part: LocatedNode, reading: Reading) -> Step:
    anything = Fields(part)
    kind = anything.need("type")
    if kind.text() not in _KINDS:
        raise kind.failure(f"unknown type of step; there are {', '.join(_KINDS)}")
    node, own_fields, read = _KINDS[kind.text()]
    fields = Fields(part, _EVERY_STEP | own_fields)
    name = fields.need("name")
    name.name()
    output = read_mappings(fields.find("outputMappings"))
    return node(
        name=reading.enter("step", name),
        input_mappings=read_mappings(fields.find("inputMappings")),
        output_mappings=output,
        constant_output=constant_of(output),
        end=fields.flag("end"),
        **read(fields, reading),
    )


def _nothing(_fields: Fields, _reading: Reading) -> Arguments:
    return {}


def _wait(fields: Fields, _reading: Reading) -> Arguments:
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


def _fail(fields: Fields, _reading: Reading) -> Arguments:
    return {"error": fields.text("error") or "", "cause": fields.text("cause") or ""}


def _choice(fields: Fields, reading: Reading) -> Arguments:
    default = fields.find("default")
    return {
        "options": tuple(_option(item, reading) for item in fields.need("choices").items(least=1)),
        "default": _way_out(Fields(default, _DEFAULT), reading, None) if default else None,
    }


def _option(part: LocatedNode, reading: Reading) -> Option:
    fields = Fields(part, _OPTION)
    condition = fields.need("condition")
    try:
        compiled = Condition.parse(condition.text())
    except ExpressionError as error:
        raise condition.failure(str(error)) from error
    return _way_out(fields, reading, compiled)


def _way_out(fields: Fields, reading: Reading, condition: Condition | None) -> Option:
    steps, goto = fields.find("steps"), fields.find("goto")
    if goto:
        reading.jumps.append(goto)
    return Option(
        condition=condition,
        steps=_read_steps(steps, reading) if steps else None,
        goto=goto.text() if goto else None,
    )


def _parallel(fields: Fields, reading: Reading) -> Arguments:
    part = fields.need("branches")
    branches = part.items(least=BRANCHES.low)
    if len(branches) > BRANCHES.high:
        raise part.failure(f"a parallel has at most {BRANCHES.high} branches")
    return {"branches": tuple(_read_steps(Fields(item, _BRANCH).need("steps"), reading) for item in branches)}


def _foreach(fields: Fields, reading: Reading) -> Arguments:
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
        "steps": _read_steps(fields.need("steps"), reading),
    }


def _path(part: LocatedNode) -> Path:
    try:
        return Path.parse(part.text(), STEP_ROOTS)
    except ExpressionError as error:
        raise part.failure(str(error)) from error


_KINDS: Final[dict[str, tuple[type[Step], frozenset[str], Callable[[Fields, Reading], Arguments]]]] = {
    "task": (TaskStep, TASK_FIELDS | {"end"}, read_task),
    "pass": (PassStep, frozenset({"end"}), _nothing),
    "wait": (WaitStep, frozenset({"duration", "timestamp", "end"}), _wait),
    "choice": (ChoiceStep, frozenset({"choices", "default", "end"}), _choice),
    "parallel": (ParallelStep, frozenset({"branches", "end"}), _parallel),
    "foreach": (ForeachStep, frozenset({"iterationMapping", "steps", "end"}), _foreach),
    "succeed": (SucceedStep, frozenset(), _nothing),
    "fail": (FailStep, frozenset({"error", "cause"}), _fail),
}
"""For each type: its class, its fields beyond those of every step, and what reads them."""


def _unreachable_steps(steps: StepList) -> Iterator[str]:
    """Yield the names of steps that neither the order nor a jump leads to, in all depths."""
    names = [step.name for step in steps.steps]
    ways = {
        step.name: [*_jumps(step), *(names[position : position + 1] if _falls_through(step) else ())]
        for position, step in enumerate(steps.steps, 1)
    }
    reached = reachable(ways, names[0])
    for step in steps.steps:
        if step.name not in reached:
            yield step.name
        for inner in step.inner_lists():
            yield from _unreachable_steps(inner)


def _jumps(step: AnyStep) -> list[str]:
    if isinstance(step, TaskStep):
        return [policy.goto for policy in step.catch]
    outcomes = step.outcomes if isinstance(step, ChoiceStep) else ()
    return [option.goto for option in outcomes if option.goto is not None]


def _falls_through(step: AnyStep) -> bool:
    if not isinstance(step, Step) or step.end or isinstance(step, SucceedStep | FailStep):
        return False
    if isinstance(step, ChoiceStep):
        return step.default is None or any(option.goto is None for option in step.outcomes)
    return True
