"""``stop``, ``status`` and ``reset``: one running emulator as a whole."""

import os
import sys
from argparse import Namespace
from typing import Any

from emulator.cli.client import Client, connect, until
from emulator.cli.failures import CommandFailed, NoEmulator
from emulator.cli.output import say, say_json, say_pairs, wants_json
from emulator.config import Settings

STOP_TIMEOUT_S = 30.0


def stop(arguments: Namespace, settings: Settings) -> int:
    """End the emulator and wait until it has ended."""
    del arguments
    client = connect(settings)
    client.health()
    end(client)
    say(f"stopped {client.endpoint.http}")
    return 0


def end(client: Client) -> None:
    """End the emulator of *client* and wait until it has ended.

    Raises: NoEmulator, CallRefused; CommandFailed when it goes on running.
    """
    client.admin("POST", "stop")
    if not until(lambda: _has_ended(client), STOP_TIMEOUT_S):
        raise CommandFailed(f"the emulator at {client.endpoint.http} is still running after {STOP_TIMEOUT_S:.0f} s")


def _has_ended(client: Client) -> bool:
    pid = client.endpoint.pid
    if pid is not None:
        return not _is_alive(pid)
    try:
        client.health(timeout_s=1.0)
    except NoEmulator:
        return True
    return False


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Whether the process has ended and only waits for its parent to notice (in containers nobody may)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:  # noqa: PTH123 - not a real file
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return False


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
        return ", ".join(_readable(part) for part in value) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def reset(arguments: Namespace, settings: Settings) -> int:
    """Delete every resource the services keep."""
    client = connect(settings)
    client.health()
    if not arguments.yes and sys.stdin.isatty():
        answer = input(f"Delete everything in {client.endpoint.http} (functions of the folder stay)? [y/N] ")
        if answer.strip().lower() not in {"y", "yes"}:
            raise CommandFailed("nothing has been deleted")
    done = client.admin("POST", "reset")
    if wants_json(arguments):
        say_json(done)
    else:
        say("reset")
    return 0
