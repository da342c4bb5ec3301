"""``trigger``: the triggers of functions, listed and fired by hand."""

import sys
from argparse import Namespace
from binascii import a2b_base64, b2a_base64
from pathlib import Path
from typing import Any

from emulator.cli.failures import DONE, FAILED, CommandFailed
from emulator.cli.output import complain, say_json, say_table, short
from emulator.cli.session import connect, wants_json
from emulator.config import Settings

_LONGEST_SETTING = 60


def show_list(arguments: Namespace, settings: Settings) -> int:
    """List the triggers of all functions."""
    found = connect(settings).admin("GET", "triggers")["triggers"]
    if wants_json(arguments):
        say_json(found)
        return DONE
    rows = [
        (row["function"], row["trigger"], row["type"], row["qualifier"], "on" if row["enabled"] else "off", _about(row))
        for row in found
    ]
    say_table(("function", "trigger", "type", "qualifier", "state", "what it listens to"), rows)
    return DONE


def fire(arguments: Namespace, settings: Settings) -> int:
    """Call the trigger's function and print what it returns; the exit code is 1 when the function failed."""
    asked: dict[str, Any] = {"function": arguments.function, "trigger": arguments.trigger}
    if arguments.payload is not None:
        asked["payload"] = arguments.payload
    if arguments.event_file is not None:
        asked["event"] = b2a_base64(_read(arguments.event_file), newline=False).decode("ascii")
    fired = connect(settings).admin("POST", "fire-trigger", asked)
    body = a2b_base64(fired["body"])
    if wants_json(arguments):
        say_json({**fired, "body": body.decode("utf-8", "replace")})
        return FAILED if fired["error"] else DONE
    if arguments.log and fired["log"]:
        sys.stderr.write(fired["log"].rstrip("\n") + "\n")
    sys.stdout.buffer.write(body)
    if sys.stdout.isatty() and not body.endswith(b"\n"):
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()
    if fired["error"]:
        complain(f"the function failed ({fired['error']})")
        return FAILED
    return DONE


def _about(row: dict[str, Any]) -> str:
    config = row["config"]
    match row["type"]:
        case "http":
            return f"{row['urls'][0]} ({config.get('authType')}: {' '.join(config.get('methods', ()))})"
        case "timer":
            return str(config.get("cronExpression", ""))
        case _:
            return short(str(row["sourceArn"] or config), _LONGEST_SETTING)


def _read(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise CommandFailed(f"{name} cannot be read: {error.strerror}") from error
