"""The parsed machine: one frozen data class per kind of state, and `MachineState`, the union of them.

Nodes hold the checked definition, with every expression compiled, and implement `engine.model.Step` for the fold. The
events of a run are decided in `languages.statemachine.decide`.
"""

from typing import Any, ClassVar, Final, Literal, NamedTuple, cast

from emulator.kernel.frozen import frozen
from emulator.kernel.phrases import Phrase
from emulator.services.workflow.engine import model
from emulator.services.workflow.engine.language import EvaluationError
from emulator.services.workflow.engine.model import (
    Beginning,
    Branching,
    CatchPolicy,
    Definition,
    Entry,
    Fork,
    ParameterError,
    Plain,
    RetryPolicy,
    StepList,
    Task,
)
from emulator.services.workflow.engine.notation import Notation, Pattern
from emulator.services.workflow.engine.outline import StepKind, Way
from emulator.services.workflow.languages.statemachine.actions import Action
from emulator.services.workflow.languages.statemachine.expressions import Expression, Fixed, Members, Path, Template
from emulator.services.workflow.languages.terms import Evaluation
from emulator.services.workflow.languages.values import as_input
from emulator.services.workflow.ports import Resource

DATA_BYTES: Final = 64 * 1024
"""Input and output of a state, each, and the data of one event, in bytes of JSON."""

WAIT_S: Final = 300
"""Longest wait."""

TIMEOUT_S: Final = 604_800
"""Longest ``Timeout`` of a task's attempt."""

EXPRESS_WAIT_S: Final = 20
"""Longest wait of an express flow."""

MAP_ITEMS: Final = 10_000
"""Elements of a distributed map."""

Mode = Literal["RequestComplete", "WaitForSystemCallback", "WaitForCustomCallback"]

PATTERNS: Final[dict[Mode, Pattern]] = {
    "RequestComplete": "requestResponse",
    "WaitForSystemCallback": "sync",
    "WaitForCustomCallback": "waitForCallback",
}
MODES: Final[dict[Pattern, Mode]] = {pattern: mode for mode, pattern in PATTERNS.items()}


@frozen
class State(model.Step):
    """The fields of every state. ``next`` is the name of the state that follows, None at the end of the scope.

    A constructor that is None leaves the value as it is.
    """

    next: str | None = None
    input: Template | None = None
    output: Template | None = None
    variables: Template | None = None
    """The GlobalConstructor."""

    def next_position(self, steps: StepList, position: int) -> int:
        """Return the position of the next state, or the end."""
        return len(steps.steps) if self.next is None else steps.index[self.next]

    def onward(self) -> list[Way]:
        """Return the way to the state that follows."""
        return [Way(self.next)]


@frozen
class PlainState(Plain, State):
    """A state without inner states, which is followed by the next one."""

    def ways(self, steps: StepList, position: int) -> list[Way]:
        """Return the way to the next state."""
        return self.onward()


@frozen
class Catch(CatchPolicy):
    """A rule of Catch; the result of its ``output`` is the input of the state that follows."""

    output: Template | None = None


@frozen
class Guarded(State):
    """A state with Retry and Catch."""

    retry: tuple[RetryPolicy, ...] = ()
    catch: tuple[Catch, ...] = ()

    def ways(self, steps: StepList, position: int) -> list[Way]:
        """Return the way to the next state, and those of errors that are caught."""
        caught = [Way(rule.goto, ", ".join(rule.errors), caught=n) for n, rule in enumerate(self.catch)]
        return [*self.onward(), *caught]

    def policies(self) -> tuple[tuple[RetryPolicy, ...], tuple[CatchPolicy, ...]]:
        """Return Retry and Catch."""
        return self.retry, self.catch


@frozen
class PassState(PlainState):
    """Emits constants or reshapes its input."""

    ends_at_once: ClassVar[bool] = True
    kind: ClassVar[StepKind] = "pass"


@frozen
class SucceedState(PlainState):
    """Ends its scope; the scope's output is its own."""

    ends_at_once: ClassVar[bool] = True
    kind: ClassVar[StepKind] = "succeed"


@frozen
class WaitState(PlainState):
    """Waits for some seconds."""

    seconds: int | Expression

    kind: ClassVar[StepKind] = "wait"

    def about(self) -> str:
        """Return the duration of the wait."""
        return f"{self.seconds} s" if isinstance(self.seconds, int) else self.seconds.text


@frozen
class FailState(PlainState):
    """Ends its scope with an error."""

    code: str | Expression
    detail: str | Expression

    kind: ClassVar[StepKind] = "fail"

    def about(self) -> str:
        """Return the error and its cause."""
        texts = (each.text if isinstance(each, Expression) else each for each in (self.code, self.detail))
        return " ".join(filter(None, texts))

    def ways(self, steps: StepList, position: int) -> list[Way]:
        """Return an empty list: no state follows."""
        return []


class Branch(NamedTuple):
    """One way out of a choice."""

    condition: Expression
    next: str


@frozen
class ChoiceState(PlainState):
    """Goes on at the first branch whose condition is true, else at the default."""

    can_be_skipped: ClassVar[bool] = False

    branches: tuple[Branch, ...]
    default: str

    kind: ClassVar[StepKind] = "choice"

    def ways(self, steps: StepList, position: int) -> list[Way]:
        """Return a way for each branch, and the default."""
        ways = [Way(branch.next, branch.condition.text, option=n) for n, branch in enumerate(self.branches)]
        return [*ways, Way(self.default, "default", option=len(ways))]

    def target(self, mark: int | None) -> str:
        """Return the state that branch number *mark* leads to; the number after the last stands for the default."""
        return self.branches[mark].next if mark is not None and mark < len(self.branches) else self.default


@frozen
class ParallelState(Branching, Guarded):
    """Runs its branches side by side."""

    branches: tuple[StepList, ...]

    kind: ClassVar[StepKind] = "parallel"


@frozen
class MapState(Guarded):
    """Runs its states once per element of an array."""

    items: Expression
    item: Template | None = None
    """The ItemConstructor."""
    steps: StepList
    at_once: int

    kind: ClassVar[StepKind] = "foreach"

    def about(self) -> str:
        """Return the expression of the elements."""
        return self.items.text

    @property
    def items_follow(self) -> bool:
        """Whether the elements follow from the state's input, so that they need not be recorded."""
        return isinstance(self.items.tree, Path) and self.items.tree.root == "$Input"

    def items_of(self, value: Any) -> Any:
        """Return the elements in the input *value*, where they follow from it."""
        for segment in self.items.tree.segments if isinstance(self.items.tree, Path) else ():
            value = value[segment]
        return value

    def fork(self, value: Any, freed: int, items: list[Any] | None = None) -> Fork:
        """Return a fork with one strand for each element."""
        elements = self.items_of(value) if items is None else items
        fork = Fork(len(elements), freed, elements)
        fork.own_items = items is not None
        return fork

    def branch(self, entry: Entry, index: int) -> tuple[StepList, Any]:
        """Return the states of an iteration, and its element as input."""
        items = entry.fork.items if entry.fork is not None else None
        return self.steps, {} if items is None else as_input(items[index])

    def parts(self) -> list[tuple[str, StepList]]:
        """Return the states of an iteration."""
        return [("each iteration", self.steps)]


def array_of(items: Expression, evaluation: Evaluation) -> list[Any]:
    """Return the value of ItemsPath.

    Raises: EvaluationError when it is no array.
    """
    elements = items.build(evaluation)
    if not isinstance(elements, list):
        raise EvaluationError(f"ItemsPath {items.text[:200]!r} gives no array")
    return elements


@frozen
class TaskState(Guarded, Task):
    """Calls a service."""

    sends_parameters: ClassVar[bool] = True

    action: Action
    resource: Resource
    resource_arn: str = ""
    pattern: Pattern = "requestResponse"
    timeout_s: int | None = None
    timeout: Expression | None = None
    arguments: "Template | Elements" = Fixed({})
    """The Parameters."""

    kind: ClassVar[StepKind] = "task"

    def about(self) -> str:
        """Return the called resource if it is a constant, else the action; with the mode when it waits."""
        resource = self.written_target()
        return resource.label if self.pattern == "requestResponse" else f"{resource.label}, {MODES[self.pattern]}"

    def parts(self) -> list[tuple[str, StepList]]:
        """Return an empty list."""
        return []

    @property
    def answers_in_full(self) -> bool:  # type: ignore[override]  # it depends on what is called
        """Whether the output of a call is an object with the reply's code, header and body."""
        return self.action.kind.answers_in_full and self.pattern == "requestResponse"

    def parameters(self, value: Any) -> dict[str, Any]:
        """Return the parameters under the engine's names.

        Raises: ParameterError.
        """
        return self.action.parameters(value)

    def target(self, value: Any) -> Resource:
        """Return the resource that a call with the parameters *value* goes to.

        Raises: ParameterError.
        """
        return self.action.target(value)

    def written_target(self) -> Resource:
        """Return the resource that the definition names, else the one of its action."""
        called: dict[str, Any] = {}
        if isinstance(self.arguments, Members):
            called = {name: each.value for name, each in self.arguments.members if isinstance(each, Fixed)}
        elif isinstance(self.arguments, Fixed):
            called = self.arguments.value
        try:
            return self.target(called)
        except ParameterError:
            return self.action.resource

    def event(self, value: Any, text: str) -> bytes:
        """Return the body for the function."""
        return self.action.event(value)

    def child_reply(self, members: dict[str, Any], request_id: str) -> dict[str, Any]:
        """Return the names of the flow and the execution, and the id of the request."""
        return {"FlowName": members["FlowName"], "ExecutionName": members["Name"], "RequestID": request_id}

    @property
    def reply_is_result(self) -> bool:
        """Whether the end of the call is awaited, rather than reported with a token."""
        return self.pattern == "sync" and self.action.reply_is_result

    def timeout_of(self, entry: Entry) -> int | None:
        """Return the seconds the attempt may take, as recorded when it was scheduled."""
        return entry.mark


@frozen(kw_only=False)
class Elements:
    """The elements of a distributed map, as the parameters of its call: ``{"items": [...]}``."""

    items: Expression
    item: Template | None

    def build(self, evaluation: Evaluation) -> dict[str, Any]:
        """Return the elements, not yet made into inputs: the wrapping would count against the limit of data.

        Raises: EvaluationError when ItemsPath gives no array.
        """
        elements = array_of(self.items, evaluation)
        if len(elements) > MAP_ITEMS:
            raise EvaluationError(f"a distributed map has at most {MAP_ITEMS} elements")
        if self.item is None:
            return {"items": elements}
        return {"items": [self.item.build(_of_element(evaluation, element)) for element in elements]}


def _of_element(evaluation: Evaluation, element: Any) -> Evaluation:
    def find(root: str) -> Any:
        return element if root == "$Item" else evaluation.find(root)

    return Evaluation(find, evaluation.chance, evaluation.budget)


@frozen
class DistributedMapState(TaskState):
    """Runs its states in an execution of its own for each element of an array.

    It is a task that starts the run and waits for its end.
    """

    begins_map_run: ClassVar[bool] = True

    steps: StepList

    kind: ClassVar[StepKind] = "foreach"

    def about(self) -> str:
        """Return an empty text: the states of an element are shown."""
        return ""

    def target(self, value: Any) -> Resource:
        """Return the bounds of the run."""
        return self.resource

    def parameters(self, value: Any) -> dict[str, Any]:
        """Return the elements."""
        return {"items": value["items"]}

    @property
    def reply_is_result(self) -> bool:
        """Return False: the end of a run is reported."""
        return False

    def parts(self) -> list[tuple[str, StepList]]:
        """Return the states of an element."""
        return [("each element, as an execution", self.steps)]


MachineState = (
    PassState | WaitState | SucceedState | FailState | ChoiceState | ParallelState | MapState | TaskState
    | DistributedMapState
)  # fmt: skip
"""Every kind of state. A ``match`` on it ends with ``assert_never``, so that a type checker finds a forgotten kind."""


def machine_state(step: model.Step) -> MachineState:
    """Cast a step to `MachineState`: the scopes of a machine hold no others."""
    return cast(MachineState, step)


@frozen
class Machine(Definition):
    """A whole definition. ``warnings`` are for the log, not for the client."""

    notation: ClassVar[Notation] = Notation(
        target="action", mode="taskMode", modes=MODES, seconds="seconds", left="output"
    )
    """Source: assumed as a whole, like the members of the details; no history of this language has been published."""

    step_data_bytes: ClassVar[int] = DATA_BYTES
    needs_description: ClassVar[bool] = False

    name: str
    steps: StepList
    timeout_s: int | None = None
    warnings: tuple[str, ...] = ()

    def begin(self, value: Any, beginning: Beginning) -> Any:
        """Return the execution's input."""
        return value

    def unfit_for_express(self) -> str | None:
        """Return why the machine cannot be express, None when it can."""
        return unfit_for_express(self.steps)


def unfit_for_express(steps: StepList) -> str | None:
    """Return why *steps* cannot run in an express execution (tasks that wait for callbacks, long waits); else None.

    Source: Standard and Express, CloudFlow documentation.
    """
    for state in model.all_steps(steps):
        if isinstance(state, TaskState) and state.pattern != "requestResponse":
            text = "the TaskMode {mode} of state {name!r} is not for express flows"
            return Phrase(text, mode=MODES[state.pattern], name=state.name)
        if isinstance(state, WaitState) and isinstance(state.seconds, int) and state.seconds > EXPRESS_WAIT_S:
            text = "state {name!r} waits longer than the {most} seconds of express flows"
            return Phrase(text, name=state.name, most=EXPRESS_WAIT_S)
    return None
