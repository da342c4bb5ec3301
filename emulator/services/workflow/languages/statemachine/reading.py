"""The parts of reading that all states share: foreign fields, constructors, Retry and Catch, ways through a scope.

States that no other state leads to get a remark, and so do loops without a way to an end: only an error, a stop or the
limit of events ends them.

Source: inputs and outputs, CloudFlow documentation; that a key of a constructor may not stand with and without the
suffix ``.$`` is assumed.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

from emulator.kernel.phrases import Phrase
from emulator.services.workflow.engine.json_text import canonical
from emulator.services.workflow.engine.language import DefinitionError
from emulator.services.workflow.engine.model import RetryPolicy, Step, StepList
from emulator.services.workflow.languages.document import LocatedNode, Reading, reachable, read_each, settle
from emulator.services.workflow.languages.indentation import indentation
from emulator.services.workflow.languages.notation import STEP_NAME, Definitions
from emulator.services.workflow.languages.statemachine.expressions import (
    STATE_ROOTS,
    SUFFIX,
    Expression,
    Fixed,
    Members,
    Template,
    parse,
)
from emulator.services.workflow.languages.statemachine.expressions import Items as ItemTemplates
from emulator.services.workflow.languages.statemachine.nodes import (
    Catch,
    ChoiceState,
    FailState,
    Guarded,
    State,
    SucceedState,
)
from emulator.services.workflow.languages.values import ExpressionError
from emulator.wire.schema.kinds import ABSENT, OBJECT, TEXT, Also, Duration, Field, Items, Number, Shape, Text, Whole
from emulator.wire.yaml import Scalar, Table
from emulator.wire.yaml import Sequence as YamlSequence

_DISTRIBUTED: Final = {
    "ItemReader": (
        Phrase("reading elements from object storage"),
        Phrase("let a function before list them, and ItemsPath name that"),
    ),
    "ItemBatcher": (
        Phrase("putting elements together"),
        Phrase("let a function before put them together, one list for each element"),
    ),
    "ResultWriter": (
        Phrase("writing results to object storage"),
        Phrase("let a task behind the map write them"),
    ),
    "MaxItems": (Phrase("a limit of elements"), Phrase("let a function before cut the list")),
}
"""Fields of a distributed map whose members no known source documents, each with a workaround."""

FOREIGN: Final[dict[str, str]] = {
    "OnErrors": Phrase("OnErrors is the form before 2024; write Retry and Catch"),
    **{
        name: Phrase(
            "{what}, in the distributed mode of a map, is not available here: its fields are not documented; {around}",
            what=what,
            around=around,
        )
        for name, (what, around) in _DISTRIBUTED.items()
    },
    **{
        name: Phrase("this field is of another language; here it is {own}", own=own)
        for name, own in (
            ("inputMappings", "InputConstructor"), ("outputMappings", "OutputConstructor"),
            ("errorMappings", Phrase("the OutputConstructor of Catch")),
            ("Resource", "Action"), ("resourceArn", "Action"),
            ("ResultPath", "OutputConstructor"), ("ResultSelector", "OutputConstructor"),
            ("InputPath", "InputConstructor"), ("OutputPath", "OutputConstructor"), ("Result", "OutputConstructor"),
            ("ItemProcessor", "Processor"), ("Iterator", "Processor"), ("Choices", "Branches"),
            ("ErrorEquals", "Errors"), ("Cause", "Detail"), ("TimeoutSeconds", "Timeout"), ("SecondsPath", "Seconds.$"),
            ("goto", "Next"), ("steps", "States"), ("version", "SpecVersion"), ("pattern", "TaskMode"),
            ("serviceParams", "Parameters"), ("Duration", "Seconds"), ("duration", "Seconds"),
            ("Timestamp", Phrase("Seconds: a wait has no end that is a time")),
        )
    },
}  # fmt: skip
"""Fields that this language or the emulator does not have, each with a sentence that helps."""


class MachineDefinitions(Definitions):
    """The notation of state machines: unknown fields get a remark, fields of other languages are refused."""

    def unknown(
        self, part: LocatedNode, known: Collection[str], reading: Reading, shape: Shape | None = None
    ) -> Iterator[DefinitionError]:
        """Yield a mistake for fields of another language or in the wrong case; other unknown fields get a remark."""
        lower = {name.lower(): name for name in known}
        assert isinstance(part.node, Table)
        for entry, _ in part.node.entries:
            key = entry.text
            if key in known:
                continue
            here = LocatedNode(entry, part.path(key[:200]))
            if key in FOREIGN:
                yield here.failure(FOREIGN[key])
            elif key.lower() in lower:
                meant = lower[key.lower()]
                yield here.failure(Phrase("keys are case-sensitive; did you mean {name!r}?", name=meant))
            else:
                hint = indentation(part.node, entry, shape, known) or _near(key, known)
                message = Phrase("unknown field, which is ignored")
                reading.warn(here, Phrase("{message}; {hint}", message=message, hint=hint) if hint else message)

    def both(self, shape: Shape, names: tuple[str, ...], part: LocatedNode) -> DefinitionError:
        """Return the error for a field given as it is and as an expression, or in two spellings."""
        if names[1] == names[0] + SUFFIX:
            return part.failure(_with_and_without(names[0]))
        return part.failure(Phrase("{name} stands here twice, in both spellings", name=names[0]))


DEFINITIONS: Final = MachineDefinitions()


def _with_and_without(name: str) -> Phrase:
    return Phrase("{name!r} stands here with and without '.$'", name=name)


def _near(key: str, known: Collection[str]) -> str:
    import difflib  # here, because only unusual definitions need it

    near = difflib.get_close_matches(key[:100], known, n=1)
    return Phrase("did you mean {name!r}?", name=near[0]) if near else ""


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
    """Return the JSON value at *part*, with expressions at any depth."""
    node = part.node
    if isinstance(node, YamlSequence):
        mistakes: list[DefinitionError] = []
        items = read_each(part.items(), lambda item, _: read_template(item, roots), Reading([], {}, []), mistakes)
        settle(mistakes)
        return _folded([*items], ItemTemplates(items), list)
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
    mistakes: list[DefinitionError] = []
    for key, value in node.entries:
        name = key.text.removesuffix(SUFFIX)
        inner = LocatedNode(value, f"{part.field}.{key.text[:200]}")
        wrong = _with_and_without(name) if name in members else "" if name else Phrase("a name must stand before '.$'")
        if wrong:
            mistakes.append(DefinitionError(wrong, key.line, key.column, inner.field))
            continue
        try:
            members[name] = read_expression(inner, roots) if name != key.text else read_template(inner, roots)
        except DefinitionError as mistake:
            mistakes.append(mistake)
    settle(mistakes)
    made = Members(tuple(members.items()))
    return _folded([*members.values()], made, lambda values: dict(zip(members, values, strict=True)))


def _folded(inner: list[Template], otherwise: Template, made: Callable[[list[Any]], Any]) -> Template:
    """Return *otherwise*, or one constant made of the *inner* values when none of them has an expression."""
    values = [each.value for each in inner if isinstance(each, Fixed)]
    return Fixed(made(values)) if len(values) == len(inner) else otherwise


def expression_on(roots: Collection[str]) -> Also:
    """Return the kind of an expression on *roots*."""
    return Also(Text(expected=Phrase("an expression")), lambda part, _reading: read_expression(part, roots))


def constructor_on(roots: Collection[str]) -> Also:
    """Return the kind of a map with expressions on *roots* in it."""
    return Also(OBJECT, lambda part, _reading: read_constructor(part, roots))


EXPRESSION: Final = expression_on(STATE_ROOTS)


def dynamic(field: Field, attribute: str = "") -> tuple[Field, Field]:
    """Return a field and the one with an expression in its place, which is kept as *attribute* if that is another."""
    name, attribute = field.name + SUFFIX, attribute or field.attribute
    return field, field._replace(name=name, attribute=attribute, kind=EXPRESSION, default=ABSENT)


DESCRIPTION: Final = Field("Description", "", TEXT, help=("a description, without effect", "说明文字，不影响执行"))

_ERRORS: Final = Field("Errors", "errors", Items(TEXT, least=1), required=True,
                       help=("names of errors; `FnF.ALL` matches every error",
                             "错误名称；`FnF.ALL` 匹配所有错误"))  # fmt: skip

RETRY: Final = Shape("Retry", (
    _ERRORS,
    DESCRIPTION,
    Field("MaxAttempts", "max_attempts", Whole(0, 2**31 - 1), required=True,
          help=("maximum number of retries", "最大重试次数")),
    Field("IntervalSeconds", "interval_s", Duration(0, 86_400), required=True,
          help=("the pause before the first retry", "第一次重试前的间隔")),
    Field("BackoffRate", "multiplier", Number(0, 2**31 - 1), default=1,
          help=("multiplier of the pause after each retry", "每次重试后间隔的倍数")),
    Field("MaxBackoffSeconds", "max_interval_s", Duration(0, 86_400), default=86_400,
          help=("longest pause", "最长的间隔")),
), RetryPolicy)  # fmt: skip
"""The ends of attempts and rate are assumed: they keep the arithmetic finite."""

CATCH: Final = Shape("Catch", (
    _ERRORS,
    DESCRIPTION,
    Field("Next", "goto", STEP_NAME, required=True,
          help=("the next state, in the same scope", "同一作用域中的下一状态")),
    Field("OutputConstructor", "output", constructor_on(STATE_ROOTS),
          help=("expressions that build the input of that state", "构造该状态输入的表达式")),
), Catch)  # fmt: skip

GUARDED: Final = (
    Field("Retry", "retry", Items(RETRY), help=("retry rules; the first that names the error applies",
                                                "重试规则；第一条列出该错误的规则生效")),
    Field("Catch", "catch", Items(CATCH), help=("where to continue after an error", "出错后在何处继续")),
)  # fmt: skip
"""The fields of states that retry and catch."""


def _ways_out(state: Step) -> list[str]:
    """Return the names of the states that *state* may lead to."""
    if isinstance(state, ChoiceState):
        return [*(branch.next for branch in state.branches), state.default]
    caught = [rule.goto for rule in state.catch] if isinstance(state, Guarded) else []
    return [state.next, *caught] if isinstance(state, State) and state.next is not None else caught


def check_ways(steps: StepList, parts: Sequence[LocatedNode], warn: Callable[[LocatedNode, str], None]) -> None:
    """Warn about states that no state leads to, or that lead to no end; *parts* are their places."""
    ways = {step.name: _ways_out(step) for step in steps.steps}
    reached = reachable(ways, steps.steps[steps.start].name)
    finishing = _finishing(steps, ways)
    for step, part in zip(steps.steps, parts, strict=True):
        if step.name not in reached:
            warn(part, Phrase("no other state leads to {name!r}", name=step.name))
        elif step.name not in finishing:
            message = "no way leads from the state {name!r} to an end: it runs in a loop for ever"
            warn(part, Phrase(message, name=step.name))


def _finishing(steps: StepList, ways: dict[str, list[str]]) -> set[str]:
    """Return the states from which an end of the scope can be reached."""
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
