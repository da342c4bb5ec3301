"""Admin operations of Function Compute, below ``/_localyun/``."""

import json
from binascii import b2a_base64
from collections.abc import AsyncIterator
from typing import Any

from emulator.http.message import Response
from emulator.services.fc.service import FunctionCompute
from emulator.wire.operation import ANYONE, Parameter, operation
from emulator.wire.request import OperationRequest

_LAST_PORT = 65_535


@operation("code", "GET /code/{token}", right=ANYONE)
def code(service: FunctionCompute, call: OperationRequest) -> Response | None:
    """The zip an answer to GetFunctionCode points to; the token in the path is the permission."""
    content = service.code_download(call.path["token"])
    return None if content is None else Response(200, content, [("Content-Type", "application/zip")])


@operation(
    "logs",
    "GET /logs",
    Parameter("function", about="``service/function`` or ``function``; empty for all functions.", default=""),
    Parameter("lines", int, "How many of the last lines to return.", default=100),
    Parameter("follow", bool, "Go on with new lines as they come.", default=False),
)
def logs(service: FunctionCompute, call: OperationRequest) -> Response:
    """The last lines of a function's log, then new ones while following.

    Raises: FunctionNotFound.
    """
    function, lines, follow = (call.arguments[name] for name in ("function", "lines", "follow"))
    pieces = service.logs(function, lines, follow=follow)
    return Response(200, pieces, [("Content-Type", "text/plain; charset=utf-8")])


@operation("triggers", "GET /triggers")
def triggers(service: FunctionCompute, call: OperationRequest) -> dict[str, Any]:
    """The triggers of all functions."""
    return {"triggers": service.sources.rows(call.tenant)}


@operation(
    "fire-trigger",
    "POST /fire-trigger",
    Parameter("function", about="``service/function`` or ``function``."),
    Parameter("trigger", about="The trigger's name."),
    Parameter("payload", about="The payload of a timer trigger instead of its own.", default=None),
    Parameter("event", bytes, "The whole event instead of the one the trigger makes.", default=None),
)
async def fire_trigger(service: FunctionCompute, call: OperationRequest) -> dict[str, Any]:
    """Call a trigger's function now and answer the result; ``body`` is base64.

    Raises: FcError when there is no such trigger or its function cannot be called.
    """
    arguments = call.arguments
    name, _, function = arguments["function"].rpartition("/")
    fired = await service.sources.fire(
        call.tenant, name, function, arguments["trigger"], payload=arguments["payload"], event=arguments["event"]
    )
    return {
        "requestId": fired.request_id,
        "status": fired.status,
        "error": fired.error_type or None,
        "body": b2a_base64(fired.body, newline=False).decode("ascii"),
        "log": fired.log.decode("utf-8", "replace"),
    }


@operation(
    "debug",
    "POST /debug",
    Parameter("function", about="``service.qualifier/function``."),
    Parameter("event", bytes, "The event of the call.", default=b""),
    Parameter("wait", bool, "Wait for the debugger before the call begins."),
    Parameter("port", int, "Where the debugger listens; 0 for any free port.", most=_LAST_PORT),
)
def debug(service: FunctionCompute, call: OperationRequest) -> Response:
    """Call a function with a debugger in it; the answer is a line of JSON for each step, closing it ends the call.

    Raises: FcError when there is no such function or it cannot be debugged.
    """
    function, event, wait, port = (call.arguments[name] for name in ("function", "event", "wait", "port"))
    steps = service.debug(function, event, wait=wait, port=port)
    return Response(200, _lines(steps), [("Content-Type", "application/x-ndjson")])


async def _lines(steps: AsyncIterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    async for step in steps:
        yield json.dumps(step).encode("ascii") + b"\n"
