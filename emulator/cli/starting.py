"""Starting an execution, whichever mode its flow has."""

from typing import Any

from emulator.cli.client import Client
from emulator.cli.failures import CallRefused
from emulator.cli.output import say, say_json

EXPRESS_TIMEOUT_S = 330.0
"""An express execution may take five minutes, and its end is the answer."""


def start(client: Client, flow: str, given: str, name: str | None = None) -> dict[str, Any]:
    """Start an execution and return the reply; that of an express flow comes at its end and has its output.

    Raises: NoEmulator, CallRefused.
    """
    parameters = {"FlowName": flow, "Input": given, **({"ExecutionName": name} if name else {})}
    try:
        return client.workflow("StartExecution", **parameters)
    except CallRefused as error:
        if error.code != "ActionNotSupported":
            raise
    return client.workflow("StartSyncExecution", EXPRESS_TIMEOUT_S, **parameters)


def show(reply: dict[str, Any], *, as_json: bool) -> int:
    """Print what `start` returned; the exit code tells whether an express execution has failed."""
    if as_json:
        say_json(reply)
    elif "ErrorCode" not in reply:
        say(f"started {reply['Name']}")
    else:
        why = " ".join(part for part in (reply["ErrorCode"], reply["ErrorMessage"]) if part)
        say(f"execution {reply['Name']}")
        say(f"{reply['Status']}: {why or reply['Output'] or '{}'}")
    return 0 if reply.get("Status") in {"", "Starting", "Running", "Succeeded"} else 1
