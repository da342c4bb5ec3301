"""The lab's admin operations."""

import json
from collections.abc import Callable
from typing import Any

from emulator.http.message import Response
from emulator.kernel.clock import Millis
from emulator.lab.clock import Moved
from emulator.lab.errors import LabError
from emulator.lab.service import Lab
from emulator.lab.shown import shown_waiting, shown_work
from emulator.lab.skip import SkipEnded
from emulator.wire.dates import parse_duration, parse_iso
from emulator.wire.operation import Parameter, operation
from emulator.wire.request import OperationRequest

_MOST_STEPS = 10_000


@operation("clock", "GET /clock")
def get_clock(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """The emulator's time and the coming events."""
    del call
    return lab.time.view()


@operation(
    "set-clock",
    "POST /clock",
    Parameter("advance", about="A duration such as 90s or 1h30m to move ahead.", default=None),
    Parameter("to", about="A time in ISO 8601 to move ahead to.", default=None),
    Parameter("next", int, about="Move to the next event, so many times.", default=None, most=_MOST_STEPS),
    Parameter("freeze", bool, about="Let the clock stand still, or go on.", default=None),
)
async def set_clock(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Move, freeze or release the clock; a move stops at every timer on the way and settles there."""
    chosen = {name: value for name, value in call.arguments.items() if value is not None}
    if len(chosen) != 1:
        raise LabError("InvalidParameter", reason="exactly one of advance, to, next and freeze is needed")
    ((name, value),) = chosen.items()
    if name == "advance":
        moved = await lab.time.advance(_duration(value, "advance"))
    elif name == "to":
        moved = await lab.time.move_to(_time(value))
    elif name == "next":
        moved = await lab.time.next(value)
    else:
        moved = await lab.time.set_frozen(frozen=value)
    return {**lab.time.view(), **_outcome(moved)}


@operation("settle", "POST /settle", Parameter("timeout", about="Real time to wait at the most.", default="5s"))
async def settle(lab: Lab, call: OperationRequest) -> dict[str, Any] | Response:
    """Wait until nothing works any more; 409 with what still does when the time is over.

    What waits for someone outside, such as a step for the report of its token, is quiet: ``waiting`` names it.
    """
    timeout_s = _duration(call.arguments["timeout"], "timeout") / 1000
    busy = await lab.time.settle(timeout_s)
    if not busy:
        return {"settled": True, "active": [], "waiting": [shown_waiting(each) for each in lab.time.waiting()]}
    active = [shown_work(each) for each in busy]
    return _conflict("NotSettled", f"something still works after {timeout_s:g} s", active, call, settled=False)


@operation(
    "skip",
    "POST /skip",
    Parameter("until", dict, about="The condition: execution, queue and visible, calls and count, or quiet."),
    Parameter("limit", about="The emulator's time that may pass.", default="1h"),
    Parameter("timeout", about="Real time to wait at the most.", default="10s"),
)
async def skip(lab: Lab, call: OperationRequest) -> dict[str, Any] | Response:
    """Settle, look, jump to the next event, again, until the condition holds; 409 with a diagnosis when it cannot."""
    holds = _condition(lab, call.arguments["until"], call)
    limit_ms = _duration(call.arguments["limit"], "limit")
    timeout_s = _duration(call.arguments["timeout"], "timeout") / 1000
    try:
        moved = await lab.skipper.skip(holds, limit_ms=limit_ms, timeout_s=timeout_s)
    except SkipEnded as ended:
        return _conflict("SkipEnded", ended.reason, ended.active, call, settled=False, **lab.time.view())
    return {**lab.time.view(), **_outcome(moved)}


def _outcome(moved: Moved) -> dict[str, Any]:
    return {"ran": moved.ran, "settled": not moved.busy, "active": [shown_work(each) for each in moved.busy]}


def _conflict(code: str, message: str, active: list[dict[str, Any]], call: OperationRequest, **more: Any) -> Response:
    body = {"Code": code, "Message": message, "RequestId": call.request_id, **more, "active": active}
    return Response(409, json.dumps(body).encode("ascii"), [("Content-Type", "application/json")])


def _condition(lab: Lab, until: dict[str, Any], call: OperationRequest) -> Callable[[], bool] | None:
    """Return the function that looks whether *until* holds, None for quiet.

    Raises: LabError.
    """
    text = {name: value for name, value in until.items() if name in {"execution", "queue", "calls"}}
    number = until.get("visible", until.get("count", 1))
    if type(number) is not int or number < 1 or not all(isinstance(value, str) for value in text.values()):
        raise LabError("InvalidParameter", reason="until names a resource by text, and visible and count are numbers")
    if until.get("quiet") is True and not text:
        return None
    if len(text) != 1:
        raise LabError("InvalidParameter", reason="until needs one of execution, queue, calls and quiet")
    ((kind, name),) = text.items()
    return lab.conditions.look(kind, call.tenant, name, number)


def _duration(text: Any, name: str) -> int:
    try:
        return parse_duration(text)
    except ValueError:
        raise LabError("InvalidParameter", reason=f"{name} must be a duration such as 500ms, 30s or 1h30m") from None


def _time(text: str) -> Millis:
    try:
        return parse_iso(text)
    except ValueError:
        raise LabError("InvalidParameter", reason="to must be a time such as 2027-01-01T00:00:00Z") from None
