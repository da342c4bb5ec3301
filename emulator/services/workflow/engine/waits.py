"""When a wait step ends.

Source: wait step, Serverless Workflow guide: at most two days, an instant in the past ends it at once. What a dynamic
value outside that does is assumed.
"""

from typing import Any

from emulator.kernel.clock import SECOND, Millis
from emulator.services.workflow.definition.nodes import WaitStep
from emulator.services.workflow.definition.timestamps import parse_timestamp
from emulator.services.workflow.engine.events import quote
from emulator.services.workflow.expression.errors import EvaluationError
from emulator.services.workflow.expression.paths import Path
from emulator.services.workflow.limits import WAIT_S


def wake_instant(step: WaitStep, given: dict[str, Any], started: Millis) -> Millis:
    """Return when a wait that started at *started* with input *given* ends.

    Raises: EvaluationError for a value that is no whole number of seconds or no date, or lies over two days ahead.
    """
    if step.duration is not None:
        return Millis(started + _seconds(step.duration, given) * SECOND)
    instant = _instant(step, given)
    if instant - started > WAIT_S * SECOND:
        raise EvaluationError(f"a wait may last {WAIT_S} seconds at most")
    return instant


def member(step: WaitStep, given: dict[str, Any]) -> str:
    """Return the member of StepStarted's detail that tells what is waited for."""
    if step.duration is not None:
        return f'"duration":{_seconds(step.duration, given)}'
    if isinstance(step.timestamp, Path):
        return f'"timestamp":{quote(str(step.timestamp.find_in(given)))}'
    return f'"timestamp":{quote(step.timestamp_text)}'


def _seconds(duration: int | Path, given: dict[str, Any]) -> int:
    value = duration.find_in(given) if isinstance(duration, Path) else duration
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= WAIT_S:
        raise EvaluationError(f"the duration must be a whole number of seconds from 0 to {WAIT_S}")
    return value


def _instant(step: WaitStep, given: dict[str, Any]) -> Millis:
    if isinstance(step.timestamp, int):
        return step.timestamp
    value = step.timestamp.find_in(given) if step.timestamp is not None else None
    if not isinstance(value, str):
        raise EvaluationError("the timestamp must be the text of a date and time")
    try:
        return parse_timestamp(value)
    except (ValueError, OverflowError) as error:
        raise EvaluationError("the timestamp must be a date and time such as 2024-05-01T08:00:00Z") from error
