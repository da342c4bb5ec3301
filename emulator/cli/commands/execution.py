"""Executions in the commands about flows: naming one, starting one, describing its end."""

import json
from argparse import Namespace
from typing import Any

from emulator.cli.client import Client
from emulator.cli.output import CallRefused, CommandFailed, WrongUsage, _, spoken, translated_status

EXPRESS_TIMEOUT_S = 330.0
"""Seconds; an express execution takes up to five minutes and is answered at its end."""

FINAL_STATES = frozenset({"Succeeded", "Failed", "Stopped", "TimedOut"})
FOLLOW_INTERVAL_S = 0.2


def name_execution(arguments: Namespace) -> None:
    """Accept FLOW/EXECUTION in place of FLOW and EXECUTION, as the name of a flow has no slash.

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
    """Check the input of an execution.

    Raises: WrongUsage when it is not JSON.
    """
    try:
        json.loads(text)
    except ValueError as error:
        raise WrongUsage(_("--input is not JSON: {error}", error=spoken(str(error)))) from error


def start_execution(client: Client, flow: str, input_json: str, name: str | None = None) -> dict[str, Any]:
    """Start an execution and return the reply; an express flow replies at its end, with the output.

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
    """Return the name of the latest execution of *flow*.

    Raises: CommandFailed when there is none; NoEmulator, CallRefused.
    """
    newest = client.workflow("ListExecutions", FlowName=flow, Limit="1").get("Executions") or []
    if not newest:
        raise CommandFailed(_("flow {name} has not been executed yet", name=flow))
    return str(newest[0]["Name"])


def ended_with(status: str, what: str) -> str:
    """Return a line about the end of an execution: its status, and its output or error."""
    shown = translated_status(status)
    return _("{status}: {what}", status=shown, what=what) if what else shown
