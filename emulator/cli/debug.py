"""``invoke --debug``: a call that waits for a debugger, and what the editor has to be told to attach to it."""

import json
import sys
from argparse import Namespace
from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Mapping
from typing import Any

from emulator.cli.answered import Called
from emulator.cli.failures import CallRefused, CommandFailed
from emulator.cli.output import note
from emulator.cli.session import connect
from emulator.config import Settings


def call(arguments: Namespace, settings: Settings, event: bytes) -> Called:
    """Call the function with a debugger in it; print the launch configuration on standard error meanwhile.

    Raises: NoEmulator, CallRefused, CommandFailed.
    """
    content = {
        "function": arguments.function,
        "event": b64encode(event).decode("ascii"),
        "wait": arguments.wait,
        "port": arguments.debug_port,
    }
    for step in connect(settings).admin_steps("debug", content):
        if "debugger" in step:
            _introduce(arguments.function, step["debugger"], waits=arguments.wait)
        elif "Code" in step:
            raise CallRefused(400, str(step["Code"]), str(step["Message"]))
        else:
            return Called(
                request_id=str(step["requestId"]),
                error=str(step["error"] or ""),
                body=a2b_base64(step["body"]),
                log=str(step["log"]),
            )
    raise CommandFailed("the emulator ended before the function did")


def _introduce(function: str, debugger: Mapping[str, Any], *, waits: bool) -> None:
    port = debugger["port"]
    note(f"A debugger can attach to 127.0.0.1:{port}; a launch configuration for VS Code:")
    sys.stderr.write(json.dumps(launch_configuration(function, debugger), indent=2, ensure_ascii=False) + "\n")
    if waits:
        note("The function runs once a debugger has attached. Ctrl-C ends the call.")


def launch_configuration(function: str, debugger: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of ``launch.json`` that attaches to *debugger*, as a step of the admin page tells it.

    Code that is used in place maps to itself. A package that was uploaded has been unpacked elsewhere: then the folder
    opened in the editor is taken for its source.

    Source: VS Code, Python debugging (attach by ``connect``) and Node.js debugging (``localRoot``, ``remoteRoot``).
    """
    folder = debugger["codeFolder"]
    local = folder if debugger["inPlace"] else "${workspaceFolder}"
    common = {"name": f"localyun {function}", "request": "attach"}
    if str(debugger["runtime"]).startswith("nodejs"):
        return {
            **common,
            "type": "node",
            "address": debugger["host"],
            "port": debugger["port"],
            "localRoot": local,
            "remoteRoot": folder,
            "skipFiles": ["<node_internals>/**"],
        }
    return {
        **common,
        "type": "debugpy",
        "connect": {"host": debugger["host"], "port": debugger["port"]},
        "pathMappings": [{"localRoot": local, "remoteRoot": folder}],
    }
