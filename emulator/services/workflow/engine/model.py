"""The engine's interface of a definition's steps, and the data structures of an execution's state.

A definition, in any language, is a tree of step lists. `Step` and `Task` are what the engine needs of a step; each
language derives its own classes from them.

An execution is a tree too. A *strand* runs its steps one after the other: the flow itself, each branch, each iteration.
A strand has a stack of *scopes* (step lists with an input and a local): its own, and one more for each step whose
nested steps it runs, such as the option of a choice. A scope has at most one *entry*, a step that has been entered and
not exited. An entry whose step opens branches or iterations waits for these strands through its *fork*.

The classes of the execution are mutable, unlike the rest of the package: one state belongs to one driver, and copying
it for every event would cost more than all other work on a step. Only `engine.state` and `engine.snapshot` change them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any, ClassVar, NamedTuple

from emulator.kernel.clock import Millis
from emulator.kernel.digits import read_digits
from emulator.kernel.frozen import frozen
from emulator.kernel.phrases import Phrase
from emulator.services.workflow.engine.json_text import NOTHING, Json, with_text
from emulator.services.workflow.engine.notation import Notation, Pattern
from emulator.services.workflow.engine.outline import StepKind, Way
from emulator.services.workflow.limits import STEP_DATA_BYTES
from emulator.services.workflow.ports import FunctionResource, Resource


@frozen
class StepList:
    """Serial steps: the body of a flow, option, branch or iteration. Jumps stay inside one list.

    ``index`` has the position of each step by name; ``start`` is the position the list begins at. ``hands_on``: each
    step gets the output of the one before it, the first one the input of the list; so the local begins as the input.
    """

    steps: tuple["Step", ...]
    index: Mapping[str, int]
    start: int = 0
    hands_on: bool = False


@frozen
class RetryPolicy:
    """Try again on these errors, waiting longer each time. ``max_attempts`` counts retries."""

    errors: tuple[str, ...]
    interval_s: float = 1
    max_interval_s: float = 86_400
    max_attempts: int = 3
    multiplier: float = 2


@frozen
class CatchPolicy:
    """Go on at the sibling step ``goto`` when one of these errors is left after retries."""

    errors: tuple[str, ...]
    goto: str


@frozen
class Step(ABC):
    """A step of a definition: what folding a history needs of it, and its description for drawings and coverage.

    Each kind of step has its own class, which implements the abstract methods; a type checker finds missing ones.
    """

    can_be_skipped: ClassVar[bool] = True
    """Whether the next step is known without running this one."""

    ends_at_once: ClassVar[bool] = False
    """Whether the step only reshapes its data, so that it ends in the turn in which it is entered."""

    name: str

    @property
    @abstractmethod
    def kind(self) -> StepKind:
        """The kind of the step, by the names that all languages share."""

    @abstractmethod
    def about(self) -> str:
        """Return what the step calls, waits for, iterates over or fails with, for a person; may be empty."""

    @abstractmethod
    def ways(self, steps: StepList, position: int) -> list[Way]:
        """Return the ways from this step, which is at *position* of *steps*, to other steps of the list."""

    @abstractmethod
    def parts(self) -> list[tuple[str, StepList]]:
        """Return the lists of steps inside the step, with their labels.

        A choice with any inner steps has one list for each outcome, which may be empty.
        """

    def policies(self) -> tuple[tuple[RetryPolicy, ...], tuple[CatchPolicy, ...]]:
        """Return the rules by which errors of the step are retried and caught."""
        return (), ()

    def derived_input(self, scope: "Scope") -> Any:
        """Return the step's input if it follows from the *scope* it is entered in; snapshots then leave it out.

        None when it has to be kept.
        """
        return None

    def missing(self, scope: "Scope") -> list[str]:
        """Return the paths in the step's mappings, as written in the definition, that find nothing in *scope*."""
        return []

    def next_position(self, steps: StepList, position: int) -> int:
        """Return the position in *steps* that follows the step at *position* when it ends well without a jump."""
        return position + 1

    def nested(self, mark: int) -> StepList | None:
        """Return the inner steps that the same strand runs: for a choice, those of the option *mark*; None for none."""
        return None

    def fork(self, value: Any, freed: int, items: list[Any] | None = None) -> "Fork | None":
        """Return the fork of a step with input *value* that opens strands; *freed* is the id of its StepStarted.

        *items* are the elements to iterate over when its StepStarted has them, because they do not follow from *value*.
        """
        return None

    def branch(self, entry: "Entry", index: int) -> tuple[StepList, Any]:
        """Return the steps and the input of strand *index* of the fork of *entry*.

        Raises: LookupError for a step that opens none.
        """
        raise LookupError(f"the step {self.name} opens no branches")

    def inner_lists(self) -> list[StepList]:
        """Return the lists of steps that stand inside the step, without empty ones."""
        return [steps for _, steps in self.parts() if steps.steps]


class Task(ABC):
    """A step that calls a service: what the engine needs for calling, timing out, retrying and reporting.

    ``resource_arn`` is the resource as written, ``timeout_s`` the seconds an attempt may take. A mixin for a class
    that is a `Step`, too.

    ``sends_parameters`` is whether the data of TaskScheduled are parameters rather than the step's input.
    ``answers_in_full`` is whether the output of a call is an object with the reply's code, header and body, rather than
    the body.
    """

    __slots__ = ()

    begins_map_run: ClassVar[bool] = False
    """Whether the task starts the run of a distributed map, so that its submission is recorded as MapRunStarted."""

    sends_parameters: ClassVar[bool] = False
    answers_in_full: ClassVar[bool] = False

    name: str
    resource: Resource
    resource_arn: str
    pattern: Pattern
    timeout_s: int | None
    retry: tuple[RetryPolicy, ...]
    catch: tuple[CatchPolicy, ...]

    @abstractmethod
    def parameters(self, value: Any) -> dict[str, Any]:
        """Return the parameters of the call for the input *value*, under the engine's names.

        Raises: ParameterError.
        """

    def target(self, value: Any) -> Resource:
        """Return the resource that is called for the input *value*.

        Raises: ParameterError.
        """
        return self.resource

    def written_target(self) -> Resource:
        """Return the resource that is called, as far as the definition determines it."""
        return self.resource

    def event(self, value: Any, text: str) -> bytes:
        """Return the event for a called function; *text* is the JSON text of the input *value*.

        Raises: ParameterError.
        """
        return text.encode()

    def child_reply(self, members: dict[str, Any], request_id: str) -> dict[str, Any]:
        """Return the reply to a task that has started an execution, made of the *members* that describe it."""
        return {**members, "RequestId": request_id}

    @property
    def reply_is_result(self) -> bool:
        """Whether the reply of a sync task's call is its result: a function's run is waited for, not reported."""
        return self.pattern == "sync" and isinstance(self.resource, FunctionResource)

    def timeout_of(self, entry: "Entry") -> int | None:
        """Return the time-out in seconds of the present attempt of *entry*, None for none."""
        return self.timeout_s


class Plain:
    """A step without inner steps and without a description. A mixin, before a `Step`."""

    __slots__ = ()

    def about(self) -> str:
        """Return an empty text."""
        return ""

    def parts(self) -> list[tuple[str, StepList]]:
        """Return an empty list."""
        return []


class Branching:
    """A step that runs its ``branches`` side by side, each with the step's input. A mixin, before a `Step`."""

    __slots__ = ()

    branches: tuple[StepList, ...]

    def about(self) -> str:
        """Return an empty text: the branches are shown."""
        return ""

    def fork(self, value: Any, freed: int, items: list[Any] | None = None) -> "Fork":
        """Return a fork with one strand for each branch."""
        return Fork(len(self.branches), freed)

    def branch(self, entry: "Entry", index: int) -> tuple[StepList, Any]:
        """Return a branch; its input is the step's."""
        return self.branches[index], entry.input

    def parts(self) -> list[tuple[str, StepList]]:
        """Return the branches."""
        return [(f"branch {index}", branch) for index, branch in enumerate(self.branches)]


class ParameterError(Exception):
    """A required parameter of a task is missing or of the wrong kind."""


def whole_number(value: Any, low: int, high: int) -> int:
    """Return a parameter that must be a whole number, given as a number or as text.

    Raises: ValueError with a sentence.
    """
    if isinstance(value, str):
        value = read_digits(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(Phrase("must be a whole number from {low} to {high}", low=low, high=high))
    return value


class Beginning(NamedTuple):
    """The names of an execution and its flow, and the time of its start."""

    flow: str
    execution: str
    at: Millis


class Definition(ABC):
    """A definition that has been read, as far as folding a history needs it.

    ``timeout_s`` are the seconds an execution may take, None for the service's limit; ``warnings`` are for the log.
    ``notation`` names the members of its events, ``name`` is the flow's name where definitions have one,
    ``step_data_bytes`` is the language's limit of a step's data, which the service's settings may raise, and
    ``needs_description`` is whether flows of this language need a description.
    """

    __slots__ = ()

    notation: ClassVar[Notation]
    name: str | None = None
    step_data_bytes: ClassVar[int] = STEP_DATA_BYTES
    needs_description: ClassVar[bool] = True

    steps: StepList
    timeout_s: int | None
    warnings: tuple[str, ...]

    @abstractmethod
    def begin(self, value: Any, beginning: Beginning) -> Any:
        """Return the input of the steps for the execution's input *value*."""

    def unfit_for_express(self) -> str | None:
        """Return why the flow cannot be express, such as a task that waits for a report; None when it can.

        Source: express executions, Serverless Workflow guide; that such a definition is refused at once is assumed.
        """
        for step in all_steps(self.steps):
            if isinstance(step, Task) and step.pattern != "requestResponse":
                text = "the pattern {pattern} of step {name!r} is not for express flows"
                return Phrase(text, pattern=step.pattern, name=step.name)
        return None


def all_steps(steps: StepList) -> Iterator[Step]:
    """Yield the steps of a list and of all lists inside, each before its inner ones."""
    for step in steps.steps:
        yield step
        for inner in step.inner_lists():
            yield from all_steps(inner)


def all_lists(steps: StepList) -> Iterator[StepList]:
    """Yield a list of steps and all lists inside."""
    yield steps
    for step in steps.steps:
        for inner in step.inner_lists():
            yield from all_lists(inner)


ROOT = 0
"""The strand of the flow itself."""


class Phase(IntEnum):
    """The phases of a step, from its entry to its end."""

    ENTERED = 0
    STARTED = 1
    JOINED = 2
    """All steps inside a choice, parallel or foreach have ended well; its local is known."""
    SUCCEEDED = 3
    SCHEDULED = 4
    CALLING = 5
    SUBMITTED = 6
    DONE = 7
    """The task has its result."""
    TROUBLED = 8
    """An attempt of the task has failed; a retry or catch is not decided yet, or the next attempt is waited for."""
    FAILING = 9
    """A step inside has failed, which fails this step in turn."""
    FAILED = 10


class Fork:
    """The strands that a parallel or foreach has opened and will open.

    ``items`` are the elements of a foreach (None for a parallel), ``freed`` the id of the event that made room for the
    next strand: the StepStarted, later the end of an earlier strand. ``sizes`` are the members of a foreach's input in
    bytes (`json_text.member_bytes`), which every iteration's input has. ``own_items`` is whether the elements do not
    follow from the step's input, so that a snapshot has to hold them.
    """

    __slots__ = ("freed", "items", "opened", "own_items", "results", "running", "sizes", "total")

    def __init__(
        self, total: int, freed: int, items: list[Any] | None = None, sizes: dict[str, int] | None = None
    ) -> None:
        self.total = total
        self.items = items
        self.sizes = sizes or {}
        self.own_items = False
        self.opened = 0
        self.running = 0
        self.results: dict[int, Any] = {}
        self.freed = freed


class Entry:
    """A step that has been entered. ``id`` is the id of its StepEntered; ``at`` the time of its latest event.

    ``given`` is its input, ``request`` what a task sends if that differs from its input.
    """

    __slots__ = (
        "at", "cause", "error", "fork", "given", "id", "local", "mark", "output", "phase", "request", "retries",
        "scheduled_at", "step",
    )  # fmt: skip

    def __init__(self, step: Step, entry_id: int, at: Millis, given: Json) -> None:
        self.step = step
        self.id = entry_id
        self.phase = Phase.ENTERED
        self.at = at
        self.given = given
        self.local: Any = None
        self.output: Json | None = None
        self.error = ""
        self.cause = ""
        self.mark: int | None = None
        self.retries = 0
        self.scheduled_at = at
        self.request: Json | None = None
        self.fork: Fork | None = None

    @property
    def input(self) -> Any:
        """The value of the step's input."""
        return self.given.value


class Scope:
    """A list of serial steps being run. ``position`` is the step to enter next; past the end, the scope is over.

    ``left`` is its local, the output of the steps so far.
    """

    __slots__ = ("entry", "input", "left", "position", "steps")

    def __init__(self, steps: StepList, value: Any) -> None:
        self.steps = steps
        self.input = value
        self.left = with_text(value) if steps.hands_on else NOTHING
        self.position = steps.start
        self.entry: Entry | None = None

    @property
    def local(self) -> Any:
        """The local data of the scope."""
        return self.left.value

    def is_over(self) -> bool:
        """Whether no step of the list will be entered any more."""
        return self.entry is None and self.position >= len(self.steps.steps)


class Strand:
    """Steps that run one after the other. ``last`` is the id of its latest event, which triggers the next one."""

    __slots__ = ("id", "index", "last", "parent", "parked", "scopes")

    def __init__(self, strand_id: int, parent: int, index: int, scope: Scope) -> None:
        self.id = strand_id
        self.parent = parent
        self.index = index
        self.last = strand_id
        self.scopes = [scope]
        self.parked = False

    @property
    def entry(self) -> Entry:
        """The step that has been entered and not exited.

        Raises: LookupError when there is none.
        """
        entry = self.scopes[-1].entry
        if entry is None:
            raise LookupError("the history has an event of a step before its StepEntered")
        return entry
