"""InvokeFunction, the same in every dialect: the body is the event, everything else is in headers.

Source: API reference of InvokeFunction; Funcraft for the exposed headers and content types.
"""

from base64 import b64encode

from emulator.http.message import Response
from emulator.http.websocket import NoHandshake, accept
from emulator.services.fc.asynchronous.model import Order
from emulator.services.fc.codec import Exchange, truth
from emulator.services.fc.dialects.routing import Route, valid_text
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.invoke.invoking import Call, Invoked
from emulator.services.fc.invoke.terminal import Start, Terminal, command_line
from emulator.services.fc.limits import LOG_TAIL_BYTES
from emulator.services.fc.runtime.instance import ShellOrder

_EXPOSED = (
    "Date,x-fc-request-id,x-fc-error-type,x-fc-code-checksum,x-fc-invocation-duration,x-fc-max-memory-usage,"
    "x-fc-log-result,x-fc-invocation-code-version"
)


async def invoke_function(exchange: Exchange) -> Response:
    """Run a function and wait for its result, or queue the call."""
    headers = exchange.context.http.headers
    kind = _choice(headers.get("x-fc-invocation-type") or "Sync", "X-Fc-Invocation-Type", ("sync", "async", "dryrun"))
    tail = _choice(headers.get("x-fc-log-type") or "None", "X-Fc-Log-Type", ("none", "tail")) == "tail"
    in_service = exchange.has_service
    call = Call(
        service=exchange.service_name if in_service else "",
        function=exchange.segment("function"),
        qualifier=exchange.qualifier,
        event=exchange.context.http.body,
        request_id=exchange.context.request_id,
        now=exchange.now,
        tracing=dict(headers.starting_with("x-fc-tracing-")),
        request=exchange.context.http,
    )
    if kind == "dryrun":
        exchange.service.invoker.check(exchange.tenant, call)
        return Response(204)
    if kind == "async":
        return _queue(exchange, call)
    return _answer(await exchange.service.invoker.invoke(exchange.tenant, call), tail=tail)


def _queue(exchange: Exchange, call: Call) -> Response:
    """Queue a call; the answer leaves once that is committed.

    Either generation's header may name the task; 2.0 has one more that asks for task mode or against it.
    """
    headers = exchange.context.http.headers
    enable = headers.get("x-fc-stateful-async-invocation-enable")
    order = Order(
        service=call.service,
        function=call.function,
        qualifier=call.qualifier,
        event=call.event,
        request_id=call.request_id,
        now=call.now,
        task_mode=truth(enable) if enable else None,
        task_id=headers.get("x-fc-stateful-async-invocation-id") or headers.get("x-fc-async-task-id"),
        tracing=call.tracing,
    )
    accepted = exchange.service.async_queue.accept(exchange.tenant, order)
    named = []
    if accepted.task_id:
        header = "X-Fc-Stateful-Async-Invocation-Id" if call.service else "X-Fc-Async-Task-Id"
        named.append((header, accepted.task_id))
    return Response(202, b"", [("Access-Control-Expose-Headers", _EXPOSED), *named])


def _choice(value: str, header: str, choices: tuple[str, ...]) -> str:
    if value.lower() not in choices:
        raise InvalidArgument(f"{header} '{value[:40]}' is invalid: it must be one of {', '.join(choices)}")
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
    if tail:
        headers.append(("X-Fc-Log-Result", b64encode(result.log[-LOG_TAIL_BYTES:]).decode("ascii")))
    return Response(200, result.body, headers)


_DEFAULT_IDLE_S = 120
_LONGEST_IDLE_S = 86_400


def instance_exec(exchange: Exchange) -> Response:
    """Run a command beside an instance, connected to the caller."""
    instance = exchange.segment("instance")
    found = exchange.service.instance_list.of_qualifier(
        exchange.tenant, exchange.service_name, exchange.segment("function"), exchange.qualifier
    )
    if all(info.instance_id != instance for info in found):
        raise FcError("InstanceNotFound", instance=instance)
    try:
        return accept(exchange.context.http, Terminal(_start(exchange, instance), _idle_s(exchange)))
    except NoHandshake as error:
        raise InvalidArgument(str(error)) from error


def _start(exchange: Exchange, instance: str) -> Start:
    """Return what starts the command asked for.

    Raises: InvalidArgument.
    """
    pairs = [(name, valid_text(value)) for name, value in exchange.context.http.query_pairs]
    try:
        command = command_line([value for name, value in pairs if name == "command"] or ["/bin/bash"])
    except ValueError as error:
        raise InvalidArgument(f"command is invalid: {error}") from error
    if not command or any("\0" in word for word in command):
        raise InvalidArgument("command is required")
    flags = {name: truth(exchange.query(name) or default) for name, default in _FLAGS.items()}
    return exchange.service.shell(instance, ShellOrder(command=tuple(command), **flags))


_FLAGS = {"stdin": "true", "stdout": "true", "stderr": "false", "tty": "true"}


def _idle_s(exchange: Exchange) -> int:
    text = exchange.query("idleTimeout") or str(_DEFAULT_IDLE_S)
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 0 < int(text) <= _LONGEST_IDLE_S):
        raise InvalidArgument(f"idleTimeout '{text[:40]}' is invalid: it must be from 1 to {_LONGEST_IDLE_S}")
    return int(text)


ROUTES = (
    Route(
        "GET",
        "/services/{service}/functions/{function}/instances/{instance}/exec",
        "InstanceExec",
        instance_exec,
    ),
)
