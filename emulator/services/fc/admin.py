"""The admin operations of Function Compute, as they are called over HTTP; `FunctionAdmin` answers them."""

import json
from collections.abc import AsyncIterator
from typing import Any

from emulator.http.message import Following, Response
from emulator.services.fc.administration import FunctionAdmin
from emulator.wire import json_list
from emulator.wire.operation import ANYONE, operation
from emulator.wire.request import OperationRequest
from emulator.wire.schema.kinds import BINARY, COUNT, FLAG, Whole, argument

_LAST_PORT = 65_535
_REGION = argument("region", about="The region; empty for the installation's.", default="")


@operation("code", "GET /code/{token}", right=ANYONE)
def code(admin: FunctionAdmin, call: OperationRequest) -> Response | None:
    """The zip file that a response of GetFunctionCode points to; the token in the path grants access."""
    package = admin.code_download(call.path["token"])
    if package is None:
        return None
    # the header of a download from a bucket, which clients compare with the checksum of GetFunctionCode
    return Response(
        200, package.content, [("Content-Type", "application/zip"), ("X-Oss-Hash-Crc64ecma", package.checksum)]
    )


@operation(
    "logs",
    "GET /logs",
    argument("function", about="``service/function`` or ``function``; empty for all functions.", default=""),
    argument("lines", COUNT, "How many of the last lines to return.", default=100),
    argument("follow", FLAG, "Go on with new lines as they come.", default=False),
    _REGION,
)
def logs(admin: FunctionAdmin, call: OperationRequest) -> Response:
    """The last lines of a function's log; with ``follow`` new lines as they arrive.

    Raises: FunctionNotFound.
    """
    there, arguments = _there(admin, call)
    kind = Following if arguments["follow"] else Response
    return kind(200, there.logs(**arguments), [("Content-Type", "text/plain; charset=utf-8")])


@operation("triggers", "GET /triggers", _REGION)
def triggers(admin: FunctionAdmin, call: OperationRequest) -> Response:
    """The triggers of all functions, and settings in the functions folder that are ignored."""
    there, _ = _there(admin, call)
    body = json_list.pieces("triggers", there.every_trigger(), {"problems": admin.problems()})
    return Response(200, body, [("Content-Type", "application/json")])


@operation(
    "sessions",
    "GET /sessions",
    argument("function", about="``service/function`` or ``function``; empty for all functions.", default=""),
    argument("limit", Whole(0, 1000), "How many, the latest first.", default=100),
    _REGION,
)
def sessions(admin: FunctionAdmin, call: OperationRequest) -> dict[str, Any]:
    """The latest sessions of functions, with the instance each is bound to; times in milliseconds.

    Raises: FunctionNotFound.
    """
    there, arguments = _there(admin, call)
    return {"sessions": there.sessions(**arguments)}


@operation(
    "trigger-event",
    "GET /trigger-event",
    argument("function", about="``service/function`` or ``function``."),
    argument("trigger", about="The trigger's name."),
    argument("payload", about="The event of its source, instead of an example.", default=None),
    _REGION,
)
def trigger_event(admin: FunctionAdmin, call: OperationRequest) -> dict[str, Any]:
    """The event that a trigger would pass to its function now.

    Raises: TriggerNotFound.
    """
    there, arguments = _there(admin, call)
    return {"event": there.trigger_event(**arguments).decode("utf-8", "replace")}


@operation(
    "fire-trigger",
    "POST /fire-trigger",
    argument("function", about="``service/function`` or ``function``."),
    argument("trigger", about="The trigger's name."),
    argument("payload", about="The payload of a timer trigger instead of its own.", default=None),
    argument("event", BINARY, "The whole event instead of the one the trigger makes.", default=None),
    _REGION,
)
async def fire_trigger(admin: FunctionAdmin, call: OperationRequest) -> dict[str, Any]:
    """Call a trigger's function now and return the result; ``body`` is Base64.

    Raises: FcError when there is no such trigger or its function cannot be called.
    """
    there, arguments = _there(admin, call)
    return await there.fire_trigger(**arguments)


@operation(
    "call-later",
    "POST /call-later",
    argument("function", about="``service/function.qualifier``."),
    argument("event", BINARY, "The event of the call.", default=b""),
    _REGION,
)
def call_later(admin: FunctionAdmin, call: OperationRequest) -> Response:
    """Queue an asynchronous call; returns one line of JSON with its id, and one with its result and destination."""
    there, arguments = _there(admin, call)
    return Response(200, _lines(there.call_later(**arguments)), [("Content-Type", "application/x-ndjson")])


@operation(
    "debug",
    "POST /debug",
    argument("function", about="``service/function.qualifier``."),
    argument("event", BINARY, "The event of the call.", default=b""),
    argument("wait", FLAG, "Wait for the debugger before the call begins."),
    argument("port", Whole(0, _LAST_PORT), "Where the debugger listens; 0 for any free port."),
    _REGION,
)
def debug(admin: FunctionAdmin, call: OperationRequest) -> Response:
    """Call a function in a debugger; returns a line of JSON per step; closing the connection ends the call.

    Raises: FcError when there is no such function or it cannot be debugged.
    """
    there, arguments = _there(admin, call)
    return Response(200, _lines(there.debug(**arguments)), [("Content-Type", "application/x-ndjson")])


def _there(admin: FunctionAdmin, call: OperationRequest) -> tuple[FunctionAdmin, dict[str, Any]]:
    """Return the `FunctionAdmin` of the region that the call names, and the call's other arguments."""
    arguments = dict(call.arguments)
    return admin.of_region(arguments.pop("region") or call.region), arguments


async def _lines(steps: AsyncIterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    async for step in steps:
        yield json.dumps(step).encode("ascii") + b"\n"
