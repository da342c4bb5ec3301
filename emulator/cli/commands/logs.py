"""``logs``: what functions have written, or all that came of one request."""

import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from typing import Any

from emulator.cli.client import connect
from emulator.cli.output import DONE, CommandFailed, WrongUsage, _, say, say_json_line, wants_json
from emulator.config import Settings


def run(arguments: Namespace, settings: Settings) -> int:
    """Print the last lines and, when asked to, each new one until interrupted; with ``--json`` an object per line."""
    if arguments.lines < 0:
        raise WrongUsage(_("--lines must not be negative"))
    if arguments.request and (arguments.function or arguments.follow):
        raise WrongUsage(_("--request goes with neither a function nor --follow"))
    client = connect(settings)
    if arguments.request:
        return _print_trace(arguments, client.admin("GET", "trace", request=arguments.request)["lines"])
    query = {"lines": str(arguments.lines), "follow": "true" if arguments.follow else "false"}
    if arguments.function:
        query["function"] = arguments.function
    if wants_json(arguments):
        for line in _lines(client.admin_text("logs", **query)):
            say_json_line(_as_object(line, arguments.function))
        return DONE
    for piece in client.admin_text("logs", **query):
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    return DONE


def _lines(pieces: Iterable[bytes]) -> Iterator[str]:
    pending = b""
    for piece in pieces:
        *lines, pending = (pending + piece).split(b"\n")
        yield from (line.decode("utf-8", "replace") for line in lines)
    if pending:
        yield pending.decode("utf-8", "replace")


def _as_object(line: str, function: str) -> dict[str, str]:
    """Return a line with its function, which leads the line when the lines of all functions are shown."""
    if function:
        return {"function": function, "line": line}
    name, mark, rest = line.partition(": ")
    return {"function": name, "line": rest} if mark else {"function": "", "line": line}


def _print_trace(arguments: Namespace, lines: list[dict[str, Any]]) -> int:
    """Print what came of a request: function output is led by the function, other lines are as in the server's log."""
    if not lines:
        raise CommandFailed(_("nothing of that request is among the recent lines of the log"))
    for line in lines:
        if wants_json(arguments):
            say_json_line(line)
            continue
        lead = f"{line['function']}: " if line["logger"] == "function" else ""
        for text in line["message"].splitlines():
            say(f"{line['time']} {lead}{text}")
    return DONE
