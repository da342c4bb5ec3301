"""Reads a flow from a definition: the top level, lists of steps and the eight types of step, checked as a whole.

Source: flow definition language, Serverless Workflow guide.
"""

from collections.abc import Iterator
from typing import Any, Final

from emulator.kernel.phrases import Phrase
from emulator.services.workflow.engine.language import DefinitionError
from emulator.services.workflow.engine.model import StepList
from emulator.services.workflow.languages.document import (
    Arguments,
    Finish,
    LocatedNode,
    Reading,
    StepType,
    as_it_is,
    named,
    reachable,
    read_each,
    settle,
    step_type,
)
from emulator.services.workflow.languages.fdl.conditions import Condition
from emulator.services.workflow.languages.fdl.decide import FlowProgram
from emulator.services.workflow.languages.fdl.mappings import constant_of
from emulator.services.workflow.languages.fdl.nodes import (
    ChoiceStep,
    FailStep,
    FlowStep,
    ForeachStep,
    Option,
    ParallelStep,
    PassStep,
    Step,
    SucceedStep,
    TaskStep,
    WaitStep,
    flow_step,
    parse_timestamp,
)
from emulator.services.workflow.languages.fdl.paths import STEP_ROOTS, Path
from emulator.services.workflow.languages.fdl.tasks import CALLED, DEFINITIONS, MAPPINGS, TASK, TIMEOUT, finish_task
from emulator.services.workflow.languages.notation import NAME_TEXT, STEP_NAME
from emulator.services.workflow.limits import WAIT_S
from emulator.wire.schema.kinds import (
    ANYTHING,
    FLAG,
    TEXT,
    Also,
    Duration,
    Either,
    Field,
    Items,
    OneOf,
    Ruled,
    Shape,
    Tagged,
    Text,
)
from emulator.wire.yaml import Node

VERSIONS: Final = ("v1", "v1beta1", "v1.0")
"""Three names of one language: its name, its preview name and the one of the API reference."""

"""Keyword arguments for a step's class."""


def _path(text: str, _name: str) -> Path:
    return Path.parse(text, STEP_ROOTS)


def _name(part: LocatedNode, reading: Reading) -> str:
    DEFINITIONS.reader(NAME_TEXT)(part, reading)
    return reading.enter("step", part)


def _read_steps(part: LocatedNode, outer: Reading) -> StepList:
    reading = outer._replace(jumps=[])
    items = part.items(least=1)
    mistakes: list[DefinitionError] = []
    steps = read_each(items, _read_step, reading, mistakes)
    names = set(named(items, "name")) if reading.jumps else ()
    text = "no step {name!r} stands in the same list of steps"
    mistakes.extend(
        jump.failure(Phrase(text, name=jump.text()[:200])) for jump in reading.jumps if jump.text() not in names
    )
    settle(mistakes)
    index = {step.name: position for position, step in enumerate(steps)}
    return StepList(steps=steps, index=index)


def _read_step(part: LocatedNode, reading: Reading) -> FlowStep:
    node, shape, finish = KINDS[DEFINITIONS.tag(STEP, part)]
    values = DEFINITIONS.finished(shape, finish, part, reading)
    return flow_step(node(constant_output=constant_of(values.get("output_mappings")), **values))


def _finish_wait(values: Arguments, _part: LocatedNode, _reading: Reading) -> Arguments:
    if "timestamp" in values:
        values["timestamp"], values["timestamp_text"] = values["timestamp"]
    return values


def _duration(part: LocatedNode, reading: Reading) -> int | Path:
    kind = _PATH if isinstance(part.value(), str) else _WAIT
    if kind is _PATH and not part.value().startswith("$"):
        raise part.failure(Phrase("must be a whole number of seconds, or a path, which starts with $"))
    duration: int | Path = DEFINITIONS.reader(kind)(part, reading)
    return duration


def _timestamp(text: str, _name: str) -> tuple[Any, str]:
    if text.startswith("$"):
        return Path.parse(text, STEP_ROOTS), text
    try:
        return parse_timestamp(text), text
    except ValueError:
        raise ValueError("must be an RFC 3339 time such as 2024-05-01T08:00:00Z, or a path") from None


def _iteration(part: LocatedNode, reading: Reading) -> Arguments:
    values = DEFINITIONS.read(_ITERATION, part, reading)
    if values.get("index_name") == values["item"]:
        raise part.get("index").failure("item and index need different keys")
    return values


def _finish_foreach(values: Arguments, _part: LocatedNode, _reading: Reading) -> Arguments:
    iteration: Arguments = values.pop("iteration", {})
    return values | iteration


def _branch(part: LocatedNode, reading: Reading) -> StepList:
    steps: StepList = DEFINITIONS.read(_BRANCH, part, reading)["steps"]
    return steps


STEP_KINDS: Final[dict[str, Shape]] = {}
"""The fields of each type of step."""

STEP: Final = Tagged("step", "type", STEP_KINDS)
STEPS: Final = Also(Items(STEP, least=1), _read_steps)

_WAIT: Final = Duration(0, WAIT_S)
"""``duration`` of a wait; that 0 is taken is assumed."""

_PATH: Final = Ruled(TEXT, _path)
_A_PATH: Final = Text(form=r"\$.*")
_KEY: Final = Text(shortest=1)

_DESCRIPTION: Final = Field("description", "", ANYTHING, help=("a description, without effect", "说明文字，不影响执行"))
_INPUT: Final = Field("inputMappings", "input_mappings", MAPPINGS,
                      help=("mapping that builds the input", "构造输入的映射"))  # fmt: skip
_OUTPUT: Final = Field("outputMappings", "output_mappings", MAPPINGS,
                       help=("mapping that builds the output", "构造输出的映射"))  # fmt: skip
_TIMEOUT: Final = Field("timeoutSeconds", "timeout_s", TIMEOUT,
                        help=("timeout of an execution", "执行的超时时间"))  # fmt: skip

FLOW: Final = Shape("flow", (
    Field("version", "version", OneOf(VERSIONS, label="version"), required=True,
          help=("the version of the language", "语言的版本")),
    Field("type", "type", OneOf(("flow",)), required=True, help=("kind of the definition", "定义的类型")),
    Field("name", "name", TEXT, help=("a name for documentation; the flow keeps the name it was created with",
                                      "仅作说明；流程的名称以创建时为准")),
    _DESCRIPTION,
    Field("steps", "steps", STEPS, required=True, help=("the steps, in order of execution", "依次执行的步骤")),
    _INPUT,
    _OUTPUT,
    _TIMEOUT,
))  # fmt: skip

_EVERY_STEP: Final = (
    Field("type", "", ANYTHING),
    Field("name", "name", Also(NAME_TEXT, _name), required=True,
          help=("name, unique in the flow", "名称，在流程中唯一")),
    _DESCRIPTION,
    _INPUT,
    _OUTPUT,
)  # fmt: skip

_END: Final = Field("end", "end", FLAG, default=False,
                    help=("whether the list of steps ends with this step", "步骤列表是否到此结束"))  # fmt: skip

_INNER_STEPS: Final = Field("steps", "steps", STEPS, help=("the steps to run then", "此时执行的步骤"))
_GOTO: Final = Field("goto", "goto", STEP_NAME,
                     help=("the next step, in the same list",
                           "同一步骤列表中的下一步骤"))  # fmt: skip
_CONDITION: Final = Field("condition", "condition", Ruled(TEXT, lambda text, _: Condition.parse(text)), required=True,
                          help=("condition of the option", "选取该选项的条件"))  # fmt: skip

_ITERATION: Final = Shape("iterationMapping", (
    Field("item", "item", _KEY, required=True,
          help=("the key of the element in the input of an iteration", "元素在每次迭代的输入中的键")),
    Field("index", "index_name", _KEY, help=("the key of its number, from 0", "元素序号的键，从 0 开始")),
    Field("collection", "collection", _PATH, required=True, help=("the path of the array", "数组的路径")),
))  # fmt: skip

_BRANCH: Final = Shape("branch", (_INNER_STEPS._replace(required=True),))


def _step_type(kind: type[Step], *own: Field, finish: Finish = as_it_is, either: tuple[Either, ...] = ()) -> StepType:
    return step_type(kind, kind.__name__.removesuffix("Step").lower(), (*_EVERY_STEP, *own), finish, either)


KINDS: Final = {
    "task": _step_type(TaskStep, *TASK, _END, finish=finish_task, either=(CALLED,)),
    "pass": _step_type(PassStep, _END),
    "wait": _step_type(
        WaitStep,
        Field("duration", "duration", Also(_WAIT, _duration, _A_PATH),
              help=("duration, or a path to it", "等待时长，或其路径")),
        Field("timestamp", "timestamp", Ruled(TEXT, _timestamp),
              help=("time to wait for, in RFC 3339, or a path to it", "等待到的时间（RFC 3339），或其路径")),
        _END,
        finish=_finish_wait,
        either=(Either(("duration", "timestamp"), refusal=Phrase("a wait has exactly one of duration and timestamp")),),
    ),
    "choice": _step_type(
        ChoiceStep,
        Field("choices", "options", Items(Shape("option", (_CONDITION, _INNER_STEPS, _GOTO), Option), least=1),
              required=True, help=("the options; the first whose condition is true is taken",
                                   "各选项；选取第一个条件为真的选项")),
        Field("default", "default", Shape("default", (_INNER_STEPS, _GOTO), Option),
              help=("where to continue if no condition is true", "没有条件为真时在何处继续")),
        _END,
    ),
    "parallel": _step_type(
        ParallelStep,
        Field("branches", "branches", Items(Also(_BRANCH, _branch), most=100, least=1), required=True,
              help=("lists of steps that run in parallel", "并行执行的步骤列表")),
        _END,
    ),
    "foreach": _step_type(
        ForeachStep,
        Field("iterationMapping", "iteration", Also(_ITERATION, _iteration), required=True,
              help=("the array to iterate over", "要遍历的数组")),
        _INNER_STEPS._replace(required=True, help=("the steps of an iteration", "每次迭代的步骤")),
        _END,
        finish=_finish_foreach,
    ),
    "succeed": _step_type(SucceedStep),
    "fail": _step_type(
        FailStep,
        Field("error", "error", TEXT, help=("the name of the error", "错误名称")),
        Field("cause", "cause", TEXT, help=("cause of the error", "错误原因")),
    ),
}  # fmt: skip
"""All types of steps by name; their classes are those of `FlowStep`."""

STEP_KINDS.update({name: each.shape for name, each in KINDS.items()})


def read_flow(root: Node) -> FlowProgram:
    """Return the flow that the document *root* defines.

    Raises: DefinitionError, for everything that would keep the flow from running as written.
    Source: flow definition language, Serverless Workflow guide; assumed: unknown fields are refused, and a name may
        stand once in the whole flow, not only in its list, so that the history's step names are clear.
    """
    outline = Reading([], {}, [])
    values = DEFINITIONS.read(FLOW, LocatedNode(root, ""), outline)
    for name in _unreachable_steps(values["steps"]):
        text = "no other step leads to {name!r} (line {line})"
        outline.warnings.append(Phrase(text, name=name, line=outline.names[name]))
    return FlowProgram(
        steps=values["steps"],
        input_mappings=values.get("input_mappings"),
        output_mappings=values.get("output_mappings"),
        timeout_s=values.get("timeout_s"),
        warnings=tuple(outline.warnings),
    )


def _unreachable_steps(steps: StepList) -> Iterator[str]:
    """Yield the names of steps, at any depth, that neither the order nor a jump leads to."""
    ways = {
        step.name: [way.target for way in step.ways(steps, position) if way.target is not None]
        for position, step in enumerate(steps.steps)
    }
    reached = reachable(ways, steps.steps[0].name)
    for step in steps.steps:
        if step.name not in reached:
            yield step.name
        for inner in step.inner_lists():
            yield from _unreachable_steps(inner)
