"""Evaluates the expressions of states: inputs, outputs, branches, seconds, elements, parameters.

`Data` are the values of the roots, with ``$Context`` made only when it is read. Each function evaluates the values that
one event records; *number* is the id of that event, from which random values follow, so that they are the same on every
evaluation. All functions raise TooMuchData, and EvaluationError, ValueError or RecursionError for an expression that
cannot be evaluated.

Source: system variables, CloudFlow documentation. That there is a task token only where one is waited for is assumed.
"""

import hashlib
from typing import Any, Final, assert_never

from emulator.services.workflow.engine.decide import TooMuchData, check_size
from emulator.services.workflow.engine.json_text import Json, canonical, with_text
from emulator.services.workflow.engine.language import EvaluationError, Facts
from emulator.services.workflow.engine.model import ROOT, Entry, whole_number
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.languages.statemachine.expressions import Expression, Fixed, Template
from emulator.services.workflow.languages.statemachine.nodes import (
    EXPRESS_WAIT_S,
    TIMEOUT_S,
    WAIT_S,
    ChoiceState,
    Elements,
    FailState,
    MapState,
    ParallelState,
    PassState,
    State,
    SucceedState,
    TaskState,
    WaitState,
    array_of,
    machine_state,
)
from emulator.services.workflow.languages.terms import Budget, Evaluation
from emulator.services.workflow.languages.values import MISSING

SURELY_FITS: Final = 16 * 1024
"""This many characters are within the limit in any encoding."""

ITEMS_BYTES: Final = 1024 * 1024
"""Most data of elements that a map records; assumed."""

VARIABLE_BYTES: Final = 256 * 1024
"""Longest value of ``$Global``."""


class EventChance:
    """Random values for what one event records: a function of the execution's secret and the event's number."""

    __slots__ = ("_count", "_facts", "_number", "_seed")

    def __init__(self, facts: Facts, number: int) -> None:
        self._facts = facts
        self._number = number
        self._seed = b""
        self._count = 0

    def number(self) -> int:
        """Return the next random number of 128 bits."""
        self._seed = self._seed or self._facts.chance(self._number)
        self._count += 1
        drawn = hashlib.sha256(self._seed + self._count.to_bytes(8, "big")).digest()
        return int.from_bytes(drawn[:16], "big")


class Data:
    """The values of the roots in one state.

    *value* is ``$Input``; *entry* the id of the state's StepEntered and *retries* how often it was tried again, for
    the token. Set ``output``, ``error`` and ``item`` where they have a value.
    """

    __slots__ = ("_context", "_entry", "_facts", "_input", "_retries", "_state", "_step", "error", "item", "output")

    def __init__(self, facts: Facts, state: ExecutionState, step: State, value: Any, entry: int, retries: int) -> None:
        self._facts = facts
        self._state = state
        self._step = step
        self._input = value
        self._entry = entry
        self._retries = retries
        self._context: dict[str, Any] | None = None
        self.output: Any = MISSING
        self.error: tuple[str, str] | None = None
        self.item: Any = MISSING

    def find(self, root: str) -> Any:
        """Return the value of a root, `MISSING` for one that has none here."""
        match root:
            case "$Input":
                return self._input
            case "$Output":
                return self.output
            case "$Global":
                return self._state.variables
            case "$Item":
                return self.item
            case _:
                if self._context is None:
                    self._context = self._made_context()
                return self._context

    def evaluation(self, number: int) -> Evaluation:
        """Return the evaluation for the expressions of event *number*."""
        return Evaluation(self.find, EventChance(self._facts, number), Budget())

    def _made_context(self) -> dict[str, Any]:
        facts = self._facts
        current: dict[str, Any] = {"Name": self._step.name, "Input": self._input, "RetryCount": self._retries}
        if self.output is not MISSING:
            current["Output"] = self.output
        if self.error is not None:
            current["Error"] = {"Code": self.error[0], "Detail": self.error[1]}
        if isinstance(self._step, TaskState) and self._step.pattern == "waitForCallback":
            current["TaskToken"] = facts.token(self._entry, self._retries)
        execution = {
            "Name": facts.execution_name,
            "Input": self._state.strands[ROOT].scopes[0].input,
            "RoleArn": facts.role_arn,
        }
        return {"Execution": execution, "Current": current}


def state_of(entry: Entry) -> State:
    """Return the state that has been entered."""
    assert isinstance(entry.step, State)
    return entry.step


def data_of(facts: Facts, state: ExecutionState, entry: Entry) -> Data:
    """Return the data for the expressions of the state of *entry*."""
    return Data(facts, state, state_of(entry), entry.input, entry.id, entry.retries)


def built(facts: Facts, template: Template | Elements, data: Data, number: int) -> Json:
    """Return the value of a constructor for event *number*."""
    if type(template) is Fixed and template.text is not None:
        made = Json(template.value, template.text)
    else:
        made = with_text(template.build(data.evaluation(number)))
    if len(made.text) > SURELY_FITS:
        check_size(facts, made.text)
    return made


def constructed_input(facts: Facts, state: ExecutionState, entry: Entry, number: int) -> Json:
    """Return the constructed input of a state that has been entered."""
    template = state_of(entry).input
    if template is None:
        return entry.given
    return built(facts, template, data_of(facts, state, entry), number)


def raw_output(entry: Entry) -> Any:
    """Return the output of a state before its OutputConstructor."""
    state = machine_state(entry.step)
    match state:
        case ParallelState():
            return {f"Branch{index}": result for index, result in enumerate(entry.local or ())}
        case MapState():
            return {"Items": entry.local or []}
        case TaskState():
            return entry.local
        case PassState() | SucceedState() | ChoiceState() | WaitState() | FailState():
            return entry.input
        case _:
            assert_never(state)


def outcome(
    facts: Facts, state: ExecutionState, entry: Entry, number: int, exit_number: int
) -> tuple[Json, dict[str, Any] | None]:
    """Return the output of a state, and the members it writes to ``$Global``, None for none.

    *number* is that of the event that records the output, *exit_number* that of StepExited.

    Raises: TooMuchData; ValueError when something cannot be evaluated.
    """
    step = state_of(entry)
    raw = raw_output(entry)
    if step.output is None and step.variables is None and raw is entry.input:
        return entry.given, None
    data = data_of(facts, state, entry)
    data.output = raw
    if step.output is not None:
        output = built(facts, step.output, data, number)
    elif raw is entry.input:
        output = entry.given
    else:
        output = with_text(raw)
        check_size(facts, output.text)
    if step.variables is None:
        return output, None
    variables: dict[str, Any] = step.variables.build(data.evaluation(exit_number))
    for name, value in variables.items():
        if len(canonical(value).encode()) > VARIABLE_BYTES:
            raise TooMuchData(f"The value of {name!r} in $Global has more than {VARIABLE_BYTES} bytes.")
    return output, variables


def text_of(source: str | Expression, data: Data, number: int) -> str:
    """Return a text that is constant or evaluated."""
    value = source.build(data.evaluation(number)) if isinstance(source, Expression) else source
    return value if isinstance(value, str) else canonical(value)


def chosen_branch(step: ChoiceState, data: Data, number: int) -> int:
    """Return the index of the first branch whose condition holds; for the default, the index after the last."""
    evaluation = data.evaluation(number)
    for index, branch in enumerate(step.branches):
        holds = branch.condition.build(evaluation)
        if not isinstance(holds, bool):
            raise EvaluationError(f"the condition {branch.condition.text[:200]!r} gives no boolean")
        if holds:
            return index
    return len(step.branches)


def seconds_of(facts: Facts, step: WaitState, data: Data, number: int) -> int:
    """Return how long a wait lasts."""
    if isinstance(step.seconds, int):
        return step.seconds
    value = step.seconds.build(data.evaluation(number))
    longest = EXPRESS_WAIT_S if facts.is_express else WAIT_S
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= longest:
        raise EvaluationError(f"the seconds of a wait must be a whole number from 1 to {longest}")
    return value


def elements_of(step: MapState, data: Data, number: int) -> list[Any] | None:
    """Return the elements of a map that have to be recorded; None when they follow from the input."""
    evaluation = data.evaluation(number)
    elements = array_of(step.items, evaluation)
    if step.item is None:
        if step.items_follow:
            return None
        items = elements
    else:
        items = []
        for element in elements:
            data.item = element
            items.append(step.item.build(evaluation))
    if len(canonical(items).encode()) > ITEMS_BYTES:
        raise EvaluationError(f"the elements of the map hold more than {ITEMS_BYTES} bytes")
    return items


def timeout_of(expression: Expression, data: Data, number: int) -> int | None:
    """Return the seconds an attempt may take; None when it may take for ever."""
    try:
        return whole_number(expression.build(data.evaluation(number)), 0, TIMEOUT_S) or None
    except ValueError as error:
        raise EvaluationError(f"the Timeout {error}") from error
