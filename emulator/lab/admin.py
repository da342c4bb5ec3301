"""The lab's admin operations: clock, faults, mocks, calls, sinks, causes and effects, explorations, checkpoints."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from emulator.http.message import Response
from emulator.kernel.clock import Millis
from emulator.lab.clock import Moved, SkipEnded, shown_event, shown_waiting, shown_work
from emulator.lab.errors import LabError, invalid
from emulator.lab.faults import read_rule, shown_rule
from emulator.lab.mocks import read_target, shown_call
from emulator.lab.service import Lab
from emulator.lab.sinks import Sink, shown_request
from emulator.wire.dates import iso_millis, parse_duration, parse_iso
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.schema.kinds import FLAG, LIST, NUMBER, OBJECT, Whole, argument

_MOST_STEPS = 10_000
_FURTHEST = 2**50
_ANSWERS_OF_MOCK = (
    "Each is {return} or {error: {errorType, errorMessage}}, or {returns}, {raises}, with delay too; "
    "or {never: true}. Given in turn."
)
_ANSWERS_OF_SINK = "Each has status, headers, body, delay or drop; given in turn, the last again and again."


@operation("clock", "GET /clock")
def get_clock(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """The emulator's time and the coming events."""
    return lab.time.view()


@operation(
    "set-clock",
    "POST /clock",
    argument("advance", about="A duration such as 90s or 1h30m to move ahead.", default=None),
    argument("to", about="A time in ISO 8601 to move ahead to.", default=None),
    argument("next", Whole(0, _MOST_STEPS), about="Move to the next event, so many times.", default=None),
    argument("freeze", FLAG, about="Let the clock stand still, or go on.", default=None),
)
async def set_clock(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Move, freeze or release the clock; a move stops at every timer on the way and settles there.

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


@operation("settle", "POST /settle", argument("timeout", about="Real time to wait at the most.", default="5s"))
async def settle(lab: Lab, call: OperationRequest) -> dict[str, Any] | Response:
    """Wait until the emulator is idle; 409 with what still does when the time is over.

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
    argument("limit", about="The emulator's time that may pass.", default="1h"),
    argument("timeout", about="Real time to wait at the most.", default="10s"),
)
async def skip(lab: Lab, call: OperationRequest) -> dict[str, Any] | Response:
    """Settle, look, jump to the next event, again, until the condition holds; 409 with a diagnosis when it cannot.

    ``from`` is the time before, ``jumped`` are the events on the way.
    """
    holds = _condition(lab, call.arguments["until"], call)
    limit_ms = _duration(call.arguments["limit"], "limit")
    timeout_s = _duration(call.arguments["timeout"], "timeout") / 1000
    try:
        moved = await lab.time.skip(holds, limit_ms=limit_ms, timeout_s=timeout_s)
    except SkipEnded as ended:
        return _conflict("SkipEnded", ended.reason, ended.active, call, settled=False, **lab.time.view())
    jumped = [shown_event(each, moved.begin) for each in moved.jumped]
    return {**lab.time.view(), **_outcome(moved), "from": iso_millis(moved.begin), "jumped": jumped}


def _outcome(moved: Moved) -> dict[str, Any]:
    return {"ran": moved.ran, "settled": not moved.busy, "active": [shown_work(each) for each in moved.busy]}


def _conflict(code: str, message: str, active: list[dict[str, Any]], call: OperationRequest, **more: Any) -> Response:
    body = {"Code": code, "Message": message, "RequestId": call.request_id, **more, "active": active}
    return Response(409, json.dumps(body).encode("ascii"), [("Content-Type", "application/json")])


def _condition(lab: Lab, until: dict[str, Any], call: OperationRequest) -> Callable[[], bool] | None:
    """Return the function that looks whether *until* holds, None for quiet. Raises: LabError."""
    text = {name: value for name, value in until.items() if name in {"execution", "queue", "calls"}}
    number = until.get("visible", until.get("count", 1))
    if type(number) is not int or number < 1 or not all(isinstance(value, str) for value in text.values()):
        raise invalid("until names a resource by text, and visible and count are numbers")
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


@operation(
    "add-fault",
    "POST /faults",
    argument("match", OBJECT, about="Which calls: service, operation, resource (patterns), from.", default=None),
    argument("do", OBJECT, about="What happens: error with status, throttle, drop, function, delay."),
    argument("after", Whole(0, 2**53), about="So many calls that match are left alone first.", default=0),
    argument("times", Whole(0, 2**53), about="How many calls it happens to.", default=None),
    argument("probability", NUMBER, about="To what part of the calls it happens.", default=None),
    argument("seed", Whole(0, 2**53), about="What the draws follow from.", default=0),
)
def add_fault(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Inject a fault."""
    return {"id": lab.bench.faults.add(read_rule(call.arguments, lab.bench.operations))}


@operation("list-faults", "GET /faults")
def list_faults(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """The faults, with the number of calls that each has matched and was injected into."""
    return {"faults": [shown_rule(entry) for entry in lab.bench.faults.book]}


@operation("remove-fault", "DELETE /faults/{id}")
def remove_fault(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Remove a fault."""
    lab.bench.faults.remove(call.path["id"])
    return {"removed": 1}


@operation("remove-faults", "DELETE /faults")
def remove_faults(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Remove all faults."""
    return {"removed": lab.bench.faults.clear()}


@operation(
    "add-mock",
    "POST /mocks",
    argument("function", about="service/function[.qualifier] or function[.qualifier].", default=""),
    argument("step", about="In its place: FLOW/STEP, a task whatever it calls; or STEP, in any flow.", default=""),
    argument("action", about="In its place: what tasks call, such as MNS:SendMessage.", default=""),
    argument("answers", LIST, about=_ANSWERS_OF_MOCK, default=None),
    argument("then", about="What follows the last answer: repeat, real or fail.", default="repeat"),
    argument("strict", FLAG, about="Refuse answers that what is mocked is known not to give.", default=False),
)
def add_mock(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Answer calls of a function, from anywhere, in its place; or those of a task. What is called need not exist."""
    return lab.bench.mocks.add(call.arguments).shown()


@operation("list-mocks", "GET /mocks")
def list_mocks(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """The mocks there are."""
    return {"mocks": [mock.shown() for mock in lab.bench.mocks.by_id.values()]}


@operation("mock-calls", "GET /mocks/{id}/calls")
def mock_calls(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """The calls that a mock has answered or let through, oldest first."""
    return {"calls": [shown_call(each) for each in lab.bench.calls_of_mock(call.path["id"])]}


@operation("remove-mock", "DELETE /mocks/{id}")
def remove_mock(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Remove a mock, so that the function runs again."""
    lab.bench.mocks.remove(call.path["id"])
    return {"removed": 1}


@operation("remove-mocks", "DELETE /mocks")
def remove_mocks(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Remove all mocks, so that functions run again."""
    return {"removed": lab.bench.mocks.clear()}


@operation("calls", "GET /calls/{service}/{function}")
@operation("calls", "GET /calls/{function}")
def calls(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """The latest calls of a function, mocked or real, oldest first."""
    target = read_target("/".join(call.path.values()))
    return {
        "calls": [
            shown_call(each)
            for each in lab.bench.calls.of(target.name)
            if target.qualifier in {"", each.qualifier or "LATEST"}
        ]
    }


@operation("forget-calls", "DELETE /calls")
def forget_calls(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Forget the recorded calls of all functions."""
    removed = len(lab.bench.calls)
    lab.bench.calls.clear()
    return {"removed": removed}


@operation("add-sink", "POST /sinks", argument("answers", LIST, about=_ANSWERS_OF_SINK, default=None))
def add_sink(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Make an address that keeps what it is sent; it needs no token."""
    return _shown_sink(lab, lab.bench.sinks.add(call.arguments["answers"] or []))


@operation("list-sinks", "GET /sinks")
def list_sinks(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """The sinks there are."""
    return {"sinks": [{**_shown_sink(lab, sink), "received": sink.given} for sink in lab.bench.sinks.all()]}


@operation("sink", "GET /sinks/{id}")
async def get_sink(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """What a sink has received, oldest first, with the signatures of pushes checked."""
    sink = lab.bench.sinks.get(call.path["id"])
    requests = await lab.bench.sinks.received(sink, lab.bench.sign)
    return {**_shown_sink(lab, sink), "requests": [shown_request(each) for each in requests]}


@operation("remove-sink", "DELETE /sinks/{id}")
def remove_sink(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Remove a sink with what it has received."""
    lab.bench.sinks.remove(call.path["id"])
    return {"removed": 1}


@operation("remove-sinks", "DELETE /sinks")
def remove_sinks(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Remove all sinks."""
    return {"removed": lab.bench.sinks.clear()}


def _shown_sink(lab: Lab, sink: Sink) -> dict[str, Any]:
    return {"id": sink.id, "url": lab.bench.sinks.url(sink)}


@operation("cause-tree", "GET /trace/{flow}/{execution}")
@operation("cause-tree", "GET /trace/{id}")
def get_tree(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """What caused a request, message, call or execution (``flow/execution``), and all that came of it, with times."""
    return lab.effects.trace("/".join(call.path.values()))


@operation(
    "set-schedule",
    "POST /schedule",
    argument(
        "choices", OBJECT, about="Choices by number, from 0: the place of the option that is taken.", default=None
    ),
    argument("strategy", about="What is taken elsewhere: the first option, or a random one.", default="first"),
    argument("seed", Whole(0, 2**53), about="What random choices follow from.", default=0),
    argument("order", LIST, about="The kinds of effects whose order is chosen (default: all).", default=None),
    argument("faults", LIST, about="What may happen to effects (default: nothing).", default=None),
    argument("overlap", FLAG, about="Let calls run side by side, and take replies in their order.", default=False),
    argument("patience", about="Real time after which what runs holds nobody up any longer.", default="1s"),
)
async def set_schedule(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Perform effects one at a time, in the order of a schedule; choices are counted from here."""
    arguments = call.arguments
    patience_s = _duration(arguments["patience"], "patience") / 1000
    await lab.ordering.set(arguments, patience_s=patience_s, overlap=arguments["overlap"])
    return lab.ordering.shown()


@operation("schedule", "GET /schedule")
def get_schedule(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """The choices that were made since the schedule was set, and the effects that wait for their turn."""
    return lab.ordering.shown()


@operation("clear-schedule", "DELETE /schedule")
async def clear_schedule(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Stop choosing the order of effects; those that wait go on."""
    await lab.ordering.clear()
    return {"active": False}


@operation(
    "choose",
    "POST /schedule/choice",
    argument("label", about="What the choice is about."),
    argument("options", LIST, about="What can be taken, in JSON."),
)
def choose(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Make a choice of the test's own; the first option while no schedule is set."""
    options = call.arguments["options"]
    if not options:
        raise invalid("options is empty: there is nothing to choose from")
    taken = lab.ordering.choose(call.arguments["label"], options)
    return {"taken": taken, "value": options[taken]}


@operation(
    "keep-exploration",
    "POST /explorations",
    argument("flow", about="The flow that was explored.", default=""),
    argument("test", about="The test that was explored, in place of a flow.", default=""),
    argument("definition", about="Its definition, for the graph.", default=""),
    argument("input", about="The input of its executions.", default=""),
    argument("tried", Whole(1, 2**53), about="So many schedules were run."),
    argument("known", Whole(1, 2**53), about="So many are known to be worth a run."),
    argument("complete", FLAG, about="Whether nothing was left to try.", default=False),
    argument(
        "outcomes",
        LIST,
        about="Each has status, output, calls, messages, runs, schedule, deviations, steps and events; the first "
        "schedule's is first.",
    ),
)
def keep_exploration(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Keep what an exploration has found for the console; the latest ten are kept, in memory."""
    return lab.explorations.keep(call.arguments, len(call.http.body)).summary()


@operation("list-explorations", "GET /explorations")
def list_explorations(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """The latest explorations, the last one first."""
    return {"explorations": [each.summary() for each in lab.explorations.latest()]}


@operation("exploration", "GET /explorations/{id}")
def get_exploration(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """An exploration with its distinct outcomes, each with the shortest schedule that leads there."""
    return lab.explorations.get(call.path["id"]).shown()


@operation("list-checkpoints", "GET /checkpoints")
def list_checkpoints(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """The checkpoints by name."""
    return {"checkpoints": [each.shown() for each in lab.checkpoints.all()]}


@operation("save-checkpoint", "POST /checkpoints/{name}")
async def save_checkpoint(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Keep the whole state under a name, in place of what the name stood for."""
    with _troubles():
        return (await lab.checkpoints.save(call.path["name"])).shown()


@operation("restore-checkpoint", "POST /checkpoints/{name}/restore")
async def restore_checkpoint(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Put a state back; what runs is ended, what waits goes on from there."""
    with _troubles():
        return (await lab.checkpoints.restore(call.path["name"])).shown()


@operation("delete-checkpoint", "DELETE /checkpoints/{name}")
async def delete_checkpoint(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Forget a checkpoint."""
    with _troubles():
        await lab.checkpoints.remove(call.path["name"])
    return {"name": call.path["name"]}


@operation(
    "read-archive",
    "GET /checkpoints/{name}/archive",
    argument("offset", Whole(0, _FURTHEST), about="Where the piece begins; 0 makes the archive anew.", default=0),
)
async def read_archive(lab: Lab, call: OperationRequest) -> Response:
    """A piece of a checkpoint's archive, up to 16 MB; an empty one is the end."""
    with _troubles():
        piece = await lab.checkpoints.pack(call.path["name"], call.arguments["offset"])
    return Response(200, piece, [("Content-Type", "application/x-tar")])


@operation(
    "write-archive",
    "PUT /checkpoints/{name}/archive",
    argument("offset", Whole(0, _FURTHEST), about="Where the piece, which is the body, begins.", default=0),
    argument("last", FLAG, about="Whether the archive is complete with it.", default=True),
)
async def write_archive(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Take a piece of an archive; after the last one there is a checkpoint of the name."""
    arguments = call.arguments
    with _troubles():
        about = await lab.checkpoints.unpack(
            call.path["name"], arguments["offset"], call.http.body, last=arguments["last"]
        )
    return {"name": call.path["name"]} if about is None else about.shown()


@contextmanager
def _troubles() -> Iterator[None]:
    """Answer that there is no room, say, as an error of the lab. Raises: LabError."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise LabError("NotKept", reason=str(error)) from error
