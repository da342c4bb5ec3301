"""A definition's text -> a machine: the top level, scopes and the eight kinds of state, checked as a whole.

Fields that are not known are left alone, as the vendor adds some every year, with a remark for the log; names that
belong to other languages, or differ from a known field in case only, are refused, because leaving them alone would make
another flow of it.

Source: states, CloudFlow documentation. Assumed: what is refused beyond missing fields and ranges.
"""

from collections.abc import Callable, Collection
from typing import Final

from emulator.kernel.paging import Range
from emulator.services.workflow.engine.model import StepList
from emulator.services.workflow.languages.fields import Fields, LocatedNode, Reading, whole
from emulator.services.workflow.languages.statemachine.actions import ACTIONS, Action, Kind, read_action
from emulator.services.workflow.languages.statemachine.decide import MachineProgram
from emulator.services.workflow.languages.statemachine.expressions import (
    ITEM_ROOTS,
    RESULT_ROOTS,
    STATE_ROOTS,
    SUFFIX,
    Expression,
    Fixed,
    Members,
    Template,
)
from emulator.services.workflow.languages.statemachine.nodes import (
    MAP_ITEMS,
    PATTERNS,
    Branch,
    ChoiceState,
    DistributedMapState,
    Elements,
    FailState,
    MapState,
    ParallelState,
    PassState,
    State,
    SucceedState,
    TaskState,
    WaitState,
)
from emulator.services.workflow.languages.statemachine.reading import (
    Arguments,
    check_ways,
    constructor_of,
    read_constructor,
    read_expression,
    read_fields,
    read_policies,
)
from emulator.services.workflow.limits import NAME_MAX
from emulator.services.workflow.ports import ActionResource, MapResource
from emulator.wire.yaml import Node, Table

WAIT_S: Final = Range(1, 300, 1)
"""Seconds of a wait."""

BRANCHES: Final = Range(1, 50, 1)
"""Branches of a parallel."""

AT_ONCE: Final = Range(1, 40, 40)
"""Iterations of a map that run side by side."""

DISTRIBUTED_AT_ONCE: Final = Range(1, 100, 100)
DISTRIBUTED_FAILURES: Final = Range(0, MAP_ITEMS, 0)
"""Executions of a distributed map that run side by side, and that may fail."""

MAP_RUN: Final = Action("Map", ActionResource("Map", "Run"), "sync", Kind({}, ("sync",)))

TIMEOUT_S: Final = Range(0, 604_800, 0)
"""Seconds of a task's attempt; 0 is without end."""


_DOCUMENT: Final = frozenset({"Type", "Name", "SpecVersion", "StartAt", "States", "Description"})
_SCOPE: Final = frozenset({"StartAt", "States"})
_EVERY_STATE: Final = frozenset({"Type", "Name", "Description", "InputConstructor"})
_ENDING: Final = frozenset({"OutputConstructor", "GlobalConstructor"})
_GOING_ON: Final = frozenset({"Next", "End"})
_GUARDED: Final = frozenset({"Retry", "Catch"})

TOLERANCES: Final = (
    "ToleratedFailureCount", "ToleratedFailedCount", "ToleratedFailurePercentage", "ToleratedFailedPercentage",
)  # fmt: skip
"""How many executions of a distributed map may fail, in the vendor's two spellings."""


def read_machine(root: Node) -> MachineProgram:
    """Return the machine that the document *root* defines.

    Raises: DefinitionError, for everything that would keep the flow from running as written.
    """
    part = LocatedNode(root, "")
    warnings: list[str] = []
    fields = read_fields(part, _DOCUMENT, Reading(warnings, {}, []))
    kind = fields.need("Type")
    if kind.text() != "StateMachine":
        raise kind.failure("must be StateMachine")
    version = fields.need("SpecVersion")
    if version.text() != "v1":
        raise version.failure("must be v1")
    name = fields.need("Name")
    name.name()
    fields.text("Description")
    return MachineProgram(name=name.text(), steps=_scope(fields, warnings), warnings=tuple(warnings))


def _scope(fields: Fields, warnings: list[str]) -> StepList:
    """Read the list of states that *fields* has, and where it starts."""
    part = fields.need("States")
    if isinstance(part.node, Table):
        raise part.failure("must be a list of states, each with its Name")
    reading = Reading(warnings, {}, [])
    items = part.items(least=1)
    states = tuple(_state(item, reading) for item in items)
    index = {state.name: position for position, state in enumerate(states)}
    start = fields.need("StartAt")
    for way in (*reading.jumps, start):
        if way.text() not in index:
            raise way.failure(f"there is no state {way.text()[:200]!r} in this scope; there are {_names(index)}")
    steps = StepList(steps=states, index=index, start=index[start.text()], hands_on=True)
    check_ways(steps, items, reading.warn)
    return steps


def _names(index: dict[str, int]) -> str:
    shown = ", ".join(repr(name[:60]) for name in list(index)[:10])
    return shown if len(index) <= 10 else f"{shown} and {len(index) - 10} more"


def _state(part: LocatedNode, reading: Reading) -> State:
    anything = Fields(part)
    kind = anything.need("Type")
    if kind.text() not in _KINDS:
        raise kind.failure(f"unknown type of state; there are {', '.join(_KINDS)}")
    node, own_fields, read = _KINDS[kind.text()]
    fields = read_fields(part, _EVERY_STATE | own_fields, reading)
    name = fields.need("Name")
    if not name.text() or len(name.text()) > NAME_MAX:
        raise name.failure(f"must be a name of 1 to {NAME_MAX} characters")
    fields.text("Description")
    reading.enter("state", name)
    arguments = read(fields, reading)
    if isinstance(arguments.get("resource"), MapResource):
        node = DistributedMapState
    if "Next" in own_fields:
        arguments["next"] = _next(fields, reading)
    elif fields.find("End") is not None:
        fields.flag("End")
    return node(
        name=name.text(),
        input=constructor_of(fields, "InputConstructor", STATE_ROOTS),
        output=constructor_of(fields, "OutputConstructor", RESULT_ROOTS),
        variables=_variables(fields),
        **arguments,
    )


def _next(fields: Fields, reading: Reading) -> str | None:
    following, ends = fields.find("Next"), fields.flag("End")
    if following is not None and ends:
        raise following.failure("a state has Next or 'End: true', not both")
    if following is None:
        if not ends:
            raise fields.part.failure("a state of this type needs Next or 'End: true'")
        return None
    reading.jumps.append(following)
    return following.text()


def _variables(fields: Fields) -> Template | None:
    part = fields.find("GlobalConstructor")
    if part is None:
        return None
    constructor = read_constructor(part, RESULT_ROOTS)
    assert isinstance(part.node, Table)
    for key, _ in part.node.entries:
        if len(key.text.removesuffix(SUFFIX).encode()) > KEY_BYTES:
            raise LocatedNode(key, part.field).failure(f"a key of $Global has at most {KEY_BYTES} bytes")
    return constructor


KEY_BYTES: Final = 128
"""Longest key of ``$Global``."""


def _nothing(read_fields: Fields, _reading: Reading) -> Arguments:
    return {}


def _either(fields: Fields, key: str) -> tuple[LocatedNode | None, Expression | None]:
    """Return a field as it is, or as the expression under its key with ``.$``."""
    constant, dynamic = fields.find(key), fields.find(key + SUFFIX)
    if constant is not None and dynamic is not None:
        raise dynamic.failure(f"{key!r} stands here with and without '.$'")
    return constant, None if dynamic is None else read_expression(dynamic, STATE_ROOTS)


def _wait(fields: Fields, _reading: Reading) -> Arguments:
    constant, dynamic = _either(fields, "Seconds")
    if dynamic is not None:
        return {"seconds": dynamic}
    return {"seconds": whole(constant or fields.need("Seconds"), WAIT_S)}


def _fail(fields: Fields, _reading: Reading) -> Arguments:
    code, code_expression = _either(fields, "Code")
    detail, detail_expression = _either(fields, "Detail")
    return {
        "code": code_expression or (code.text() if code else "FnF.Fail"),
        "detail": detail_expression or (detail.text() if detail else ""),
    }


def _choice(fields: Fields, reading: Reading) -> Arguments:
    for key in ("Next", "End"):
        if (part := fields.find(key)) is not None:
            raise part.failure(f"a choice has no {key}: its Branches and Default say where it leads")
    branches = []
    for item in fields.need("Branches").items(least=1):
        branch = read_fields(item, {"Condition", "Next", "Description"}, reading)
        following = branch.need("Next")
        reading.jumps.append(following)
        branches.append(Branch(read_expression(branch.need("Condition"), STATE_ROOTS), following.text()))
    default = fields.need("Default")
    reading.jumps.append(default)
    return {"branches": tuple(branches), "default": default.text()}


def _parallel(fields: Fields, reading: Reading) -> Arguments:
    part = fields.need("Branches")
    branches = part.items(least=BRANCHES.low)
    if len(branches) > BRANCHES.high:
        raise part.failure(f"a parallel has at most {BRANCHES.high} branches")
    known = _SCOPE | {"Name", "Description"}
    scopes = [_scope(read_fields(item, known, reading), reading.warnings) for item in branches]
    return {"branches": tuple(scopes), **read_policies(fields, reading)}


def _map(fields: Fields, reading: Reading) -> Arguments:
    processor = read_fields(fields.need("Processor"), _SCOPE | {"ProcessorConfig"}, reading)
    mode = _map_mode(processor, reading)
    spelt = [part for key in ("MaxConcurrency", "MaxConcuccency") if (part := fields.find(key)) is not None]
    if len(spelt) > 1:
        raise spelt[1].failure("MaxConcurrency stands here twice, in both spellings")
    items = read_expression(fields.need("ItemsPath"), STATE_ROOTS)
    item = constructor_of(fields, "ItemConstructor", ITEM_ROOTS)
    shared = {"steps": _scope(processor, reading.warnings), **read_policies(fields, reading)}
    limit = DISTRIBUTED_AT_ONCE if mode else AT_ONCE
    at_once = whole(spelt[0], limit) if spelt else limit.default
    if not mode:
        for key in TOLERANCES:
            if (part := fields.find(key)) is not None:
                raise part.failure("only a distributed map tolerates failures")
        return {"items": items, "item": item, "at_once": at_once, **shared}
    count = _tolerated(fields, TOLERANCES[:2], DISTRIBUTED_FAILURES)
    percentage = _tolerated(fields, TOLERANCES[2:], Range(0, 100, 0))
    return {
        "action": MAP_RUN,
        "pattern": "sync",
        "resource": MapResource(at_once, mode == "Express", int(count), percentage),
        "arguments": Elements(items, item),
        **shared,
    }


def _map_mode(processor: Fields, reading: Reading) -> str:
    """Return the mode of a distributed map, empty for one that runs inline."""
    config = processor.find("ProcessorConfig")
    part = read_fields(config, {"ExecutionMode"}, reading).find("ExecutionMode") if config is not None else None
    if part is None or part.text() == "Inline":
        return ""
    if part.text() not in {"Express", "Standard"}:
        raise part.failure("must be Inline, Express or Standard")
    return part.text()


def _tolerated(fields: Fields, keys: Collection[str], limit: Range) -> float:
    spelt = [part for key in keys if (part := fields.find(key)) is not None]
    if len(spelt) > 1:
        raise spelt[1].failure("the tolerance stands here twice, in both spellings")
    return fields.number(spelt[0].field.rpartition(".")[2], limit) if spelt else 0


def _task(fields: Fields, reading: Reading) -> Arguments:
    mode = fields.find("TaskMode")
    if mode is not None and mode.text() not in PATTERNS:
        raise mode.failure(f"unknown mode; there are {', '.join(PATTERNS)}")
    pattern = PATTERNS[mode.text()] if mode is not None else "requestResponse"  # type: ignore[index]  # checked above
    part = fields.need("Action")
    try:
        action = read_action(part.text(), pattern)
    except ValueError as error:
        raise part.failure(str(error)) from error
    if mode is not None and pattern not in action.kind.patterns:
        known = [name for name, each in PATTERNS.items() if each in action.kind.patterns]
        raise mode.failure(f"for {action.name} the mode is {' or '.join(known)}")
    if action.kind.stands_for is None:
        reading.warn(part, f"{action.name} is not available here and will fail; there are {_available()}")
    constant, timeout = _either(fields, "Timeout")
    return {
        "action": action,
        "resource": action.resource,
        "pattern": pattern,
        "timeout_s": _seconds(constant) if constant else None,
        "timeout": timeout,
        "arguments": _parameters(fields, action, reading),
        **read_policies(fields, reading),
    }


def _available() -> str:
    return ", ".join(name for name, kind in ACTIONS.items() if kind.stands_for is not None)


def _seconds(part: LocatedNode) -> int | None:
    """Return a time-out, a number or its digits; None for 0, which is without end."""
    text = part.text()
    if not (text.isascii() and text.isdigit() and len(text) < 10 and TIMEOUT_S.contains(int(text))):
        raise part.failure(f"must be a whole number from {TIMEOUT_S.low} to {TIMEOUT_S.high}")
    return int(text) or None


def _parameters(fields: Fields, action: Action, reading: Reading) -> Template:
    part = fields.find("Parameters")
    required = [name for name, parameter in action.kind.parameters.items() if parameter.required]
    if part is None:
        if required:
            raise fields.part.failure(f"Parameters must have {' and '.join(required)} for {action.name}")
        return Fixed({})
    template = read_constructor(part, STATE_ROOTS)
    if isinstance(template, Members):
        templates: dict[str, Template] = dict(template.members)
    else:
        assert isinstance(template, Fixed)
        templates = {name: Fixed(value) for name, value in template.value.items()}
    inside = Fields(part)
    for name in required:
        if name not in templates:
            raise part.failure(f"the parameter {name!r} is required")
    for name, value in templates.items():
        known = action.kind.parameters.get(name)
        here = inside.raw(name) or part
        if known is None and action.kind.parameters:
            reading.warn(here, f"{action.name} has no parameter {name!r}, which is ignored")
        elif known is not None and isinstance(value, Fixed) and value.value is not None:
            try:
                known.check(value.value)
            except ValueError as error:
                raise here.failure(str(error)) from error
    return template


_KINDS: Final[
    dict[str, tuple[type[State], frozenset[str], Callable[[Fields, Reading], Arguments]]]
] = {
    "Pass": (PassState, _ENDING | _GOING_ON, _nothing),
    "Wait": (WaitState, frozenset({"Seconds", "Seconds.$"}) | _ENDING | _GOING_ON, _wait),
    "Succeed": (SucceedState, _ENDING | {"End"}, _nothing),
    "Fail": (FailState, frozenset({"Code", "Code.$", "Detail", "Detail.$", "End", "OutputConstructor"}), _fail),
    "Choice": (ChoiceState, frozenset({"Branches", "Default", "GlobalConstructor"}), _choice),
    "Parallel": (ParallelState, frozenset({"Branches"}) | _ENDING | _GOING_ON | _GUARDED, _parallel),
    "Map": (
        MapState,
        frozenset({"ItemsPath", "Processor", "MaxConcurrency", "MaxConcuccency", "ItemConstructor", *TOLERANCES})
        | _ENDING | _GOING_ON | _GUARDED,
        _map,
    ),
    "Task": (
        TaskState,
        frozenset({"Action", "TaskMode", "Parameters", "Timeout", "Timeout.$"}) | _ENDING | _GOING_ON | _GUARDED,
        _task,
    ),
}  # fmt: skip
"""For each type: its class, its fields beyond those of every state, and what reads them."""
