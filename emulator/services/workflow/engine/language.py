"""The interface between the engine and a language of flows, and the commands and arrivals of the driver.

A language is a package of `languages` that offers ``read(text) -> Program``. It provides:

- *Reading.* The text is parsed and checked as a whole; the first mistake that would keep the flow from running as
  written raises a `DefinitionError` with line, column, the path of the field and a sentence. `wire.yaml`,
  `languages.document` (YAML and JSON with positions) and `languages.notation` (rows of fields) are shared by all.
- *Steps.* Classes derived from `model.Step`, with `model.Task` for those that call services, in `model.StepList`s. They
  answer what the fold and the snapshot ask: where a list goes on, which strands a step opens with which input. Folding
  is the engine's alone, so every language has the same kinds of event with the same meaning.
- *Decisions.* `Program.decide` says what a strand does next, `Program.resume` what follows from a timer it has asked
  for. Both are pure: no clock, no randomness, no store, and they raise only `decide.TooMuchData`. What is evaluated
  once must be in an event. `engine.decide` offers the events that all languages share (attempts, failures, ends) and
  the rules of retry and catch.
- *Drawing.* `model.Step.inner_lists` gives the nesting; `drawing.model` makes the graph of a language's steps
  from their classes.

History, fold, snapshots, timers, calls and their keys, tokens, reports, retries, storage, recovery and the API are the
engine's and the service's, and know nothing of languages.

Commands are idempotent: setting a timer that is set, or calling a service for an attempt whose call is in flight,
changes nothing.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, Protocol, get_args

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.phrases import Phrase
from emulator.services.workflow.engine.events import Event, StepExited
from emulator.services.workflow.engine.model import Definition, Entry, Step, Strand, Task
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.limits import DOCUMENTED, Bounds
from emulator.services.workflow.model import DefinitionId

Events = tuple[Event, ...]

StepTimer = Literal["wait", "retry", "timeout"]
"""A timer of an entry of a step."""

STEP_TIMERS: Final[tuple[StepTimer, ...]] = get_args(StepTimer)

TimerKind = StepTimer | Literal["deadline"]
"""A timer of an execution: one of a step, or the time-out of the execution."""

TIMER_NAMES: Final[Mapping[TimerKind, str]] = {
    "wait": "end of a wait",
    "retry": "retry",
    "timeout": "timeout of a step",
    "deadline": "timeout of the flow",
}
"""The names of timers for people."""

TIMERS: Final[tuple[TimerKind, ...]] = (*STEP_TIMERS, "deadline")


class WakeAt(NamedTuple):
    """Command: deliver `TimerFired` at a time. An entry has one timer of each kind; a later command moves it."""

    entry: int
    kind: StepTimer
    at: Millis


class CallService(NamedTuple):
    """Command: perform an attempt of a task and deliver `Replied`.

    The idempotency key is made of execution, entry and attempt.
    """

    entry: int
    attempt: int
    step: Task
    input: dict[str, Any]
    input_text: str


Command = WakeAt | CallService


class Park(NamedTuple):
    """The strand with that id waits until something arrives; the commands are what it waits for."""

    strand: int
    commands: tuple[Command, ...] = ()


class TimerFired(NamedTuple):
    """A timer is due; ``now`` guards against one that was moved meanwhile."""

    entry: int
    kind: StepTimer
    now: Millis


class Result(NamedTuple):
    """The result of a call or a report: the text of a JSON object, or an error with its cause.

    ``refused`` is whether the service did not even begin.
    """

    output: str = "{}"
    error: str | None = None
    cause: str = ""
    refused: bool = False


class Replied(NamedTuple):
    """The called service has answered an attempt."""

    entry: int
    attempt: int
    result: Result


class Submitted(NamedTuple):
    """The called service has accepted an attempt; `Replied` follows at the end of the work it began."""

    entry: int
    attempt: int
    result: Result


class Reported(NamedTuple):
    """The end of an attempt has been reported with its token."""

    entry: int
    attempt: int
    result: Result


class StopAsked(NamedTuple):
    """A caller has asked for the execution to stop."""

    error: str
    cause: str


class DeadlinePassed(NamedTuple):
    """The execution has timed out."""

    cause: str


StepArrival = TimerFired | Submitted | Replied | Reported
"""The arrivals for one entry of a step."""

Arrival = StepArrival | StopAsked | DeadlinePassed


class Resumed(NamedTuple):
    """A strand has to be decided again, because its timer or call may have been lost: after a restart."""

    entry: int


class DefinitionError(Exception):
    """An invalid definition: what is wrong and where.

    ``line`` and ``column`` count from 1; ``field`` is the path of the field, such as ``steps[2].choices[0].condition``,
    or empty for the document as a whole. ``expression`` is the text of an expression that does not parse, and the
    offset in it where the trouble starts. ``others`` are the mistakes that were found beside it.
    """

    def __init__(self, message: str, line: int = 1, column: int = 1, field: str = "") -> None:
        self.message = message
        self.line = line
        self.column = column
        self.field = field
        self.expression: tuple[str, int] | None = None
        self.others: tuple[DefinitionError, ...] = ()
        super().__init__(f"{field}: {message}" if field else message)

    @property
    def sentence(self) -> str:
        """What is wrong, without the place."""
        return Phrase("{field}: {message}", field=self.field, message=self.message) if self.field else self.message

    def __str__(self) -> str:
        where = {"field": self.field, "line": self.line, "column": self.column}
        if self.field:
            return Phrase("{field}: {message} (line {line}, column {column})", message=self.message, **where)
        return Phrase("{message} (line {line}, column {column})", message=self.message, **where)

    def every(self) -> "list[DefinitionError]":
        """Return this mistake and the others in the order of their places, each once."""
        found: dict[tuple[int, int, str], DefinitionError] = {}
        waiting = [self]
        while waiting:
            each = waiting.pop()
            found.setdefault((each.line, each.column, each.message), each)
            waiting.extend(reversed(each.others))
        return [found[place] for place in sorted(found)]


class EvaluationError(Exception):
    """An expression that cannot be evaluated on the data of this run; the engine reports ``FnF.RuntimeError``."""


class Program(Definition):
    """A definition that can be run."""

    __slots__ = ()

    @abstractmethod
    def decide(self, facts: "Facts", state: ExecutionState, strand: Strand) -> Events | Park:
        """Return the next events of *strand*, or the `Park` with which it waits for an arrival.

        Raises: TooMuchData, nothing else for whatever a flow or its data can hold.
        """

    @abstractmethod
    def resume(self, facts: "Facts", state: ExecutionState, strand: Strand, entry: Entry, fired: TimerFired) -> Events:
        """Return the events that follow when a timer of kind ``wait`` or ``retry`` fires; none when it is out of date.

        Raises: TooMuchData.
        """

    def processor(self, step: int) -> "Program":
        """Return the program that runs each element of a distributed map, step number *step* of `model.all_steps`.

        Raises: LookupError for a language that has no such maps.
        """
        raise LookupError(f"step {step} is not a distributed map")

    @abstractmethod
    def again(self, facts: "Facts", state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the events that open one more attempt of the task of *entry*, whose last one has failed.

        Raises: TooMuchData; ValueError when the attempt's input cannot be made.
        """

    @abstractmethod
    def skipped(self, facts: "Facts", strand: Strand, step: Step, number: int, data: Any) -> StepExited:
        """Return StepExited, as event *number*, of a step that is not run; *data* is its output, None for nothing.

        The strand's latest event has been recorded: StepEntered, or one of a failed attempt.

        Raises: TooMuchData, ValueError.
        """


def no_chance(number: int) -> bytes:
    """Return bytes that are not random, for executions that are not real."""
    return number.to_bytes(32, "big")


@frozen
class Facts:
    """The fixed facts of one execution, which decisions may know beside the state.

    ``input`` is that of the execution; ``token`` makes the task token of an entry and attempt; ``chance`` gives random
    bytes for the number of an event, the same ones on every call; ``halted`` is set when the flow has been deleted: no
    further step is entered.
    """

    program: Program
    flow_name: str
    execution_name: str
    input: dict[str, Any]
    token: Callable[[int, int], str]
    halted: bool = False
    bounds: Bounds = DOCUMENTED
    chance: Callable[[int], bytes] = no_chance
    role_arn: str = ""
    is_express: bool = False

    @property
    def step_data_bytes(self) -> int:
        """How many bytes the data of a step may hold."""
        return max(self.bounds.step_data_bytes, self.program.step_data_bytes)


class Programs(Protocol):
    """The programs that the driver runs, by the ids of their definitions; reading one may raise `DefinitionError`."""

    def known(self, definition: DefinitionId) -> Program | None:
        """Return a program that has been read and is still in memory, or None."""

    def find(self, definition: DefinitionId) -> Program | None:
        """Return a program; None when its text is long and `load` has to come first."""

    def find_now(self, definition: DefinitionId) -> Program:
        """Return a program, parsing even a long text at once: for callers that must answer in this tick."""

    async def load(self, definition: DefinitionId) -> None:
        """Read a definition in a thread, and cache its program unless the id was removed or reused meanwhile."""

    def clear(self) -> None:
        """Forget all programs."""

    def close(self) -> None:
        """End the thread, if there is one."""
