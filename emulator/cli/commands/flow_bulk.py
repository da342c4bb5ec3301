"""Executions in bulk: started from a file of inputs, stopped, run again."""

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from emulator.cli.client import Client, connect
from emulator.cli.commands.definition import definition_to_send
from emulator.cli.output import (
    DONE,
    FAILED,
    CallRefused,
    CommandFailed,
    WrongUsage,
    _,
    enumerated,
    progress,
    say,
    say_json,
    short,
    spoken,
    translated_status,
    unreadable,
    wants_json,
)
from emulator.config import Settings
from emulator.kernel.clock import Millis
from emulator.wire.dates import iso_millis, parse_iso
from emulator.wire.durations import parse_duration

FINAL = frozenset({"Succeeded", "Failed", "Stopped", "TimedOut"})
WAIT_S = 60

Outcome = tuple[str, str]
"""The status of an execution, or ``refused``, and a text about it."""


def start_many(
    arguments: Namespace, settings: Settings, start_execution: Callable[[Client, str, str], dict[str, Any]]
) -> int:
    """Start an execution for each line of a file, several at a time, and wait for their ends."""
    try:
        lines = Path(arguments.inputs).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(unreadable(arguments.inputs, error)) from error
    inputs = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    for number, line in inputs:
        try:
            json.loads(line)
        except ValueError as error:
            place = f"{arguments.inputs}:{number}"
            raise WrongUsage(_("{what} is not JSON: {error}", what=place, error=spoken(str(error)))) from error

    def run(line: str) -> Outcome:
        client = connect(settings)
        started = start_execution(client, arguments.flow, line)
        return _end(client, arguments.flow, started)

    works = [(f"{arguments.inputs}:{number}", partial(run, line)) for number, line in inputs]
    return _summary(arguments, list(_all(works, arguments.parallel)))


def _end(client: Client, flow: str, started: dict[str, Any]) -> Outcome:
    state = started
    while state.get("Status") not in FINAL:
        names = {"FlowName": flow, "ExecutionName": str(started["Name"])}
        state = client.workflow("DescribeExecution", WAIT_S + 30.0, **names, WaitTimeSeconds=str(WAIT_S))
    return str(state["Status"]), str(started["Name"])


def stop_all(arguments: Namespace, settings: Settings) -> int:
    """Stop the executions of a flow that have not ended."""
    client = connect(settings)
    why = {name: text for name, text in (("Error", arguments.error), ("Cause", arguments.cause)) if text}

    def stop(name: str) -> Outcome:
        connect(settings).workflow("StopExecution", FlowName=arguments.flow, ExecutionName=name, **why)
        return "Stopped", name

    found = [each["Name"] for each in listed(client, arguments) if each["Status"] not in FINAL]
    works = [(name, partial(stop, name)) for name in found]
    return _summary(arguments, list(_all(works, 4)))


def rerun(arguments: Namespace, settings: Settings) -> int:
    """Run failed executions again, from the beginning or from a step."""
    client = connect(settings)
    arguments.status = "Failed"
    file = arguments.definition
    definition = definition_to_send(arguments, file, client.account) if file else ""

    def again(record: dict[str, Any]) -> Outcome:
        own = connect(settings)
        if not arguments.before and not definition:
            started = own.workflow("StartExecution", FlowName=arguments.flow, Input=str(record["Input"] or "{}"))
        else:
            page = f"flows/{quote(arguments.flow, safe='')}/executions/{quote(record['Name'], safe='')}/fork"
            where = {"before": arguments.before} if arguments.before else {"event": 2}
            made = own.admin("POST", page, {**where, **({"definition": definition} if definition else {})})
            started = {"Name": made["execution"]}
        return _end(own, arguments.flow, started)

    works = [(each["Name"], partial(again, each)) for each in list(listed(client, arguments))]
    return _summary(arguments, list(_all(works, arguments.parallel)))


def listed(client: Client, arguments: Namespace) -> Iterator[dict[str, Any]]:
    """Yield the executions of a flow selected by ``--status``, ``--since`` and ``--error``, newest first."""
    chosen = {"Status": arguments.status} if arguments.status else {}
    if arguments.since:
        chosen["StartedTimeBegin"] = _since(client, arguments.since)
    wanted = getattr(arguments, "error_name", None)
    for each in client.workflow_pages("ListExecutions", "Executions", FlowName=arguments.flow, **chosen):
        if wanted is None or _error(client, arguments.flow, each) == wanted:
            yield each


def _error(client: Client, flow: str, execution: dict[str, Any]) -> str:
    if execution["Status"] not in FINAL:
        return ""
    names = {"FlowName": flow, "ExecutionName": str(execution["Name"])}
    events = list(client.workflow_pages("GetExecutionHistory", "Events", Limit="500", **names))
    return str(json.loads(events[-1]["EventDetail"] or "{}").get("error", "")) if events else ""


def _since(client: Client, text: str) -> str:
    try:
        now = int(client.admin("GET", "clock")["now_ms"])
        return iso_millis(Millis(now - parse_duration(text)))
    except ValueError:
        pass
    try:
        return iso_millis(parse_iso(text))
    except ValueError as error:
        raise WrongUsage(_("--since takes a duration such as 2h, or a time")) from error


def _all(works: Sequence[tuple[str, Callable[[], Outcome]]], parallel: int) -> Iterator[tuple[str, Outcome]]:
    def done(work: Callable[[], Outcome]) -> Outcome:
        try:
            return work()
        except CallRefused as refusal:
            return "refused", str(refusal)

    with ThreadPoolExecutor(parallel) as pool:
        came = pool.map(done, [work for _, work in works])
        for number, ((name, _work), each) in enumerate(zip(works, came, strict=True), 1):
            progress(f"{number}/{len(works)}")
            yield name, each


def _line(name: str, status: str, text: str) -> str:
    """Return a line about the end of an execution, or of the new one for the execution *name*."""
    if status in FINAL:
        return f"{name} -> {text}: {translated_status(status)}"
    return f"{name}: {translated_status(status)} {short(text, 200)}"


def _summary(arguments: Namespace, came: list[tuple[str, Outcome]]) -> int:
    counts = Counter(status for _name, (status, _text) in came)
    if wants_json(arguments):
        say_json([{"of": name, "status": status, "execution": text} for name, (status, text) in came])
    else:
        for name, (status, text) in came:
            if status not in {"Succeeded", "Stopped"}:
                say(_line(name, status, text))
        ends = (
            _("{field}: {message}", field=translated_status(status), message=number)
            for status, number in sorted(counts.items())
        )
        say(enumerated(ends) or _("nothing to do"))
    return DONE if not counts.keys() - {"Succeeded", "Stopped"} else FAILED
