"""``invoke``: call a function as an SDK would."""

import json
import sys
from argparse import Namespace
from binascii import a2b_base64
from pathlib import Path
from typing import Any
from urllib.parse import quote

from emulator.cli import debug
from emulator.cli.answered import Called
from emulator.cli.client import FC3_VERSION, FC_VERSION
from emulator.cli.failures import CommandFailed, WrongUsage
from emulator.cli.output import complain, say_json
from emulator.cli.session import connect, wants_json
from emulator.config import Settings


def run(arguments: Namespace, settings: Settings) -> int:
    """Call the function and print what it returns; the exit code is 1 when the function failed."""
    event = _event(arguments)
    called = debug.call(arguments, settings, event) if arguments.debug else _call(arguments, settings, event)
    if wants_json(arguments):
        say_json(
            {
                "requestId": called.request_id,
                "result": _content(called.body),
                "error": called.error or None,
                **({"log": called.log} if arguments.log else {}),
            }
        )
        return 1 if called.error else 0
    if arguments.log and called.log:
        sys.stderr.write(called.log if called.log.endswith("\n") else called.log + "\n")
    sys.stdout.buffer.write(called.body)
    if sys.stdout.isatty() and not called.body.endswith(b"\n"):
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()
    if called.error:
        complain(f"the function failed ({called.error})")
        return 1
    return 0


def _call(arguments: Namespace, settings: Settings, event: bytes) -> Called:
    headers = {"Content-Type": "application/octet-stream", "X-Fc-Log-Type": "Tail" if arguments.log else "None"}
    reply = connect(settings).functions("POST", path_of(arguments.function), event, headers, timeout_s=None)
    return Called(
        request_id=reply.headers.get("x-fc-request-id", ""),
        error=reply.headers.get("x-fc-error-type", ""),
        body=reply.body,
        log=a2b_base64(reply.headers.get("x-fc-log-result", "")).decode("utf-8", "replace"),
    )


def path_of(function: str) -> str:
    """Return the path that invokes ``[SERVICE[.QUALIFIER]/]FUNCTION``.

    Raises: WrongUsage.
    """
    service, slash, name = function.rpartition("/")
    if not name or (slash and not service) or "/" in service:
        raise WrongUsage(f"a function is written [SERVICE[.QUALIFIER]/]FUNCTION, not {function!r}")
    if service:
        return f"/{FC_VERSION}/services/{quote(service, safe='')}/functions/{quote(name, safe='')}/invocations"
    return f"/{FC3_VERSION}/functions/{quote(name, safe='')}/invocations"


def _event(arguments: Namespace) -> bytes:
    if arguments.event is not None:
        return str(arguments.event).encode("utf-8", "surrogateescape")
    if arguments.event_file is None:
        return b""
    if arguments.event_file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(arguments.event_file).read_bytes()
    except OSError as error:
        raise CommandFailed(f"{arguments.event_file} cannot be read: {error.strerror}") from error


def _content(body: bytes) -> Any:
    """Return the body as JSON when it is JSON, else as text."""
    text = body.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except ValueError:
        return text
