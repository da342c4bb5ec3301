"""InvokeFunction, the same in every version: the body is the event, everything else is in headers. And InstanceExec.

InstanceExec is a GET that becomes a WebSocket, signed like any other call of 2016-08-15: a client's terminal on one
end, a command beside an instance on the other. The first byte of a message is its channel: 0 what the client types,
1 and 2 what the command writes, 3 an error of the service, 4 a new size of the terminal, 5 the end.

Source: API reference of InvokeFunction; Funcraft for the exposed headers and content types; aliyun-fc2, fc-go-sdk and
@alicloud/fc2 for path, parameters and channels of InstanceExec, whose defaults are those of @alicloud/fc2; the form of
a size (``{"Width", "Height"}``) is assumed.
"""

import asyncio
import json
import shlex
from collections.abc import Sequence
from functools import partial

from emulator.http.message import Response
from emulator.http.websocket import NoHandshake, WebSocket, accept
from emulator.kernel.digits import read_digits
from emulator.services.fc.codec import (
    V2023,
    WITH_SERVICES,
    function_of,
    qualifier_of,
    query,
    service_of,
    truth,
    valid_text,
)
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.invoke.invoking import FunctionCall, Invoked
from emulator.services.fc.ports import Shell, StartShell
from emulator.services.fc.runtime import logs
from emulator.services.fc.runtime.model import RuntimeFailure, ShellCommand
from emulator.services.fc.service import FunctionCompute
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.schema.json_bodies import not_allowed

_EXPOSED = (
    "Date,x-fc-request-id,x-fc-error-type,x-fc-code-checksum,x-fc-invocation-duration,x-fc-max-memory-usage,"
    "x-fc-log-result,x-fc-invocation-code-version"
)


@operation("InvokeFunction", "POST /services/{service}/functions/{function}/invocations", api=WITH_SERVICES)
@operation("InvokeFunction", "POST /functions/{function}/invocations", api=V2023)
async def invoke_function(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Run a function and wait for its result, or queue the call.

    Answers 200 with the result, also of a function that failed (then with ``X-Fc-Error-Type``); 202 for a queued call,
    204 for a dry run.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, InvalidArgument, EntityTooLarge,
    InvocationDisabled, ResourceExhausted, ResourceThrottled, CAExited, StatefulAsyncInvocationAlreadyExists.
    Source: API reference, InvokeFunction; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    headers = call.http.headers
    kind = _choice(headers.get("x-fc-invocation-type"), "InvocationType", ("Sync", "Async", "DryRun"))
    log_types = ("None",) if kind == "async" else ("Tail", "None")
    tail = _choice(headers.get("x-fc-log-type") or "None", "LogType", log_types) == "tail"
    invocation = FunctionCall(
        service=service_of(call),
        function=call.path["function"],
        qualifier=qualifier_of(call),
        event=call.http.body,
        request_id=call.request_id,
        now=call.now,
        tracing=dict(headers.starting_with("x-fc-tracing-")),
        request=call.http,
        origin="async" if kind == "async" else "client",
    )
    if kind == "dryrun":
        fc.invoker.check(call.tenant, invocation)
        return Response(204)
    if kind == "async":
        return _queue(fc, call, invocation)
    call.writes_later = False
    return _answer(await fc.invoker.invoke(call.tenant, invocation), tail=tail)


def _queue(fc: FunctionCompute, call: OperationRequest, invocation: FunctionCall) -> Response:
    """Queue a call; the answer leaves once that is committed.

    Either generation's header may name the task; 2.0 has one more that asks for task mode or against it.
    """
    enable = call.header("x-fc-stateful-async-invocation-enable")
    accepted = fc.async_queue.accept(
        call.tenant,
        invocation,
        task_id=call.header("x-fc-stateful-async-invocation-id") or call.header("x-fc-async-task-id"),
        task_mode=truth(enable) if enable else None,
    )
    named = []
    if accepted.task_id:
        header = "X-Fc-Stateful-Async-Invocation-Id" if invocation.service else "X-Fc-Async-Task-Id"
        named.append((header, accepted.task_id))
    return Response(202, b"", [("Access-Control-Expose-Headers", _EXPOSED), *named])


def _choice(value: str, name: str, choices: tuple[str, ...]) -> str:
    """Return the value of a header in lower case, the first of *choices* when it is empty."""
    if not value:
        return choices[0].lower()
    if value.lower() not in {choice.lower() for choice in choices}:
        raise InvalidArgument(not_allowed(name, choices, value))
    return value.lower()


def _answer(invoked: Invoked, *, tail: bool) -> Response:
    result = invoked.result
    headers = [
        ("Content-Type", "application/json" if result.error_type else "application/octet-stream"),
        ("Access-Control-Expose-Headers", _EXPOSED),
        ("X-Fc-Code-Checksum", invoked.checksum),
        ("X-Fc-Invocation-Duration", str(round(result.duration_ms))),
        ("X-Fc-Max-Memory-Usage", f"{result.max_memory_mb:.2f}"),
        ("X-Fc-Invocation-Service-Version", invoked.version),
        ("X-Fc-Invocation-Function-Version", invoked.version),
        ("X-Fc-Invocation-Code-Version", invoked.version),
        ("X-Fc-Instance-Id", result.instance_id),
        ("X-Localyun-Start", "cold" if result.cold else "provisioned" if result.provisioned else "warm"),
    ]
    if result.error_type:
        headers.append(("X-Fc-Error-Type", result.error_type))
    headers += invoked.fields
    if tail:
        headers.append(("X-Fc-Log-Result", logs.tail(result.log)))
    return Response(200, result.body, headers)


_DEFAULT_IDLE_S = 120
_LONGEST_IDLE_S = 86_400


@operation("InstanceExec", "GET /services/{service}/functions/{function}/instances/{instance}/exec", api=WITH_SERVICES)
def instance_exec(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Run a command beside an instance, connected to the caller.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, InstanceNotFound, InvalidArgument.
    Source: fc-go-sdk instance_exec.go; aliyun-fc2 client.py; @alicloud/fc2.
    """
    instance = call.path["instance"]
    instances = fc.instance_list.of_qualifier(call.tenant, *function_of(call), qualifier_of(call))
    if all(info.instance_id != instance for info in instances):
        raise FcError("InstanceNotFound", instance=instance)
    try:
        return accept(call.http, Terminal(_start(fc, call, instance), _idle_s(call)))
    except NoHandshake as error:
        raise InvalidArgument(str(error)) from error


def _start(fc: FunctionCompute, call: OperationRequest, instance: str) -> StartShell:
    """Return a function that starts the command which the call's query names.

    Raises: InvalidArgument.
    """
    pairs = [(name, valid_text(value)) for name, value in call.http.query_pairs]
    try:
        command = command_line([value for name, value in pairs if name == "command"] or ["/bin/bash"])
    except ValueError as error:
        raise InvalidArgument(f"command is invalid: {error}") from error
    if not command or any("\0" in word for word in command):
        raise InvalidArgument("command is required")
    flags = {name: truth(query(call, name) or default) for name, default in _FLAGS.items()}
    return partial(fc.instances.shell, instance, ShellCommand(command=tuple(command), **flags))


_FLAGS = {"stdin": "true", "stdout": "true", "stderr": "false", "tty": "true"}


def _idle_s(call: OperationRequest) -> int:
    text = query(call, "idleTimeout") or str(_DEFAULT_IDLE_S)
    idle_s = read_digits(text)
    if not idle_s or idle_s > _LONGEST_IDLE_S:
        raise InvalidArgument(f"idleTimeout '{text[:40]}' is invalid: it must be from 1 to {_LONGEST_IDLE_S}")
    return idle_s


_ERROR = 3
_LAST_CHANNEL = 5
_MOST_CELLS = 1000


class Terminal:
    """A terminal session on a `WebSocket`, which is closed after *idle_s* seconds without data in either direction."""

    def __init__(self, start: StartShell, idle_s: float) -> None:
        self._start = start
        self._idle_s = idle_s
        self._socket: WebSocket | None = None
        self._shell: Shell | None = None
        self._idle: asyncio.TimerHandle | None = None

    def opened(self, socket: WebSocket) -> None:
        """Start the command."""
        self._socket = socket
        self._busy()
        try:
            self._shell = self._start(self._output, self._ended)
        except (OSError, RuntimeFailure) as error:
            socket.send(bytes([_ERROR]) + str(error).encode("utf-8", "replace"))
            socket.close()

    def message(self, data: bytes) -> None:
        """Receive what the client sent. One official client puts no channel in front of what is typed."""
        self._busy()
        if self._shell is None or not data:
            return
        match data[0]:
            case 0:
                self._shell.write(data[1:])
            case 4:
                size = _size(data[1:])
                if size is not None:
                    self._shell.resize(*size)
            case channel if channel > _LAST_CHANNEL:
                self._shell.write(data)

    def pace(self, go: bool) -> None:
        """Pause the command while the client does not keep up."""
        if self._shell is not None:
            self._shell.pace(go)

    def closed(self) -> None:
        """End the command: its client has gone."""
        if self._idle is not None:
            self._idle.cancel()
        if self._shell is not None:
            self._shell.end()

    def _output(self, channel: int, data: bytes) -> None:
        self._busy()
        if self._socket is not None:
            self._socket.send(bytes([channel]) + data)

    def _ended(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def _busy(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        if self._socket is not None:
            self._idle = asyncio.get_running_loop().call_later(self._idle_s, self._socket.close)


def command_line(parts: Sequence[str]) -> list[str]:
    """Return a command in words: one text is split as a shell would, several are taken as they are.

    Raises: ValueError for a text with an open quote.
    """
    return shlex.split(parts[0]) if len(parts) == 1 else list(parts)


def _size(data: bytes) -> tuple[int, int] | None:
    """Return columns and rows, None when the message has none."""
    try:
        size = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(size, dict):
        return None
    width, height = (size.get(name, size.get(name.lower())) for name in ("Width", "Height"))
    if type(width) is int and type(height) is int and 0 < width < _MOST_CELLS and 0 < height < _MOST_CELLS:
        return width, height
    return None
