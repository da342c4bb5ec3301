"""The parsed flow: one frozen dataclass per step kind.

Nodes hold what the definition says, already checked and with every path and condition compiled; they know nothing of
running. Expressions are `emulator.services.workflow.expression` objects.
"""

from collections.abc import Mapping as AbcMapping
from dataclasses import field
from typing import Any, Literal

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.services.workflow.expression.conditions import Condition
from emulator.services.workflow.expression.mappings import Mapping
from emulator.services.workflow.expression.paths import Path

Pattern = Literal["requestResponse", "sync", "waitForCallback"]


@frozen
class Step:
    """What every step has.

    ``input_mappings`` None means merge(scope input, scope local); ``output_mappings`` None means the default of the
    step's type; an empty tuple means ``{}``.
    """

    name: str
    input_mappings: tuple[Mapping, ...] | None = None
    output_mappings: tuple[Mapping, ...] | None = None
    end: bool = False


@frozen
class StepList:
    """Serial steps: the body of a flow, option, branch or iteration. Jumps stay inside one list."""

    steps: tuple[Step, ...]
    index: AbcMapping[str, int]


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
    """Go on at a sibling step when one of these errors is left."""

    errors: tuple[str, ...]
    goto: str


@frozen(kw_only=False)
class FunctionResource:
    """``acs:fc:...:services/S[.Q]/functions/F`` (``service`` set) or ``acs:fc:...:functions/F[/Q]``."""

    service: str | None
    function: str
    qualifier: str | None


@frozen(kw_only=False)
class QueueResource:
    """``acs:mns:...:/queues/Q/messages``."""

    queue: str


@frozen(kw_only=False)
class TopicResource:
    """``acs:mns:...:/topics/T/messages``."""

    topic: str


@frozen(kw_only=False)
class FlowResource:
    """``acs:fnf:...:flow/NAME``."""

    flow: str


@frozen(kw_only=False)
class ActionResource:
    """``action: service:Operation`` in place of an ARN."""

    service: str
    operation: str


Resource = FunctionResource | QueueResource | TopicResource | FlowResource | ActionResource


@frozen
class TaskStep(Step):
    """Calls a service. ``resource_arn`` is the text as written ("" for an action); shown in the history."""

    resource: Resource
    resource_arn: str
    pattern: Pattern = "requestResponse"
    timeout_s: int | None = None
    service_params: AbcMapping[str, Any] | None = None
    """Constants, or `Path` objects on the step's input."""
    retry: tuple[RetryPolicy, ...] = ()
    catch: tuple[CatchPolicy, ...] = ()
    error_mappings: tuple[Mapping, ...] | None = None


@frozen
class PassStep(Step):
    """Emits constants or reshapes its input."""


@frozen
class WaitStep(Step):
    """Waits for ``duration`` seconds or until ``timestamp``; exactly one is set, each a constant or a path."""

    duration: int | Path | None = None
    timestamp: Millis | Path | None = None
    timestamp_text: str = ""


@frozen
class Option:
    """One way out of a choice; the default has no condition."""

    condition: Condition | None = None
    steps: StepList | None = None
    goto: str | None = None


@frozen
class ChoiceStep(Step):
    """Takes the first option whose condition is true, else the default, else nothing."""

    options: tuple[Option, ...]
    default: Option | None = None

    @property
    def outcomes(self) -> tuple[Option, ...]:
        """The options, and the default behind them if there is one."""
        return self.options if self.default is None else (*self.options, self.default)


@frozen
class SucceedStep(Step):
    """Ends the innermost step list."""


@frozen
class FailStep(Step):
    """Fails its parent, and so on up to the execution."""

    error: str = ""
    cause: str = ""


@frozen
class ParallelStep(Step):
    """Runs its branches side by side."""

    branches: tuple[StepList, ...]


@frozen
class ForeachStep(Step):
    """Runs its steps once per element of an array, at most 100 at a time."""

    collection: Path
    item: str
    index_name: str | None = None
    steps: StepList


@frozen
class Flow:
    """A whole definition. ``warnings`` are for the log, not for the client."""

    steps: StepList
    input_mappings: tuple[Mapping, ...] | None = None
    output_mappings: tuple[Mapping, ...] | None = None
    timeout_s: int | None = None
    warnings: tuple[str, ...] = field(default=())


def inner_lists(step: Step) -> list[StepList]:
    """Return the lists of steps that stand inside a step."""
    match step:
        case ParallelStep():
            return list(step.branches)
        case ForeachStep():
            return [step.steps]
        case ChoiceStep():
            return [option.steps for option in step.outcomes if option.steps is not None]
        case _:
            return []
