"""The pieces an execution's state is made of.

An execution is a tree. A *strand* runs its steps one after the other: the flow itself, each branch, each iteration. A
strand has a stack of *scopes* (step lists with an input and a local): its own, and one more for each choice whose
option is being run. A scope has at most one *entry*, a step that has been entered and not exited. A parallel or
foreach entry waits for the strands it opened, through its *fork*.

These classes are mutable, unlike the rest of the package: one state belongs to one driver, and copying it for every
event would cost more than all other work on a step. Only `engine.state` and `engine.snapshot` change them.
"""

from enum import IntEnum
from typing import Any

from emulator.kernel.clock import Millis
from emulator.services.workflow.definition.nodes import ChoiceStep, Option, Step, StepList

ROOT = 0
"""The strand of the flow itself."""


class Phase(IntEnum):
    """How far an entered step has come."""

    ENTERED = 0
    STARTED = 1
    JOINED = 2
    """All that runs inside a choice, parallel or foreach has ended well; its local is known."""
    SUCCEEDED = 3
    SCHEDULED = 4
    CALLING = 5
    SUBMITTED = 6
    DONE = 7
    """The task has its result."""
    TROUBLED = 8
    """An attempt of the task has failed; retry and catch have not been asked yet, or the next attempt is waited for."""
    FAILING = 9
    """Something inside has failed and takes this step along."""
    FAILED = 10


class Fork:
    """What a parallel or foreach knows of the strands it opened.

    ``items`` are the elements of a foreach (None for a parallel), ``freed`` the id of the event that made room for the
    next strand: the StepStarted, later the end of an earlier strand. ``sizes`` are the members of a foreach's input in
    bytes (`events.member_bytes`): every iteration's input has them all.
    """

    __slots__ = ("freed", "items", "opened", "results", "running", "sizes", "total")

    def __init__(
        self, total: int, freed: int, items: list[Any] | None = None, sizes: dict[str, int] | None = None
    ) -> None:
        self.total = total
        self.items = items
        self.sizes = sizes or {}
        self.opened = 0
        self.running = 0
        self.results: dict[int, Any] = {}
        self.freed = freed


class Entry:
    """A step that has been entered. ``id`` is the id of its StepEntered; ``at`` the instant of its latest event."""

    __slots__ = (
        "at", "cause", "error", "fork", "id", "input", "input_text", "local", "mark", "output", "output_text",
        "phase", "retries", "scheduled_at", "step",
    )  # fmt: skip

    def __init__(self, step: Step, entry_id: int, at: Millis, value: Any, text: str) -> None:
        self.step = step
        self.id = entry_id
        self.phase = Phase.ENTERED
        self.at = at
        self.input = value
        self.input_text = text
        self.local: Any = None
        self.output: Any = None
        self.output_text = "{}"
        self.error = ""
        self.cause = ""
        self.mark: int | None = None
        self.retries = 0
        self.scheduled_at = at
        self.fork: Fork | None = None

    def option(self) -> Option | None:
        """Return the option a choice took, if it took one."""
        if self.mark is None or not isinstance(self.step, ChoiceStep):
            return None
        return self.step.options[self.mark] if self.mark < len(self.step.options) else self.step.default


class Scope:
    """A list of serial steps being run. ``position`` is the step to enter next; past the end, the scope is over."""

    __slots__ = ("entry", "input", "local", "local_text", "position", "steps")

    def __init__(self, steps: StepList, value: Any) -> None:
        self.steps = steps
        self.input = value
        self.local: dict[str, Any] = {}
        self.local_text = "{}"
        self.position = 0
        self.entry: Entry | None = None

    def is_over(self) -> bool:
        """Tell whether no step of the list will be entered any more."""
        return self.entry is None and self.position >= len(self.steps.steps)


class Strand:
    """Steps that run one after the other. ``last`` is the id of its latest event: the cause of its next one."""

    __slots__ = ("id", "index", "last", "parent", "parked", "scopes")

    def __init__(self, strand_id: int, parent: int, index: int, scope: Scope) -> None:
        self.id = strand_id
        self.parent = parent
        self.index = index
        self.last = strand_id
        self.scopes = [scope]
        self.parked = False
