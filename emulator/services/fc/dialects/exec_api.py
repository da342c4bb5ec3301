"""InstanceExec over the wire: a GET that becomes a WebSocket, signed like any other call of 2016-08-15.

Source: aliyun-fc2, fc-go-sdk and @alicloud/fc2 for path and parameters; defaults are those of @alicloud/fc2.
"""

from emulator.http.message import Response
from emulator.http.websocket import NoHandshake, accept
from emulator.services.fc.dialects.bodies import truth
from emulator.services.fc.dialects.exchange import Exchange
from emulator.services.fc.dialects.routing import Route, valid_text
from emulator.services.fc.errors import InstanceNotFound, InvalidArgument
from emulator.services.fc.runtime.model import ShellCommand
from emulator.services.fc.terminal import Start, Terminal, command_line

_DEFAULT_IDLE_S = 120
_LONGEST_IDLE_S = 86_400


def instance_exec(exchange: Exchange) -> Response:
    """Run a command beside an instance, connected to the caller."""
    instance = exchange.segment("instance")
    found = exchange.service.instance_list.of_qualifier(
        exchange.tenant, exchange.service_name, exchange.segment("function"), exchange.qualifier
    )
    if all(info.instance_id != instance for info in found):
        raise InstanceNotFound(instance=instance)
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
    return exchange.service.shell(instance, ShellCommand(command=tuple(command), **flags))


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
