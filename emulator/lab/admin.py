"""The lab's admin operations on the whole emulator: clock, causes and effects, explorations, checkpoints."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from emulator.http.message import Response
from emulator.kernel.clock import Millis
from emulator.lab.clock import Moved, SkipEnded, shown_event, shown_waiting, shown_work
from emulator.lab.errors import LabError, invalid
from emulator.lab.service import Lab
from emulator.wire.dates import iso_millis, parse_iso
from emulator.wire.durations import parse_duration
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.schema.kinds import FLAG, LIST, OBJECT, Whole, argument

_MOST_STEPS = 10_000
_FURTHEST = 2**50


@operation("clock", "GET /clock")
def get_clock(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """The emulator's time and the next events."""
    return lab.time.view()


@operation(
    "set-clock",
    "POST /clock",
    argument("advance", about="A duration such as 90s or 1h30m to move ahead.", default=None),
    argument("to", about="A time in ISO 8601 to move ahead to.", default=None),
    argument("next", Whole(0, _MOST_STEPS), about="Move to the next event, this number of times.", default=None),
    argument("freeze", FLAG, about="Freeze the clock, or release it.", default=None),
)
async def set_clock(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Move, freeze or release the clock; on the way it stops at each timer until the emulator is idle.

    It ends with its request: a caller that goes away leaves the clock where it has come, and ``broken_off`` says so.
    """
    match [(name, value) for name, value in call.arguments.items() if value is not None]:
        case [("advance", span)]:
            moved = await lab.time.advance(_duration(span, "advance"))
        case [("to", text)]:
            moved = await lab.time.move_to(_time(text))
        case [("next", count)]:
            moved = await lab.time.next(count)
        case [("freeze", frozen)]:
            moved = await lab.time.set_frozen(frozen=frozen)
        case _:
            raise invalid("exactly one of advance, to, next and freeze is needed")
    return {**lab.time.view(), **_outcome(moved)}


@operation("settle", "POST /settle", argument("timeout", about="Longest real time to wait.", default="5s"))
async def settle(lab: Lab, call: OperationRequest) -> dict[str, Any] | Response:
    """Wait until the emulator is idle; 409 with the running work after the timeout.

    What waits for a client, such as a step for the report of its token, counts as quiet; ``waiting`` lists it.
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
    argument("until", OBJECT, about="The condition: execution, queue and visible, calls and count, or quiet."),
    argument("limit", about="Limit of the move, by the emulator's clock.", default="1h"),
    argument("timeout", about="Longest real time to wait.", default="10s"),
)
async def skip(lab: Lab, call: OperationRequest) -> dict[str, Any] | Response:
    """Move the clock from event to event until a condition holds; 409 with a diagnosis when it cannot hold.

    ``from`` is the time before, ``jumped`` are the events on the way.
    """
    until = call.arguments["until"]
    holds = _condition(lab, until, call)
    limit_ms = _duration(call.arguments["limit"], "limit")
    timeout_s = _duration(call.arguments["timeout"], "timeout") / 1000
    try:
        moved = await lab.time.skip(
            holds, limit_ms=limit_ms, timeout_s=timeout_s, otherwise=lambda: _were_made(lab, until)
        )
    except SkipEnded as ended:
        named = ((kind, name) for kind, name in until.items() if kind in _RESOURCES)
        held = [shown_waiting(each) for kind, name in named for each in lab.conditions.held(kind, call.tenant, name)]
        return _conflict("SkipEnded", ended.reason, [*held, *ended.active], call, settled=False, **lab.time.view())
    jumped = [shown_event(each, moved.begin) for each in moved.jumped]
    return {**lab.time.view(), **_outcome(moved), "from": iso_millis(moved.begin), "jumped": jumped}


def _were_made(lab: Lab, until: dict[str, Any]) -> bool:
    """Whether the calls that *until* waits for were recorded already: some may have ended before the skip began."""
    return "calls" in until and len(lab.bench.calls.of(until["calls"])) >= until.get("count", 1)


def _outcome(moved: Moved) -> dict[str, Any]:
    return {"ran": moved.ran, "settled": not moved.busy, "active": [shown_work(each) for each in moved.busy]}


def _conflict(code: str, message: str, active: list[dict[str, Any]], call: OperationRequest, **more: Any) -> Response:
    body = {"Code": code, "Message": message, "RequestId": call.request_id, **more, "active": active}
    return Response(409, json.dumps(body).encode("ascii"), [("Content-Type", "application/json")])


_RESOURCES = frozenset({"execution", "queue", "calls"})
"""Kinds of resources that a condition of a skip can be about."""


def _condition(lab: Lab, until: dict[str, Any], call: OperationRequest) -> Callable[[], bool] | None:
    """Return the function that checks whether *until* holds, None for idle.

    Raises: LabError.
    """
    text = {name: value for name, value in until.items() if name in _RESOURCES}
    number = until.get("visible", until.get("count", 1))
    if not all(isinstance(value, str) for value in text.values()):
        raise invalid("until names a resource by text")
    if type(number) is not int or number < 1:
        name = "visible" if "visible" in until else "count"
        advice = "; to wait for an empty queue, settle" if name == "visible" else ""
        raise invalid(f"{name} must be a whole number, at least 1{advice}")
    if until.get("quiet") is True and not text:
        return None
    if len(text) != 1:
        raise invalid("until needs one of execution, queue, calls and quiet")
    ((kind, name),) = text.items()
    return lab.conditions.look(kind, call.tenant, name, number)


def _duration(text: Any, name: str) -> int:
    try:
        return parse_duration(text)
    except ValueError:
        raise invalid(f"{name} must be a duration such as 500ms, 30s or 1h30m") from None


def _time(text: str) -> Millis:
    try:
        return parse_iso(text)
    except ValueError:
        raise invalid("to must be a time such as 2027-01-01T00:00:00Z") from None


@operation("cause-tree", "GET /trace/{flow}/{execution}")
@operation("cause-tree", "GET /trace/{id}")
def get_tree(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """The cause of a request, message, call or execution (``flow/execution``) and all its effects, with times."""
    return lab.effects.trace("/".join(call.path.values()))


@operation(
    "set-schedule",
    "POST /schedule",
    argument(
        "choices",
        OBJECT,
        about="Chosen options by the number of the choice, from 0; each is the position of the option.",
        default=None,
    ),
    argument("strategy", about="The option for all other choices: the first, or a random one.", default="first"),
    argument("seed", Whole(0, 2**53), about="Seed of the random choices.", default=0),
    argument("order", LIST, about="The kinds of effects whose order is chosen (default: all).", default=None),
    argument("faults", LIST, about="Faults that may happen to effects (default: none).", default=None),
    argument("overlap", FLAG, about="Run calls at the same time and choose the order of their replies.", default=False),
    argument("patience", about="Longest real time to wait for running work.", default="1s"),
)
async def set_schedule(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Perform effects one at a time in the order of a schedule; numbers of choices restart at 0."""
    arguments = call.arguments
    patience_s = _duration(arguments["patience"], "patience") / 1000
    await lab.ordering.set(arguments, patience_s=patience_s, overlap=arguments["overlap"])
    return lab.ordering.shown()


@operation("schedule", "GET /schedule")
def get_schedule(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """The choices made since the schedule was set, and the effects that wait for their turn."""
    return lab.ordering.shown()


@operation("clear-schedule", "DELETE /schedule")
async def clear_schedule(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Stop choosing the order of effects; waiting effects continue."""
    await lab.ordering.clear()
    return {"active": False}


@operation(
    "choose",
    "POST /schedule/choice",
    argument("label", about="Label of the choice."),
    argument("options", LIST, about="The options, in JSON."),
)
def choose(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Make a choice of the test itself; without a schedule it is the first option."""
    options = call.arguments["options"]
    if not options:
        raise invalid("options is empty: there is nothing to choose from")
    taken = lab.ordering.choose(call.arguments["label"], options)
    return {"taken": taken, "value": options[taken]}


@operation(
    "keep-exploration",
    "POST /explorations",
    argument("flow", about="The flow that was explored.", default=""),
    argument("test", about="The test that was explored, instead of a flow.", default=""),
    argument("definition", about="Its definition, for the graph.", default=""),
    argument("input", about="The input of its executions.", default=""),
    argument("tried", Whole(1, 2**53), about="Number of schedules that were run."),
    argument("known", Whole(1, 2**53), about="Number of schedules that are known and worth running."),
    argument("complete", FLAG, about="Whether all known schedules were run.", default=False),
    argument(
        "outcomes",
        LIST,
        about="Each has status, output, calls, messages, runs, schedule, deviations, steps and events; the first "
        "schedule's is first.",
    ),
)
def keep_exploration(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Store the outcomes of an exploration for the console; the latest ten are kept in memory."""
    return lab.explorations.keep(call.arguments, len(call.http.body)).summary()


@operation("list-explorations", "GET /explorations")
def list_explorations(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """The latest explorations, newest first."""
    return {"explorations": [each.summary() for each in lab.explorations.latest()]}


@operation("exploration", "GET /explorations/{id}")
def get_exploration(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """An exploration with its outcomes, each with the shortest schedule that produces it."""
    return lab.explorations.get(call.path["id"]).shown()


@operation("list-checkpoints", "GET /checkpoints")
def list_checkpoints(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """The checkpoints by name."""
    return {"checkpoints": [each.shown() for each in lab.checkpoints.all()]}


@operation("save-checkpoint", "POST /checkpoints/{name}")
async def save_checkpoint(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Save the whole state under a name; an earlier checkpoint of that name is replaced."""
    with _troubles():
        return (await lab.checkpoints.save(call.path["name"])).shown()


@operation("restore-checkpoint", "POST /checkpoints/{name}/restore")
async def restore_checkpoint(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Restore a checkpoint; running work is ended, waiting work continues from there."""
    with _troubles():
        return (await lab.checkpoints.restore(call.path["name"])).shown()


@operation("delete-checkpoint", "DELETE /checkpoints/{name}")
async def delete_checkpoint(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Delete a checkpoint."""
    with _troubles():
        await lab.checkpoints.remove(call.path["name"])
    return {"name": call.path["name"]}


@operation(
    "read-archive",
    "GET /checkpoints/{name}/archive",
    argument("offset", Whole(0, _FURTHEST), about="Offset of the part; 0 builds the archive again.", default=0),
)
async def read_archive(lab: Lab, call: OperationRequest) -> Response:
    """A part of a checkpoint's archive, at most 16 MB; an empty part marks the end."""
    with _troubles():
        piece = await lab.checkpoints.pack(call.path["name"], call.arguments["offset"])
    return Response(200, piece, [("Content-Type", "application/x-tar")])


@operation(
    "write-archive",
    "PUT /checkpoints/{name}/archive",
    argument("offset", Whole(0, _FURTHEST), about="Offset of the part in the body.", default=0),
    argument("last", FLAG, about="Whether this is the last part.", default=True),
)
async def write_archive(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Upload a part of an archive; the last part creates the checkpoint."""
    arguments = call.arguments
    with _troubles():
        about = await lab.checkpoints.unpack(
            call.path["name"], arguments["offset"], call.http.body, last=arguments["last"]
        )
    return {"name": call.path["name"]} if about is None else about.shown()


@contextmanager
def _troubles() -> Iterator[None]:
    """Turn errors of the disk, such as no room, into errors of the lab.

    Raises: LabError.
    """
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise LabError("NotKept", reason=str(error)) from error
