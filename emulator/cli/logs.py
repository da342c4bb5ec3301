"""``logs``: what functions have written."""

import sys
from argparse import Namespace

from emulator.cli.failures import WrongUsage
from emulator.cli.session import connect
from emulator.config import Settings


def run(arguments: Namespace, settings: Settings) -> int:
    """Print the last lines and, when asked to, each new one until interrupted."""
    if arguments.lines < 0:
        raise WrongUsage("--lines must not be negative")
    client = connect(settings)
    query = {"lines": str(arguments.lines), "follow": "true" if arguments.follow else "false"}
    if arguments.function:
        query["function"] = arguments.function
    for piece in client.admin_text("logs", **query):
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    return 0
