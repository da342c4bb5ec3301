"""An execution, as the commands about flows name it, start it and tell its end."""

import json
from argparse import Namespace
from typing import Any

from emulator.cli.client import Client
from emulator.cli.output import CallRefused, CommandFailed, WrongUsage, _, spoken, translated_status

EXPRESS_TIMEOUT_S = 330.0
"""An express execution may take five minutes, and its end is the answer."""

FINAL_STATES = frozenset({"Succeeded", "Failed", "Stopped", "TimedOut"})
FOLLOW_INTERVAL_S = 0.2


def name_execution(arguments: Namespace) -> None:
    """Accept FLOW/EXECUTION in place of FLOW and EXECUTION: the name of a flow has no slash.

    Raises: WrongUsage when an execution is named twice.
    """
    flow, slash, execution = (arguments.flow or "").partition("/")
    if slash:
        if arguments.execution and arguments.execution != execution:
            raise WrongUsage(
                _("the execution is named twice: {one} and {other}", one=execution, other=arguments.execution)
            )
        arguments.flow, arguments.execution = flow, execution or None


def check_input(text: str) -> None:
    """Raises: WrongUsage for an input of an execution that is no JSON."""
    try:
        json.loads(text)
    except ValueError as error:
        raise WrongUsage(_("--input is not JSON: {error}", error=spoken(str(error)))) from error


def start_execution(client: Client, flow: str, input_json: str, name: str | None = None) -> dict[str, Any]:
    """Start an execution and return the reply; that of an express flow comes at its end and has its output.

    Raises: NoEmulator, CallRefused.
    """
    parameters = {"FlowName": flow, "Input": input_json, **({"ExecutionName": name} if name else {})}
    try:
        return client.workflow("StartExecution", **parameters)
    except CallRefused as error:
        if error.code != "ActionNotSupported":
            raise
    return client.workflow("StartSyncExecution", EXPRESS_TIMEOUT_S, **parameters)


def latest(client: Client, flow: str) -> str:
    """Return the name of the execution of *flow* that was started last.

    Raises: CommandFailed when there is none; NoEmulator, CallRefused.
    """
    newest = client.workflow("ListExecutions", FlowName=flow, Limit="1").get("Executions") or []
    if not newest:
        raise CommandFailed(_("flow {name} has not been executed yet", name=flow))
    return str(newest[0]["Name"])


def ended_with(status: str, what: str) -> str:
    """Return a line on the end of an execution: its status, and its output or what went wrong."""
    shown = translated_status(status)
    return _("{status}: {what}", status=shown, what=what) if what else shown
