"""What expressions see: the roots by name, with ``$Context`` made only when it is asked for.

Source: system variables, CloudFlow documentation. That there is a task token only where one is waited for is assumed.
"""

import hashlib
from typing import Any

from emulator.services.workflow.engine.language import Facts
from emulator.services.workflow.engine.model import ROOT
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.expression.paths import MISSING
from emulator.services.workflow.languages.statemachine.nodes import State, TaskState
from emulator.services.workflow.languages.statemachine.tree import Budget, Evaluation


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

    *given* is ``$Input``; *entry* the id of the state's StepEntered and *retries* how often it was tried again, for
    the token. Set ``output``, ``error`` and ``item`` where they have a value.
    """

    __slots__ = ("_context", "_entry", "_facts", "_given", "_retries", "_state", "_step", "error", "item", "output")

    def __init__(self, facts: Facts, state: ExecutionState, step: State, given: Any, entry: int, retries: int) -> None:
        self._facts = facts
        self._state = state
        self._step = step
        self._given = given
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
                return self._given
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
        """Return what the expressions of event *number* are evaluated on."""
        return Evaluation(self.find, EventChance(self._facts, number), Budget())

    def _made_context(self) -> dict[str, Any]:
        facts = self._facts
        current: dict[str, Any] = {"Name": self._step.name, "Input": self._given, "RetryCount": self._retries}
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
