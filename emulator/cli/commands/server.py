"""``stop``, ``status`` and ``reset``: one emulator; ``list``: all of this user; ``account``: further accounts.

Each further account has keys and resources of its own.
"""

import sys
from argparse import Namespace
from typing import Any
from urllib.parse import quote

from emulator.cli.client import Client, connect, until
from emulator.cli.endpoint import Endpoint, Running, is_alive, running
from emulator.cli.output import (
    DONE,
    CommandFailed,
    NoEmulator,
    _,
    say_json,
    say_pairs,
    say_table,
    show,
    show_table,
    tell,
    wants_json,
)
from emulator.config import Settings

STOP_TIMEOUT_S = 30.0
_SCOPES = ("service", "queue", "topic", "flow", "function")
_LISTED = ("http", "https", "pid", "account", "state", "version", "installation")


def stop(arguments: Namespace, settings: Settings) -> int:
    """End the emulator and wait until it has ended."""
    client = connect(settings)
    client.health()
    end(client)
    return tell(arguments, _("stopped {address}", address=client.endpoint.http), {"stopped": client.endpoint.http})


def end(client: Client) -> None:
    """End the emulator of *client* and wait until it has ended.

    Raises: NoEmulator, CallRefused; CommandFailed when it goes on running.
    """
    client.admin("POST", "stop")
    if not until(lambda: _has_ended(client), STOP_TIMEOUT_S):
        fields = {"address": client.endpoint.http, "seconds": round(STOP_TIMEOUT_S)}
        raise CommandFailed(_("the emulator at {address} is still running after {seconds} s", **fields))


def _has_ended(client: Client) -> bool:
    pid = client.endpoint.pid
    if pid is not None:
        return not is_alive(pid)
    try:
        client.ping()
    except NoEmulator:
        return True
    return False


def show_list(arguments: Namespace, settings: Settings) -> int:
    """List the emulators of this user that answer; the one of this folder's settings is marked."""
    rows = [each for each in running() if _answers(each)]
    if wants_json(arguments):
        say_json([{name: getattr(each, name) for name in _LISTED} for each in rows])
        return DONE
    own = str(settings.config.state.absolute())
    marks = ["*" if each.state == own else "" for each in rows]
    say_table(
        ("", "http", "https", "process", "account", "state folder"),
        [
            (mark, each.http, each.https, each.pid, each.account, each.state)
            for mark, each in zip(marks, rows, strict=True)
        ],
    )
    return DONE


def _answers(entry: Running) -> bool:
    """Whether the emulator of an entry is there; its process's number may be another program's by now."""
    try:
        health = Client(Endpoint(http=entry.http, source=entry.state), None, entry.state).ping()
    except CommandFailed:
        return False
    return health.get("installation") == entry.installation


def status(arguments: Namespace, settings: Settings) -> int:
    """Print what is running and what it serves."""
    client = connect(settings)
    client.health()
    found = client.admin("GET", "status")
    if wants_json(arguments):
        say_json(found)
        return 0
    say_pairs({name: _readable(value) for name, value in found.items()})
    return 0


def _readable(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_readable(part)}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(_readable(part) for part in value) or _("none")
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def reset(arguments: Namespace, settings: Settings) -> int:
    """Delete every resource the services keep, or what the one option names."""
    client = connect(settings)
    client.health()
    scope = {name: value for name in _SCOPES if (value := getattr(arguments, name))}
    if not arguments.yes and not scope and sys.stdin.isatty():
        question = _("Delete everything in {address} (functions of the folder stay)? [y/N]")
        if input(question.format(address=client.endpoint.http) + " ").strip().lower() not in {"y", "yes"}:
            raise CommandFailed(_("nothing has been deleted"))
    done = client.admin("POST", "reset", scope)
    name = " ".join(scope.values())
    return tell(arguments, _("reset {name}", name=name) if scope else _("reset"), done)


_COLUMNS = {"account": "accountId", "access key": "accessKeyId", "secret": "accessKeySecret"}


def add_account(arguments: Namespace, settings: Settings) -> int:
    """Add an account and print its key."""
    content = {"accountId": arguments.account} if arguments.account else {}
    return show(arguments, [connect(settings).admin("POST", "accounts", content)], as_list=False)


def list_accounts(arguments: Namespace, settings: Settings) -> int:
    """List the accounts with their keys."""
    return show_table(arguments, _COLUMNS, connect(settings).admin("GET", "accounts")["accounts"])


def remove_account(arguments: Namespace, settings: Settings) -> int:
    """Forget an account and its key; what it has made stays until `reset`."""
    done = connect(settings).admin("DELETE", f"accounts/{quote(arguments.account, safe='')}")
    return tell(arguments, _("removed {name}", name=arguments.account), done)
