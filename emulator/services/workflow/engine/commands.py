"""What goes between the pure core and the driver: commands out, arrivals in.

Commands are wishes that may be made again: setting a timer that is set, or calling a service for an attempt that is
being called, changes nothing.
"""

from typing import Any, Literal, NamedTuple

from emulator.kernel.clock import Millis
from emulator.services.workflow.definition.nodes import TaskStep

TimerKind = Literal["wait", "retry", "timeout", "deadline"]


class WakeAt(NamedTuple):
    """Bring `TimerFired` at an instant; one timer per entry and kind, a later wish moves it."""

    entry: int
    kind: TimerKind
    instant: Millis


class CallService(NamedTuple):
    """Perform an attempt of a task and bring `Replied`. Execution, entry and attempt make the idempotency key."""

    entry: int
    attempt: int
    step: TaskStep
    input: dict[str, Any]
    input_text: str


Command = WakeAt | CallService


class Park(NamedTuple):
    """The strand has nothing to do until something arrives; the commands see to it that it will."""

    commands: tuple[Command, ...] = ()


class TimerFired(NamedTuple):
    """A timer's instant has come; ``now`` guards against one that was moved meanwhile."""

    entry: int
    kind: TimerKind
    now: Millis


class Result(NamedTuple):
    """What a call or a report brought: the text of a JSON object, or an error with its cause.

    ``refused`` tells that the service did not even begin.
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
    """The called service has taken an attempt; `Replied` follows when what it began has ended."""

    entry: int
    attempt: int
    result: Result


class Reported(NamedTuple):
    """Somebody has reported the end of an attempt with its token."""

    entry: int
    attempt: int
    result: Result


class StopAsked(NamedTuple):
    """The execution is to stop."""

    error: str
    cause: str


class DeadlinePassed(NamedTuple):
    """The execution has run for as long as it may."""

    cause: str


Arrival = TimerFired | Submitted | Replied | Reported | StopAsked | DeadlinePassed


class Resumed(NamedTuple):
    """A strand is to be looked at again, because what it parked with may have been lost: after a restart."""

    entry: int
