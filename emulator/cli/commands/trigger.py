"""``trigger``: the triggers of functions, listed and fired by hand."""

from argparse import Namespace
from binascii import a2b_base64, b2a_base64
from typing import Any

from emulator.cli.client import connect
from emulator.cli.commands.invoke import Called, read_event, show_called
from emulator.cli.failures import DONE, FAILED
from emulator.cli.output import say_json, say_table, short, wants_json
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
    content: dict[str, Any] = {"function": arguments.function, "trigger": arguments.trigger}
    if arguments.payload is not None:
        content["payload"] = arguments.payload
    if arguments.event_file is not None:
        content["event"] = b2a_base64(read_event(arguments.event_file), newline=False).decode("ascii")
    fired = connect(settings).admin("POST", "fire-trigger", content)
    body = a2b_base64(fired["body"])
    if wants_json(arguments):
        say_json({**fired, "body": body.decode("utf-8", "replace")})
        return FAILED if fired["error"] else DONE
    called = Called(request_id=str(fired["requestId"]), error=fired["error"] or "", body=body, log=fired["log"] or "")
    return show_called(called, with_log=arguments.log)


def _about(row: dict[str, Any]) -> str:
    config = row["config"]
    match row["type"]:
        case "http":
            return f"{row['urls'][0]} ({config.get('authType')}: {' '.join(config.get('methods', ()))})"
        case "timer":
            return str(config.get("cronExpression", ""))
        case _:
            return short(str(row["sourceArn"] or config), _LONGEST_SETTING)
