"""The events of attempts of tasks."""

from typing import Self

from emulator.kernel.clock import Millis
from emulator.services.workflow.engine.events.kind import Failure, Members, OutputEvent, StepEvent
from emulator.services.workflow.engine.history import Recorded
from emulator.services.workflow.engine.json_text import Json, quote, quoted, written
from emulator.services.workflow.engine.model import Phase, Strand, Task
from emulator.services.workflow.engine.notation import Notation, Pattern
from emulator.services.workflow.engine.state import ExecutionState


class TaskScheduled(StepEvent):
    """An attempt of a task begins, with the input or the parameters that it sends and its time-out in seconds."""

    __slots__ = ("input", "pattern", "retries", "target", "timeout_s")

    def __init__(
        self,
        number: int,
        strand: int,
        scheduled: int,
        step: str,
        input: Json,
        target: str,
        pattern: Pattern,
        timeout_s: int | None,
        retries: int,
    ) -> None:
        self.id = number
        self.strand = strand
        self.scheduled = scheduled
        self.step = step
        self.input = input
        self.target = target
        self.pattern = pattern
        self.timeout_s = timeout_s
        self.retries = retries

    @classmethod
    def read(cls, kept: Recorded, members: Members, notation: Notation) -> Self:
        patterns = {shown: pattern for pattern, shown in notation.modes.items()}
        return cls(
            *kept.head,
            members.json("input"),
            members.text(notation.target),
            patterns[members.text(notation.mode)],
            members.get("timeoutSeconds"),
            members.get("retryCount") or 0,
        )

    def detail(self, notation: Notation) -> str:
        return written(
            input=self.input.text,
            **{notation.target: quoted(self.target), notation.mode: quote(notation.modes[self.pattern])},
            timeoutSeconds=None if self.timeout_s is None else str(self.timeout_s),
            retryCount=str(self.retries),
        )

    def _go_on(self, state: ExecutionState, strand: Strand, at: Millis) -> None:
        entry = strand.entry
        if entry.phase is Phase.TROUBLED:
            entry.retries += 1
        entry.phase = Phase.SCHEDULED
        entry.scheduled_at = at
        entry.mark = self.timeout_s
        if isinstance(entry.step, Task) and entry.step.sends_parameters:
            entry.request = self.input
        else:
            entry.given = self.input
        entry.error = entry.cause = ""


class TaskStarted(StepEvent):
    """The call of an attempt is about to be made."""

    __slots__ = ()

    def __init__(self, number: int, strand: int, scheduled: int, step: str) -> None:
        self.id = number
        self.strand = strand
        self.scheduled = scheduled
        self.step = step

    @classmethod
    def read(cls, kept: Recorded, members: Members, notation: Notation) -> Self:
        return cls(*kept.head)

    def detail(self, notation: Notation) -> str:
        return "{}"

    def _go_on(self, state: ExecutionState, strand: Strand, at: Millis) -> None:
        strand.entry.phase = Phase.CALLING


class Submission(StepEvent):
    """The called service has accepted an attempt, whose end is waited for.

    ``output_text`` is the service's answer, None when the end came before the answer.
    """

    __slots__ = ("output_text",)

    def __init__(self, number: int, strand: int, scheduled: int, step: str, output_text: str | None = None) -> None:
        self.id = number
        self.strand = strand
        self.scheduled = scheduled
        self.step = step
        self.output_text = output_text

    @classmethod
    def read(cls, kept: Recorded, members: Members, notation: Notation) -> Self:
        output = members.json("output").text if "output" in members else None
        return cls(*kept.head, output)

    def detail(self, notation: Notation) -> str:
        return written(output=self.output_text)

    def _go_on(self, state: ExecutionState, strand: Strand, at: Millis) -> None:
        strand.entry.phase = Phase.SUBMITTED


class TaskSubmitted(Submission):
    """A service has accepted the call of a task."""

    __slots__ = ()


class MapRunStarted(Submission):
    """The run of a distributed map has begun."""

    __slots__ = ()


class TaskSucceeded(OutputEvent):
    """An attempt of a task has its result."""

    __slots__ = ()

    def _go_on(self, state: ExecutionState, strand: Strand, at: Millis) -> None:
        entry = strand.entry
        entry.phase = Phase.DONE
        entry.local = self.output.value


class AttemptFailure(Failure):
    """An attempt of a task has failed; the task may be tried again."""

    __slots__ = ()

    def _go_on(self, state: ExecutionState, strand: Strand, at: Millis) -> None:
        entry = strand.entry
        entry.phase = Phase.TROUBLED
        entry.at = at
        entry.error, entry.cause = self.error, self.cause


class TaskSubmitFailed(AttemptFailure):
    """The service has refused an attempt whose end would have been waited for."""

    __slots__ = ()


class TaskFailed(AttemptFailure):
    """An attempt has ended with an error."""

    __slots__ = ()


class TaskTimedOut(AttemptFailure):
    """An attempt has not ended within its seconds."""

    __slots__ = ()
