"""What steps see and wait for: the data of mappings with ``$context``, and when a wait step ends.

Source: wait step, Serverless Workflow guide: at most two days, a time in the past ends it at once. What a dynamic value
outside that does is assumed.
"""

import re
from typing import Any

from emulator.kernel.clock import SECOND, Millis
from emulator.services.workflow.engine.events import quote
from emulator.services.workflow.engine.language import Facts
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.expression.mappings import Mapping
from emulator.services.workflow.expression.paths import EvaluationError, Path
from emulator.services.workflow.languages.fdl.nodes import WaitStep
from emulator.services.workflow.limits import WAIT_S
from emulator.wire.dates import iso_millis, parse_iso


class Data(dict[str, Any]):
    """What mappings see: ``input``, ``local``, and ``context``, which is only made when a path asks for it.

    Making it costs a token and two dates, more than the rest of a step.
    """

    __slots__ = ("_entry", "_facts", "_retries", "_state", "_step")

    def __init__(
        self, facts: Facts, state: ExecutionState, step: str, entry: int, retries: int, step_input: Any, local: Any
    ) -> None:
        self["input"] = step_input
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
    """Whether a source is a path on ``$context``: its value may differ from one attempt to the next."""
    return any(isinstance(mapping.source, Path) and mapping.source.root == "$context" for mapping in mappings or ())


# --- waits ----------------------------------------------------------------------------------------------------------

_RFC_3339 = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})\Z", re.ASCII)


def parse_timestamp(text: str) -> Millis:
    """Return the time of an RFC 3339 text such as ``2024-05-01T08:00:00.5+08:00``.

    Raises: ValueError.
    """
    if not _RFC_3339.match(text):
        raise ValueError(text)
    return parse_iso(text)


def wakes_at(step: WaitStep, step_input: dict[str, Any], started: Millis) -> Millis:
    """Return when a wait that started at *started* with input *given* ends.

    Raises: EvaluationError for a value that is no whole number of seconds or no date, or lies over two days ahead.
    """
    if step.duration is not None:
        return Millis(started + _seconds(step.duration, step_input) * SECOND)
    at = _time(step, step_input)
    if at - started > WAIT_S * SECOND:
        raise EvaluationError(f"a wait may last {WAIT_S} seconds at most")
    return at


def member(step: WaitStep, step_input: dict[str, Any]) -> str:
    """Return the member of StepStarted's detail that tells what is waited for."""
    if step.duration is not None:
        return f'"duration":{_seconds(step.duration, step_input)}'
    if isinstance(step.timestamp, Path):
        return f'"timestamp":{quote(str(step.timestamp.find_in(step_input)))}'
    return f'"timestamp":{quote(step.timestamp_text)}'


def _seconds(duration: int | Path, step_input: dict[str, Any]) -> int:
    value = duration.find_in(step_input) if isinstance(duration, Path) else duration
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= WAIT_S:
        raise EvaluationError(f"the duration must be a whole number of seconds from 0 to {WAIT_S}")
    return value


def _time(step: WaitStep, step_input: dict[str, Any]) -> Millis:
    if isinstance(step.timestamp, int):
        return step.timestamp
    value = step.timestamp.find_in(step_input) if step.timestamp is not None else None
    if not isinstance(value, str):
        raise EvaluationError("the timestamp must be the text of a date and time")
    try:
        return parse_timestamp(value)
    except (ValueError, OverflowError) as error:
        raise EvaluationError("the timestamp must be a date and time such as 2024-05-01T08:00:00Z") from error
