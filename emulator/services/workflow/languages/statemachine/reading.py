"""What reading every state rests on: known and foreign fields, constructors, Retry and Catch, ways through a scope.

A loop that calls nothing and has no way to an end would run until the limit of events, so it is refused. One with
tasks, parallels or maps may be ended by an error and is only remarked upon, as are states that cannot be reached.

Source: inputs and outputs, CloudFlow documentation; that a key of a constructor may not stand with and without the
suffix ``.$`` is assumed.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from emulator.kernel.paging import Range
from emulator.services.workflow.engine.events import canonical
from emulator.services.workflow.engine.language import DefinitionError
from emulator.services.workflow.engine.model import RetryPolicy, Step, StepList
from emulator.services.workflow.languages.fields import Fields, LocatedNode, Reading, reachable, whole
from emulator.services.workflow.languages.statemachine.expressions import (
    STATE_ROOTS,
    SUFFIX,
    Expression,
    Fixed,
    Items,
    Members,
    Template,
    parse,
)
from emulator.services.workflow.languages.statemachine.nodes import (
    Catch,
    ChoiceState,
    FailState,
    Guarded,
    State,
    SucceedState,
)
from emulator.services.workflow.languages.values import ExpressionError
from emulator.wire.yaml import Scalar, Table
from emulator.wire.yaml import Sequence as YamlSequence

Arguments = dict[str, Any]
"""Keyword arguments for a state's class."""

_DISTRIBUTED: Final = {
    "ItemReader": "reading elements from object storage", "ItemBatcher": "putting elements together",
    "ResultWriter": "writing results to object storage", "MaxItems": "a limit of elements",
}  # fmt: skip

FOREIGN: Final[dict[str, str]] = {
    "OnErrors": "OnErrors is the form before 2024; write Retry and Catch",
    **{
        name: f"{what}, in the distributed mode of a map, is not available here: its fields are not documented"
        for name, what in _DISTRIBUTED.items()
    },
    **{
        name: f"this field is of another language; here it is {own}"
        for name, own in (
            ("inputMappings", "InputConstructor"), ("outputMappings", "OutputConstructor"),
            ("errorMappings", "the OutputConstructor of Catch"), ("Resource", "Action"), ("resourceArn", "Action"),
            ("ResultPath", "OutputConstructor"), ("ResultSelector", "OutputConstructor"),
            ("InputPath", "InputConstructor"), ("OutputPath", "OutputConstructor"), ("Result", "OutputConstructor"),
            ("ItemProcessor", "Processor"), ("Iterator", "Processor"), ("Choices", "Branches"),
            ("ErrorEquals", "Errors"), ("Cause", "Detail"), ("TimeoutSeconds", "Timeout"), ("SecondsPath", "Seconds.$"),
            ("goto", "Next"), ("steps", "States"), ("version", "SpecVersion"), ("pattern", "TaskMode"),
            ("serviceParams", "Parameters"), ("Duration", "Seconds"), ("duration", "Seconds"),
            ("Timestamp", "Seconds: a wait has no end that is a time"),
        )
    },
}  # fmt: skip
"""Fields that this language does not have, or not here, each with a sentence that helps."""

RETRY_S: Final = Range(0, 86_400, 86_400)
RETRY_ATTEMPTS: Final = Range(0, 2**31 - 1, 0)
RETRY_RATE: Final = Range(0, 2**31 - 1, 1)
"""The ends of attempts and rate are assumed: they keep the arithmetic finite."""


def read_fields(part: LocatedNode, known: Collection[str], reading: Reading) -> Fields:
    """Return the fields of a map; those that are not known are remarked upon, those of other languages refused."""
    fields = Fields(part)
    lower = {name.lower(): name for name in known}
    for key in fields:
        if key in known:
            continue
        here = LocatedNode(part.node, fields.path(key[:200]))
        if isinstance(part.node, Table):
            here = LocatedNode(next(entry for entry, _ in part.node.entries if entry.text == key), here.field)
        if key in FOREIGN:
            raise here.failure(FOREIGN[key])
        if key.lower() in lower:
            raise here.failure(f"keys are case-sensitive; did you mean {lower[key.lower()]!r}?")
        reading.warn(here, "unknown field, which is ignored" + _near(key, known))
    return fields


def _near(key: str, known: Collection[str]) -> str:
    import difflib  # here, because only unusual definitions need it

    near = difflib.get_close_matches(key[:100], known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def read_expression(part: LocatedNode, roots: Collection[str]) -> Expression:
    """Return the expression at *part*.

    Raises: DefinitionError, which points at the place of the trouble where it can.
    """
    if not isinstance(part.node, Scalar):
        raise part.failure("must be an expression")
    text = part.node.text
    try:
        return Expression(text, parse(text, roots))
    except ExpressionError as error:
        failure = part.failure(error.message)
        if part.node.inside is not None:
            failure.column += part.node.inside + error.position
        failure.expression = (text, error.position)
        raise failure from error


def read_template(part: LocatedNode, roots: Collection[str]) -> Template:
    """Return what stands at *part*, a JSON value with expressions at any depth."""
    node = part.node
    if isinstance(node, YamlSequence):
        items = tuple(read_template(item, roots) for item in part.items())
        return _folded([*items], Items(items), list)
    if isinstance(node, Table):
        return _map(part, node, roots)
    return Fixed(part.value())


def read_constructor(part: LocatedNode, roots: Collection[str]) -> Template:
    """Return a constructor, which must be a map."""
    if not isinstance(part.node, Table):
        raise part.failure("must be a map")
    made = _map(part, part.node, roots)
    return Fixed(made.value, canonical(made.value)) if isinstance(made, Fixed) else made


def _map(part: LocatedNode, node: Table, roots: Collection[str]) -> Template:
    members: dict[str, Template] = {}
    for key, value in node.entries:
        name = key.text.removesuffix(SUFFIX)
        inner = LocatedNode(value, f"{part.field}.{key.text[:200]}")
        if name in members:
            raise DefinitionError(f"{name!r} stands here with and without '.$'", key.line, key.column, inner.field)
        if not name:
            raise DefinitionError("a name must stand before '.$'", key.line, key.column, inner.field)
        members[name] = read_expression(inner, roots) if name != key.text else read_template(inner, roots)
    made = Members(tuple(members.items()))
    return _folded([*members.values()], made, lambda values: dict(zip(members, values, strict=True)))


def _folded(inner: list[Template], otherwise: Template, made: Callable[[list[Any]], Any]) -> Template:
    """Return one constant for what has no expression inside."""
    values = [each.value for each in inner if isinstance(each, Fixed)]
    return Fixed(made(values)) if len(values) == len(inner) else otherwise


def constructor_of(fields: Fields, key: str, roots: Collection[str]) -> Template | None:
    """Return the constructor under *key*, if there is one."""
    part = fields.find(key)
    return read_constructor(part, roots) if part else None


def read_policies(fields: Fields, reading: Reading) -> Arguments:
    """Return the rules of Retry and Catch."""
    retry, catch = fields.find("Retry"), fields.find("Catch")
    return {
        "retry": tuple(_retry(item, reading) for item in retry.items()) if retry else (),
        "catch": tuple(_catch(item, reading) for item in catch.items()) if catch else (),
    }


def _retry(part: LocatedNode, reading: Reading) -> RetryPolicy:
    known = {"Errors", "Description", "MaxAttempts", "IntervalSeconds", "BackoffRate", "MaxBackoffSeconds"}
    fields = read_fields(part, known, reading)
    longest = fields.whole("MaxBackoffSeconds", RETRY_S)
    return RetryPolicy(
        errors=fields.texts("Errors"),
        max_attempts=whole(fields.need("MaxAttempts"), RETRY_ATTEMPTS),
        interval_s=whole(fields.need("IntervalSeconds"), RETRY_S),
        multiplier=fields.number("BackoffRate", RETRY_RATE),
        max_interval_s=RETRY_S.default if longest is None else longest,
    )


def _catch(part: LocatedNode, reading: Reading) -> Catch:
    fields = read_fields(part, {"Errors", "Description", "OutputConstructor", "Next"}, reading)
    following = fields.need("Next")
    reading.jumps.append(following)
    return Catch(
        errors=fields.texts("Errors"),
        goto=following.text(),
        output=constructor_of(fields, "OutputConstructor", STATE_ROOTS),
    )


def _ways_out(state: Step) -> list[str]:
    """Return the names of the states that *state* may lead to."""
    if isinstance(state, ChoiceState):
        return [*(branch.next for branch in state.branches), state.default]
    caught = [rule.goto for rule in state.catch] if isinstance(state, Guarded) else []
    return [state.next, *caught] if isinstance(state, State) and state.next is not None else caught


def check_ways(steps: StepList, parts: Sequence[LocatedNode], warn: Callable[[LocatedNode, str], None]) -> None:
    """Refuse a scope that cannot end; *parts* are the places of its states, *warn* takes remarks."""
    ways = {step.name: _ways_out(step) for step in steps.steps}
    reached = reachable(ways, steps.steps[steps.start].name)
    for step, part in zip(steps.steps, parts, strict=True):
        if step.name not in reached:
            warn(part, f"nothing leads to the state {step.name!r}")
    finishing = _finishing(steps, ways)
    for step, part in zip(steps.steps, parts, strict=True):
        if step.name in finishing or step.name not in reached:
            continue
        message = f"no way leads from the state {step.name!r} to an end: it runs in a loop for ever"
        loop = reachable(ways, step.name)
        if not any(isinstance(steps.steps[steps.index[name]], Guarded) for name in loop):
            raise part.failure(message)
        warn(part, message)


def _finishing(steps: StepList, ways: dict[str, list[str]]) -> set[str]:
    """Return the states that some way leads from to an end of the scope."""
    before: dict[str, list[str]] = {}
    waiting = []
    for step in steps.steps:
        for target in ways[step.name]:
            before.setdefault(target, []).append(step.name)
        if isinstance(step, SucceedState | FailState) or (
            isinstance(step, State) and not isinstance(step, ChoiceState) and step.next is None
        ):
            waiting.append(step.name)
    finishing: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in finishing:
            finishing.add(name)
            waiting.extend(before.get(name, ()))
    return finishing
