"""What decisions may know beside the state: the fixed facts of an execution, and ``$context`` made from them."""

from collections.abc import Callable
from typing import Any

from emulator.kernel.frozen import frozen
from emulator.services.workflow.definition.nodes import Flow
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.expression.mappings import Mapping
from emulator.services.workflow.expression.paths import Path
from emulator.services.workflow.limits import DOCUMENTED, Bounds
from emulator.wire.dates import iso_millis


@frozen
class Facts:
    """The fixed facts of one execution.

    ``input_text`` is what the caller gave; ``token`` makes the task token of an entry and attempt; ``halted`` is set
    when the flow has been deleted: no further step is entered.
    """

    flow: Flow
    flow_name: str
    execution_name: str
    input: dict[str, Any]
    token: Callable[[int, int], str]
    halted: bool = False
    bounds: Bounds = DOCUMENTED


class Data(dict[str, Any]):
    """What mappings see: ``input``, ``local``, and ``context``, which is only made when a path asks for it.

    Making it costs a token and two dates, more than the rest of a step.
    """

    __slots__ = ("_entry", "_facts", "_retries", "_state", "_step")

    def __init__(
        self, facts: Facts, state: ExecutionState, step: str, entry: int, retries: int, given: Any, local: Any
    ) -> None:
        self["input"] = given
        self["local"] = local
        self._facts = facts
        self._state = state
        self._step = step
        self._entry = entry
        self._retries = retries

    def get(self, key: str, default: Any = None) -> Any:
        """Return a root's value."""
        if key == "context":
            return self._context()
        return super().get(key, default)

    def _context(self) -> dict[str, Any]:
        facts = self._facts
        context: dict[str, Any] = {
            "flow": {"name": facts.flow_name},
            "execution": {
                "id": f"{facts.flow_name}:{facts.execution_name}",
                "name": facts.execution_name,
                "startedTime": iso_millis(self._state.started_at),
            },
            "currentTime": iso_millis(self._state.at),
        }
        if self._entry:
            context["step"] = {"name": self._step, "retryCount": self._retries}
            context["task"] = {"token": facts.token(self._entry, self._retries)}
        return context


def reads_context(mappings: tuple[Mapping, ...] | None) -> bool:
    """Tell whether a source is a path on ``$context``: its value may differ from one attempt to the next."""
    return any(isinstance(mapping.source, Path) and mapping.source.root == "$context" for mapping in mappings or ())
