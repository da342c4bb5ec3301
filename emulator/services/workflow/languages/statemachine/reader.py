"""Reads a machine from a definition: the top level, scopes and the eight kinds of state, checked as a whole.

Unknown fields are ignored, as the vendor adds some every year, with a remark for the log; names that belong to other
languages, or differ from a known field in case only, are refused, because ignoring them would change the flow.

Source: states, CloudFlow documentation. Assumed: what is refused beyond missing fields and ranges.
"""

from typing import Final

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
    noting,
    read_each,
    settle,
    step_type,
)
from emulator.services.workflow.languages.notation import NAME_TEXT, STEP_NAME, placed
from emulator.services.workflow.languages.statemachine.actions import Action, Kind
from emulator.services.workflow.languages.statemachine.decide import MachineProgram
from emulator.services.workflow.languages.statemachine.expressions import (
    ITEM_ROOTS,
    RESULT_ROOTS,
    STATE_ROOTS,
    SUFFIX,
    Template,
)
from emulator.services.workflow.languages.statemachine.nodes import (
    MAP_ITEMS,
    WAIT_S,
    Branch,
    ChoiceState,
    DistributedMapState,
    Elements,
    FailState,
    MachineState,
    MapState,
    ParallelState,
    PassState,
    State,
    SucceedState,
    TaskState,
    WaitState,
    machine_state,
    unfit_for_express,
)
from emulator.services.workflow.languages.statemachine.reading import (
    DEFINITIONS,
    DESCRIPTION,
    EXPRESSION,
    GUARDED,
    check_ways,
    constructor_on,
    dynamic,
    read_constructor,
)
from emulator.services.workflow.languages.statemachine.tasks import TASK, TIMEOUTS, finish_task
from emulator.services.workflow.limits import NAME_MAX
from emulator.services.workflow.ports import ActionResource, MapResource
from emulator.wire.schema.kinds import (
    ANYTHING,
    FLAG,
    OBJECT,
    TEXT,
    Also,
    Duration,
    Either,
    Field,
    Items,
    Number,
    OneOf,
    Shape,
    Tagged,
    Text,
    Whole,
    record,
)
from emulator.wire.yaml import Node, Sequence, Table

AT_ONCE: Final = 40
"""Iterations of a map that run side by side, at most and by default."""

DISTRIBUTED_AT_ONCE: Final = 100
"""Executions of a distributed map that run side by side, at most and by default."""

KEY_BYTES: Final = 128
"""Longest key of ``$Global``."""

MAP_RUN: Final = Action("Map", ActionResource("Map", "Run"), "sync", Kind(record(), ("sync",)))

"""Keyword arguments for a state's class."""


def _read_states(part: LocatedNode, outer: Reading) -> tuple[tuple[MachineState, ...], list[LocatedNode], Reading]:
    """Return the states of a scope, their places, and the `Reading` of the scope."""
    if isinstance(part.node, Table):
        raise part.failure("must be a list of states, each with its Name")
    reading = Reading(outer.warnings, {}, [])
    items = part.items(least=1)
    mistakes: list[DefinitionError] = []
    states = read_each(items, _read_state, reading, mistakes)
    names = named(items, "Name") if reading.jumps else []
    mistakes.extend(_no_state(way, names) for way in reading.jumps if way.text() not in names)
    settle(mistakes)
    return states, items, reading


def _read_state(part: LocatedNode, reading: Reading) -> MachineState:
    node, shape, finish = KINDS[DEFINITIONS.tag(STATE, part)]
    values = DEFINITIONS.finished(shape, finish, part, reading)
    if isinstance(values.get("resource"), MapResource):
        node = DistributedMapState
    return machine_state(node(**values))


def _finish_scope(values: Arguments, part: LocatedNode, _reading: Reading) -> Arguments:
    """Add ``steps``, the `StepList` of a scope's states, to *values*; check its start and the ways through it."""
    start: LocatedNode | None = values.get("start")
    listed = part.find("States")
    if start is None or listed is None or not isinstance(listed.node, Sequence):
        return values
    states, items, reading = values.get("states", ((), listed.items(), None))
    index = {state.name: position for position, state in enumerate(states)}
    if start.text() not in index and start.text() not in (names := named(items, "Name")):
        raise _no_state(start, names)
    if reading is not None:
        values["steps"] = StepList(steps=states, index=index, start=index[start.text()], hands_on=True)
        check_ways(values["steps"], items, reading.warn)
    return values


def _no_state(way: LocatedNode, names: list[str]) -> DefinitionError:
    text = "there is no state {name!r} in this scope; there are {names}"
    return way.failure(Phrase(text, name=way.text()[:200], names=_names(list(dict.fromkeys(names)))))


def _names(names: list[str]) -> str:
    shown = ", ".join(repr(name[:60]) for name in names[:10])
    return shown if len(names) <= 10 else Phrase("{names} and {number} more", names=shown, number=len(names) - 10)


def _name(part: LocatedNode, reading: Reading) -> str:
    DEFINITIONS.reader(_STATE_NAME)(part, reading)
    return reading.enter("state", part)


def _variables(part: LocatedNode, _reading: Reading) -> Template:
    constructor = read_constructor(part, RESULT_ROOTS)
    assert isinstance(part.node, Table)
    for key, _ in part.node.entries:
        if len(key.text.removesuffix(SUFFIX).encode()) > KEY_BYTES:
            raise LocatedNode(key, part.field).failure(
                Phrase("a key of $Global has at most {most} bytes", most=KEY_BYTES)
            )
    return constructor


def _branch(part: LocatedNode, reading: Reading) -> StepList:
    steps: StepList = DEFINITIONS.finished(_BRANCH, _finish_scope, part, reading)["steps"]
    return steps


def _processor(part: LocatedNode, reading: Reading) -> tuple[StepList, str]:
    """Return the states of an iteration, and the mode of a distributed map, empty for one that runs inline."""
    values = DEFINITIONS.finished(_PROCESSOR, _finish_scope, part, reading)
    mode = values.get("config", {}).get("mode", "Inline")
    return values["steps"], "" if mode == "Inline" else mode


def _going_on(values: Arguments, part: LocatedNode, _reading: Reading) -> Arguments:
    leads, end = part.find("Next"), part.find("End")
    ends = values.pop("end")
    if leads is not None and ends:
        raise leads.failure("a state has Next or 'End: true', not both")
    if leads is None and (end is None or end.value() is False):
        raise part.failure("a state of this type needs Next or 'End: true'")
    return values


def _finish_choice(values: Arguments, part: LocatedNode, _reading: Reading) -> Arguments:
    mistakes = [
        found.failure(Phrase("a choice has no {key}: its Branches and Default say where it leads", key=key))
        for key in ("Next", "End")
        if (found := part.find(key)) is not None
    ]
    settle(mistakes)
    return values


def _finish_task(values: Arguments, part: LocatedNode, reading: Reading) -> Arguments:
    mistakes: list[DefinitionError] = []
    for finish in (finish_task, _going_on):
        with noting(mistakes):
            values = finish(values, part, reading)
    settle(mistakes)
    return values


def _finish_map(values: Arguments, part: LocatedNode, reading: Reading) -> Arguments:
    if "processor" not in values:  # it has a mistake, which is reported beside those of this
        return _going_on(values, part, reading)
    steps, mode = values.pop("processor")
    values["steps"] = steps
    limit = DISTRIBUTED_AT_ONCE if mode else AT_ONCE
    spelt = values.pop("at_once")
    mistakes: list[DefinitionError] = []
    at_once = limit
    with noting(mistakes):
        at_once = DEFINITIONS.reader(Whole(1, limit))(spelt, reading) if spelt is not None else limit
    failures, percentage = values.pop("failures"), values.pop("percentage")
    if not mode:
        given = filter(None, map(part.find, (*_FAILURES, *_PERCENTAGE)))
        mistakes.extend(each.failure("only a distributed map tolerates failures") for each in given)
    if mode == "Express" and (unfit := unfit_for_express(steps)) is not None:
        mistakes.append(part.get("Processor").failure(unfit))
    with noting(mistakes):
        values = _going_on(values, part, reading)
    settle(mistakes)
    if not mode:
        return {"at_once": at_once, **values}
    distributed = {
        "action": MAP_RUN,
        "pattern": "sync",
        "resource": MapResource(at_once, mode == "Express", int(failures), percentage),
        "arguments": Elements(values.pop("items", None), values.pop("item", None)),
    }
    return {**values, **distributed}


STATE_KINDS: Final[dict[str, Shape]] = {}
"""The fields of each kind of state."""

STATE: Final = Tagged("state", "Type", STATE_KINDS)

_STATE_NAME: Final = Text(NAME_MAX, 1, expected=f"a name of 1 to {NAME_MAX} characters")

_SCOPE: Final = (
    Field("States", "states", Also(Items(STATE, least=1), _read_states), required=True,
          help=("the states, in any order", "各状态，顺序不限")),
    Field("StartAt", "start", Also(TEXT, placed), required=True,
          help=("the first state", "起始状态")),
)  # fmt: skip

MACHINE: Final = Shape("StateMachine", (
    Field("Type", "type", OneOf(("StateMachine",)), required=True, help=("kind of the definition", "定义的类型")),
    Field("SpecVersion", "version", OneOf(("v1",)), required=True,
          help=("the version of the language", "语言的版本")),
    Field("Name", "name", NAME_TEXT, required=True, help=("the name of the flow", "流程的名称")),
    DESCRIPTION,
    *_SCOPE,
))  # fmt: skip

_BRANCH: Final = Shape("branch", (
    Field("Name", "", ANYTHING, help=("a description, without effect", "说明文字，不影响执行")),
    Field("Description", "", ANYTHING, help=("a description, without effect", "说明文字，不影响执行")),
    *_SCOPE,
))  # fmt: skip

_CONFIG: Final = record(
    Field("ExecutionMode", "mode", OneOf(("Inline", "Express", "Standard")),
          help=("where iterations run: in this execution, or in separate executions of this type",
                "迭代在何处运行：在本执行中，或在该类型的单独执行中")),
)  # fmt: skip

_PROCESSOR: Final = Shape("processor", (
    Field("ProcessorConfig", "config", Also(_CONFIG, lambda part, reading: DEFINITIONS.read(_CONFIG, part, reading)),
          help=("`ExecutionMode`: `Inline`, `Express` or `Standard`",
                "`ExecutionMode`：`Inline`、`Express` 或 `Standard`")),
    *_SCOPE,
))  # fmt: skip

_CHOSEN: Final = Shape("branch", (
    Field("Condition", "condition", EXPRESSION, required=True,
          help=("condition of the branch", "选取该分支的条件")),
    Field("Next", "next", STEP_NAME, required=True, help=("the next state", "下一状态")),
    Field("Description", "", ANYTHING, help=("a description, without effect", "说明文字，不影响执行")),
), Branch)  # fmt: skip

_HEAD: Final = (
    Field("Type", "", ANYTHING),
    Field("Name", "name", Also(_STATE_NAME, _name), required=True,
          help=("name, unique in the scope", "名称，在作用域中唯一")),
    DESCRIPTION,
)  # fmt: skip
_ONWARD: Final = (
    Field("Next", "next", STEP_NAME, help=("the next state, in the same scope", "同一作用域中的下一状态")),
    Field("End", "end", FLAG, default=False, help=("whether the scope ends with this state", "作用域是否到此结束")),
)  # fmt: skip
_LAST: Final = Field("End", "", FLAG, help=("whether the scope ends with this state; it always does",
                                            "作用域是否到此结束；总会结束"))  # fmt: skip
_INPUT: Final = Field("InputConstructor", "input", constructor_on(STATE_ROOTS),
                      help=("expressions that build `$Input`", "构造 `$Input` 的表达式"))  # fmt: skip
_OUTPUT: Final = Field("OutputConstructor", "output", constructor_on(RESULT_ROOTS),
                       help=("mapping that builds the output", "构造输出的映射"))  # fmt: skip
_GLOBAL: Final = Field("GlobalConstructor", "variables", Also(OBJECT, _variables),
                       help=("values added to `$Global`", "添加到 `$Global` 的内容"))  # fmt: skip

_FAILURES: Final = ("ToleratedFailureCount", "ToleratedFailedCount")
_PERCENTAGE: Final = ("ToleratedFailurePercentage", "ToleratedFailedPercentage")
"""How many executions of a distributed map may fail, in the vendor's two spellings."""


def _state_type(kind: type[State], *own: Field, finish: Finish = as_it_is, either: tuple[Either, ...] = ()) -> StepType:
    return step_type(kind, kind.__name__.removesuffix("State"), (*_HEAD, *own), finish, either)


_CONSTRUCTED: Final = (_INPUT, _OUTPUT, _GLOBAL)

KINDS: Final = {
    "Pass": _state_type(PassState, *_ONWARD, *_CONSTRUCTED, finish=_going_on),
    "Wait": _state_type(
        WaitState,
        *dynamic(Field("Seconds", "seconds", Duration(1, WAIT_S),
                        help=("duration; at most 20 seconds in express flows", "等待时长；快速模式中最多 20 秒"))),
        *_ONWARD, *_CONSTRUCTED,
        finish=_going_on,
        either=(Either(("Seconds", "Seconds.$")),),
    ),
    "Succeed": _state_type(SucceedState, _LAST, *_CONSTRUCTED),
    "Fail": _state_type(
        FailState,
        *dynamic(Field("Code", "code", TEXT, "FnF.Fail", help=("the name of the error", "错误名称"))),
        *dynamic(Field("Detail", "detail", TEXT, "", help=("cause of the error", "错误原因"))),
        _LAST, _INPUT, _OUTPUT,
        either=(Either(("Code", "Code.$"), needed=False), Either(("Detail", "Detail.$"), needed=False)),
    ),
    "Choice": _state_type(
        ChoiceState,
        Field("Branches", "branches", Items(_CHOSEN, least=1), required=True,
              help=("the branches; the first whose condition is true is taken",
                    "各分支；选取第一个条件为真的分支")),
        Field("Default", "default", STEP_NAME, required=True,
              help=("the next state if no condition is true", "没有条件为真时的下一状态")),
        _INPUT, _GLOBAL,
        finish=_finish_choice,
    ),
    "Parallel": _state_type(
        ParallelState,
        Field("Branches", "branches", Items(Also(_BRANCH, _branch), most=50, least=1), required=True,
              help=("scopes that run in parallel", "并行运行的作用域")),
        *GUARDED, *_ONWARD, *_CONSTRUCTED,
        finish=_going_on,
    ),
    "Map": _state_type(
        MapState,
        Field("Processor", "processor", Also(_PROCESSOR, _processor), required=True,
              help=("the states of an iteration", "每次迭代的状态")),
        Field("ItemsPath", "items", EXPRESSION, required=True,
              help=("an expression that gives the array", "得出数组的表达式")),
        Field("ItemConstructor", "item", constructor_on(ITEM_ROOTS),
              help=("expressions that build the input of an iteration", "构造每次迭代输入的表达式")),
        Field("MaxConcurrency", "at_once", Also(Whole(1, DISTRIBUTED_AT_ONCE), placed), None,
              names={"definition": ("MaxConcurrency", "MaxConcuccency")},
              help=(f"how many run side by side; inline up to {AT_ONCE}",
                    f"并行迭代的数量；内联运行时最多 {AT_ONCE}")),
        Field("ToleratedFailureCount", "failures", Number(0, MAP_ITEMS), 0, names={"definition": _FAILURES},
              help=("number of executions of a distributed map that may fail", "分布式 Map 允许失败的执行数量")),
        Field("ToleratedFailurePercentage", "percentage", Number(0, 100), 0, names={"definition": _PERCENTAGE},
              help=("the same in percent", "同上，以百分比表示")),
        *GUARDED, *_ONWARD, *_CONSTRUCTED,
        finish=_finish_map,
    ),
    "Task": _state_type(
        TaskState, *TASK, *GUARDED, *_ONWARD, *_CONSTRUCTED, finish=_finish_task, either=(TIMEOUTS,)
    ),
}  # fmt: skip
"""All types of states by name; their classes are those of `MachineState`."""

STATE_KINDS.update({name: each.shape for name, each in KINDS.items()})


def read_machine(root: Node) -> MachineProgram:
    """Return the machine that the document *root* defines.

    Raises: DefinitionError, for everything that would keep the flow from running as written.
    """
    warnings: list[str] = []
    values = DEFINITIONS.finished(MACHINE, _finish_scope, LocatedNode(root, ""), Reading(warnings, {}, []))
    return MachineProgram(name=values["name"], steps=values["steps"], warnings=tuple(warnings))
