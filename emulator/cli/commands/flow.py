"""``flow``: flows, their executions and histories."""

import json
import shlex
from argparse import Namespace
from typing import Any

from emulator.cli.client import Client, connect, say_what_is_elsewhere
from emulator.cli.commands.definition import definition_to_send, explained
from emulator.cli.commands.execution import FINAL_STATES, check_input, ended_with, name_execution, start_execution
from emulator.cli.output import (
    CallRefused,
    WrongUsage,
    _,
    complain,
    note,
    say,
    say_json,
    say_pairs,
    sentences,
    short,
    show_rows,
    tell,
    translated_status,
    wants_json,
)
from emulator.config import Settings


def start(arguments: Namespace, settings: Settings) -> int:
    """Start an execution; with ``--follow`` the exit code says whether it succeeded."""
    if arguments.inputs:
        _leave_out("--inputs", {"--name": arguments.name, "--follow": arguments.follow})
        from emulator.cli.commands.flow_bulk import start_many  # only for several executions

        return start_many(arguments, settings, start_execution)
    check_input(arguments.input)
    if arguments.events and not arguments.follow:
        raise WrongUsage(_("--events requires --follow"))
    client = connect(settings)
    running = _running(client, arguments.flow, arguments.name)
    started = start_execution(client, arguments.flow, arguments.input, arguments.name)
    if running and json.loads(running["Input"] or "{}") != json.loads(arguments.input):
        complain(_("{name} is running already, with another input; this one is not used", name=arguments.name))
    if arguments.follow:
        from emulator.cli.commands.flow_history import follow  # imports what draws trees, rarely needed

        try:
            return follow(client, arguments, started["Name"])
        except KeyboardInterrupt:
            stop = f"localyun flow stop {shlex.quote(arguments.flow)} {shlex.quote(started['Name'])}"
            note(_("the execution goes on; {command} stops it", command=stop))
            raise
    if running and not wants_json(arguments):
        say(_("{name} is running already", name=started["Name"]))
        return 0
    return show_started(started, as_json=wants_json(arguments))


def _running(client: Client, flow: str, name: str | None) -> dict[str, Any] | None:
    """Return the execution of that name if it has not ended, None for none: a start returns it and starts nothing."""
    try:
        known = client.workflow("DescribeExecution", FlowName=flow, ExecutionName=name) if name else {}
    except CallRefused:
        return None  # or the start is refused too, with the reason
    return known if known and known["Status"] not in FINAL_STATES else None


def _leave_out(what: str, given: dict[str, Any]) -> None:
    """Refuse options that have no effect together with *what*.

    Raises: WrongUsage.
    """
    for option in (name for name, value in given.items() if value):
        raise WrongUsage(_("{option} cannot be combined with {what}", option=option, what=what))


def show_started(reply: dict[str, Any], *, as_json: bool) -> int:
    """Print what `start_execution` returned; the exit code says whether an express execution has failed."""
    if as_json:
        say_json(reply)
    elif "ErrorCode" not in reply:
        say(_("started {name}", name=reply["Name"]))
    else:
        why = " ".join(part for part in (reply["ErrorCode"], reply["ErrorMessage"]) if part)
        say(_("execution {name}", name=reply["Name"]))
        say(ended_with(reply["Status"], why or reply["Output"] or "{}"))
    return 0 if reply.get("Status") in {"", "Starting", "Running", "Succeeded"} else 1


def show_list(arguments: Namespace, settings: Settings) -> int:
    """List the flows, or the executions of one flow, newest first."""
    client = connect(settings)
    if arguments.flow is None:
        chosen = {"--status": arguments.status, "--since": arguments.since, "--error": arguments.error_name}
        for option in (name for name, value in chosen.items() if value):
            raise WrongUsage(_("{option} requires the name of a flow", option=option))
        flows = list(client.workflow_pages("ListFlows", "Flows"))
        headings = ("name", "created", "description")
        rows = [(flow["Name"], flow["CreatedTime"], short(flow.get("Description") or "", 60)) for flow in flows]
    else:
        from emulator.cli.commands.flow_bulk import listed  # only for executions

        flows = list(listed(client, arguments))
        headings = ("execution", "status", "started")
        rows = [(each["Name"], translated_status(each["Status"]), each["StartedTime"]) for each in flows]
    code = show_rows(arguments, headings, rows, flows)
    if arguments.flow is None:
        say_what_is_elsewhere(arguments, client, "flows")
    return code


def describe(arguments: Namespace, settings: Settings) -> int:
    """Print a flow with its definition, or an execution with its input and output."""
    name_execution(arguments)
    client = connect(settings)
    if arguments.execution:
        execution = client.workflow("DescribeExecution", FlowName=arguments.flow, ExecutionName=arguments.execution)
        shown = ("FlowName", "Name", "Status", "StartedTime", "StoppedTime", "Input", "Output")
    else:
        execution = client.workflow("DescribeFlow", Name=arguments.flow)
        shown = ("Name", "Description", "Type", "RoleArn", "ExecutionMode", "CreatedTime", "LastModifiedTime")
    if wants_json(arguments):
        say_json(execution)
        return 0
    say_pairs({name: execution[name] for name in shown if execution.get(name)})
    if not arguments.execution:
        say()
        say(str(execution["Definition"]).rstrip("\n"))
    return 0


def create(arguments: Namespace, settings: Settings) -> int:
    """Create a flow from a file; with ``--update`` also replace one that exists."""
    client = connect(settings)
    parameters = {
        "Name": arguments.flow,
        "Definition": definition_to_send(arguments, arguments.file, client.account),
        "Description": arguments.description,
        "Type": "FDL",
    }
    if arguments.role_arn:
        parameters["RoleArn"] = arguments.role_arn
    done = _("created {name}")
    try:
        flow = client.workflow("CreateFlow", **parameters)
    except CallRefused as error:
        if error.code != "FlowAlreadyExists":
            raise explained(error, parameters["Definition"], arguments.file) from error
        if not arguments.update:
            text = sentences(str(error).removeprefix(f"{error.code}: "), _("--update replaces it."))
            raise CallRefused(error.status, error.code, text, error.content) from error
        done = _("updated {name}")
        try:
            flow = client.workflow("UpdateFlow", **parameters)
        except CallRefused as refusal:
            raise explained(refusal, parameters["Definition"], arguments.file) from refusal
    return tell(arguments, done.format(name=arguments.flow), flow)


def delete(arguments: Namespace, settings: Settings) -> int:
    """Delete a flow."""
    connect(settings).workflow("DeleteFlow", Name=arguments.flow)
    return tell(arguments, _("deleted {name}", name=arguments.flow), {"Name": arguments.flow})


def stop(arguments: Namespace, settings: Settings) -> int:
    """Stop a running execution, or all that have not ended."""
    if arguments.all:
        from emulator.cli.commands.flow_bulk import stop_all  # only for several executions

        return stop_all(arguments, settings)
    name_execution(arguments)
    if not arguments.execution:
        command = f"localyun flow list {shlex.quote(arguments.flow)}"
        raise WrongUsage(_("name the execution: FLOW/EXECUTION; {command} lists them", command=command))
    _leave_out(_("one execution"), {"--status": arguments.status, "--since": arguments.since})
    why = {"Error": arguments.error, "Cause": arguments.cause}
    stopped = connect(settings).workflow(
        "StopExecution",
        FlowName=arguments.flow,
        ExecutionName=arguments.execution,
        **{name: text for name, text in why.items() if text},
    )
    return tell(arguments, _("stopped {name}", name=arguments.execution), stopped)


def schedules(arguments: Namespace, settings: Settings) -> int:
    """List the schedules of a flow."""
    listed = list(connect(settings).workflow_pages("ListSchedules", "Schedules", FlowName=arguments.flow))
    enabled = {True: _("yes"), False: _("no")}
    rows = [
        (each["ScheduleName"], each["CronExpression"], enabled[bool(each["Enable"])], short(each["Payload"], 60))
        for each in listed
    ]
    return show_rows(arguments, ("schedule", "expression", "enabled", "payload"), rows, listed)


def fire(arguments: Namespace, settings: Settings) -> int:
    """Start an execution as a schedule would, now, enabled or not; the schedule's next run does not change."""
    client = connect(settings)
    schedule = client.workflow("DescribeSchedule", FlowName=arguments.flow, ScheduleName=arguments.schedule)
    started = start_execution(client, arguments.flow, schedule["Payload"] or "{}")
    return show_started(started, as_json=wants_json(arguments))
