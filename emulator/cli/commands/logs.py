"""``logs``: what functions have written, or all that came of one request."""

import sys
from argparse import Namespace
from typing import Any

from emulator.cli.client import connect
from emulator.cli.failures import CommandFailed, WrongUsage
from emulator.cli.output import say
from emulator.config import Settings


def run(arguments: Namespace, settings: Settings) -> int:
    """Print the last lines and, when asked to, each new one until interrupted."""
    if arguments.lines < 0:
        raise WrongUsage("--lines must not be negative")
    if arguments.request and (arguments.function or arguments.follow):
        raise WrongUsage("--request goes with neither a function nor --follow")
    client = connect(settings)
    if arguments.request:
        return _print_trace(client.admin("GET", "trace", request=arguments.request)["lines"])
    query = {"lines": str(arguments.lines), "follow": "true" if arguments.follow else "false"}
    if arguments.function:
        query["function"] = arguments.function
    for piece in client.admin_text("logs", **query):
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    return 0


def _print_trace(lines: list[dict[str, Any]]) -> int:
    """Print what came of a request: function output is led by the function, other lines are as in the server's log."""
    if not lines:
        raise CommandFailed("nothing of that request is among the recent lines of the log")
    for line in lines:
        lead = f"{line['function']}: " if line["logger"] == "function" else ""
        for text in line["message"].splitlines():
            say(f"{line['time']} {lead}{text}")
    return 0
