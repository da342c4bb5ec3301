"""``fault``, ``mock`` and ``sink``: what tests put between the parts of an application."""

import json
from argparse import Namespace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from emulator.cli.client import connect
from emulator.cli.output import WrongUsage, _, say, say_json, say_table, show_table, tell, wants_json
from emulator.config import Settings

_FAULTS = {"fault": "id", "match": "match", "do": "do", "after": "after", "times": "times", "struck": "struck"}
_MOCKS = {"mock": "id", "function": "function", "answers": "answers", "then": "then", "calls": "calls"}
_SINKS = {"sink": "id", "received": "received", "URL": "url"}
_CALLS = {
    "at": "at",
    "caller": "caller",
    "event": "event",
    "answer": "answer",
    "error": "error",
    "request": "request_id",
}
_REQUESTS = {"at": "at", "method": "method", "status": "status", "signed": "signature_valid", "body": "body"}


# --- faults ----------------------------------------------------------------------------------------------------------


def add_fault(arguments: Namespace, settings: Settings) -> int:
    """Let calls go wrong."""
    match = {
        "service": arguments.service,
        "operation": arguments.operation,
        "resource": arguments.resource,
        "from": arguments.origin,
    }
    do = {
        "error": arguments.error,
        "status": arguments.status,
        "throttle": arguments.throttle or None,
        "drop": arguments.drop,
        "function": arguments.function,
        "delay": arguments.delay,
    }
    counts = {name: getattr(arguments, name) for name in ("after", "times", "probability", "seed")}
    body = {"match": _given(match), "do": _given(do), **_given(counts)}
    made = connect(settings).admin("POST", "faults", body)
    return tell(arguments, _("added {name}", name=made["id"]), made)


def list_faults(arguments: Namespace, settings: Settings) -> int:
    """List the faults."""
    return show_table(arguments, _FAULTS, connect(settings).admin("GET", "faults")["faults"])


def remove_fault(arguments: Namespace, settings: Settings) -> int:
    """Remove a fault, or all."""
    return _remove(arguments, settings, "faults")


# --- mocks -----------------------------------------------------------------------------------------------------------


def add_mock(arguments: Namespace, settings: Settings) -> int:
    """Answer calls of a function in its place."""
    answers = _answers(arguments)
    body = {"function": arguments.function, "answers": answers, **_given({"then": arguments.then})}
    made = connect(settings).admin("POST", "mocks", body)
    return tell(arguments, _("added {name}", name=made["id"]), made)


def _answers(arguments: Namespace) -> list[Any]:
    """Return the answers of a mock.

    Raises: WrongUsage.
    """
    if arguments.answers:
        try:
            answers = json.loads(Path(arguments.answers).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise WrongUsage(_("{file} cannot be read: {error}", file=arguments.answers, error=error)) from error
        return answers if isinstance(answers, list) else [answers]
    answers = [{"return": _value(text)} for text in arguments.returns or ()]
    if arguments.raises:
        kind, colon, message = arguments.raises.partition(":")
        thrown = {"errorType": kind if colon else "Error", "errorMessage": (message if colon else kind).strip()}
        answers.append({"error": thrown})
    if arguments.delay:
        answers = [{**answer, "delay": arguments.delay} for answer in answers]
    return answers


def _value(text: str) -> Any:
    """Return a value given as JSON; what is none is a text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def list_mocks(arguments: Namespace, settings: Settings) -> int:
    """List the mocks."""
    return show_table(arguments, _MOCKS, connect(settings).admin("GET", "mocks")["mocks"])


def calls(arguments: Namespace, settings: Settings) -> int:
    """Print the calls that a mock, or a function, has had."""
    name = arguments.mock
    page = f"mocks/{quote(name)}/calls" if name.startswith("mock-") else f"calls/{quote(name)}"
    return show_table(arguments, _CALLS, connect(settings).admin("GET", page)["calls"])


def remove_mock(arguments: Namespace, settings: Settings) -> int:
    """Remove a mock, or all."""
    return _remove(arguments, settings, "mocks")


# --- sinks -----------------------------------------------------------------------------------------------------------


def add_sink(arguments: Namespace, settings: Settings) -> int:
    """Make an address that keeps what it is sent, and print it."""
    answers = [{"status": status} for status in arguments.status or ()]
    made = connect(settings).admin("POST", "sinks", {"answers": answers})
    return tell(arguments, made["url"], made)


def list_sinks(arguments: Namespace, settings: Settings) -> int:
    """List the sinks."""
    sinks = connect(settings).admin("GET", "sinks")["sinks"]
    if wants_json(arguments):
        say_json(sinks)
    else:
        say_table(list(_SINKS), [[sink[name] for name in _SINKS.values()] for sink in sinks])  # addresses uncut
    return 0


def show_sink(arguments: Namespace, settings: Settings) -> int:
    """Print what a sink has received."""
    name = arguments.name.rstrip("/").rpartition("/")[2]  # its address will do
    requests = connect(settings).admin("GET", f"sinks/{quote(name, safe='')}")["requests"]
    if not arguments.full or wants_json(arguments):
        return show_table(arguments, _REQUESTS, requests)
    for each in requests:
        say_json(each)
        say()
    return 0


def remove_sink(arguments: Namespace, settings: Settings) -> int:
    """Remove a sink, or all."""
    return _remove(arguments, settings, "sinks")


def _remove(arguments: Namespace, settings: Settings, page: str) -> int:
    one = f"{page}/{quote(arguments.name, safe='')}" if arguments.name else page
    done = connect(settings).admin("DELETE", one)
    return tell(arguments, _("removed {number}", number=done["removed"]), done)


def _given(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
