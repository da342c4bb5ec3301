"""``explore``: run an execution with every order of its effects, and print the outcomes.

With ``--schedule`` one of the schedules is run again, and its execution stays, for inspection.
"""

import json
import os
import re
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from emulator.cli.background import handling
from emulator.cli.client import Client, connect
from emulator.cli.commands.execution import check_input, ended_with, start_execution
from emulator.cli.commands.server import link
from emulator.cli.mock_files import requests
from emulator.cli.output import (
    CallRefused,
    CommandFailed,
    WrongUsage,
    _,
    note,
    say,
    say_json,
    say_table,
    spoken,
    unreadable,
    wants_json,
)
from emulator.config import Settings
from emulator.kernel.phrases import said
from emulator.kernel.turnstile import unknown_name
from emulator.lab.exploration import (
    Deviations,
    Search,
    deviations_in_words,
    deviations_of,
    in_words,
    not_an_option,
    not_taken,
    read_schedule_text,
    schedule_text,
    steps_of,
    taken_in,
)

ONE_OUTCOME = 0
MORE_OUTCOMES = 1

_ID = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9A-F]{24}(?:[0-9A-F]{8})?\b")
"""Ids of requests (24 digits, in queues and topics), of messages, and random ones of functions; ignored in outcomes."""

_SHOWN = 200
"""Characters shown of an output in the table."""

_WIDTH = 44
"""Columns of the table for the output, so that the table is no wider than a page."""

_EVENTS = "1000"
_HISTORIES = 20
"""The most outcomes kept with their history, of which the first `_EVENTS` events are kept."""


def explore(arguments: Namespace, settings: Settings) -> int:
    """Run an execution once for each schedule; print each outcome with the shortest schedule that produces it."""
    check_input(arguments.input)
    if mistake := unknown_name(_list(arguments.order) or (), _list(arguments.faults) or ()):
        raise WrongUsage(spoken(mistake))
    mocks = _mocks(arguments.mocks, arguments.flow)
    given = _schedule(arguments.schedule)
    client = connect(settings)
    with _explored(client, mocks, keeps=given is not None) as begin_again:
        if given is not None:
            begin_again()
            view, outcome = _run(client, arguments, {"choices": {str(at): taken for at, taken in given}})
            if mistake := not_an_option(given, view):
                raise WrongUsage(said(mistake, _))
            _tell_run(arguments, view, outcome)
            if missed := not_taken(given, view):
                note(
                    _(
                        "{schedule} was not used; choices in this run: {count}",
                        schedule=missed,
                        count=len(view["choices"]),
                    )
                )
            return ONE_OUTCOME
        return _search(client, arguments, begin_again)


@contextmanager
def _explored(client: Client, mocks: list[dict[str, Any]], *, keeps: bool) -> Iterator[Callable[[], None]]:
    """Freeze the clock; yield a function that restores the present state.

    At the end the state and the clock are restored, unless *keeps*, which leaves the state of the last run.
    """
    before, begin = f"checkpoints/explore-{os.getpid()}", f"checkpoints/explore-{os.getpid()}-frozen"
    frozen = client.admin("GET", "clock")["frozen"]
    added: list[str] = []

    def begin_again() -> None:
        client.admin("POST", f"{begin}/restore")
        added[:] = [client.admin("POST", "mocks", mock)["id"] for mock in mocks]

    client.admin("POST", before)
    try:
        client.admin("POST", "clock", {"freeze": True})
        client.admin("POST", "settle", {"timeout": "60s"})
        client.admin("POST", begin)
        yield begin_again
    finally:
        with handling(("SIGINT",), lambda number, frame: None):  # a second Ctrl-C would leave the clock frozen
            client.admin("DELETE", "schedule")
            if not keeps:
                client.admin("POST", f"{before}/restore")
            else:
                for mock in added:
                    client.admin("DELETE", f"mocks/{mock}")
                client.admin("POST", "clock", {"freeze": frozen})
            with suppress(CallRefused):  # an interruption may come before the checkpoint exists
                client.admin("DELETE", begin)
            client.admin("DELETE", before)


def _search(client: Client, arguments: Namespace, begin_again: Callable[[], None]) -> int:
    search = Search(deviations=arguments.deviations, most=arguments.runs)
    outcomes: dict[str, dict[str, Any]] = {}
    ways: list[dict[str, Any]] = []
    for schedule in search:
        begin_again()
        view, outcome = _run(client, arguments, schedule)
        is_new = search.learn(view)
        which = _ID.sub("*", json.dumps(outcome, sort_keys=True))
        if which not in outcomes:
            outcomes[which] = {**outcome, "runs": 0, "schedule": schedule_text(taken_in(view))}
            events = _history(client, arguments.flow) if len(ways) < _HISTORIES else []
            ways.append({"deviations": deviations_of(view), "steps": steps_of(view), "events": events})
        outcomes[which]["runs"] += is_new or not outcomes[which]["runs"]
    found = list(outcomes.values())
    page = _keep(client, arguments, search, found, ways)
    for outcome, way in zip(found, ways, strict=True):
        outcome["deviations"] = [in_words(each, str if wants_json(arguments) else _) for each in way["deviations"]]
    _tell(arguments, search, found, client, page)
    return ONE_OUTCOME if len(outcomes) == 1 else MORE_OUTCOMES


def _keep(
    client: Client,
    arguments: Namespace,
    search: Search,
    outcomes: list[dict[str, Any]],
    ways: list[dict[str, Any]],
) -> str:
    """Store the outcomes in the emulator, and return the path of their console page; "" when they are too large."""
    exploration = {
        "flow": arguments.flow,
        "definition": client.workflow("DescribeFlow", Name=arguments.flow)["Definition"],
        "input": arguments.input,
        **_extent(search),
        "outcomes": [{**outcome, **way} for outcome, way in zip(outcomes, ways, strict=True)],
    }
    with suppress(CallRefused):
        return f"explorations/{client.admin('POST', 'explorations', exploration)['id']}"
    return ""


def _extent(search: Search) -> dict[str, Any]:
    return {"tried": search.tried, "known": search.known, "complete": search.is_complete}


def _name() -> str:
    """Return the name of this exploration's executions, which run one after another."""
    return f"explored-{os.getpid()}"


def _history(client: Client, flow: str) -> list[dict[str, Any]]:
    """Return the first events of the execution; none of an express flow's, which keeps no history."""
    with suppress(CallRefused):
        names = {"FlowName": flow, "ExecutionName": _name()}
        events: list[dict[str, Any]] = client.workflow("GetExecutionHistory", **names, Limit=_EVENTS)["Events"]
        return events
    return []


def _schedule(text: str | None) -> Deviations | None:
    """Return the deviations of a schedule given as text.

    Raises: WrongUsage for an invalid one.
    """
    try:
        return None if text is None else read_schedule_text(text)
    except ValueError as error:
        raise WrongUsage(said(str(error), _)) from error


def _run(client: Client, arguments: Namespace, schedule: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run an execution by a schedule; return its answer to GET schedule, and its outcome."""
    fixed = {"order": _list(arguments.order), "faults": _list(arguments.faults) or [], "patience": arguments.patience}
    client.admin("POST", "schedule", {**fixed, **schedule})
    flow = arguments.flow
    name = _name()
    started = start_execution(client, flow, arguments.input, name)
    try:
        client.admin("POST", "skip", {"until": {"quiet": True}, "limit": arguments.limit, "timeout": "60s"})
    except CallRefused as refusal:
        if "active" not in refusal.content:
            raise  # otherwise the executions wait for something outside, which is an outcome too
    view = client.admin("GET", "schedule")
    is_express = "ErrorCode" in started  # an express execution has ended, and is not stored
    ended = started if is_express else client.workflow("DescribeExecution", FlowName=flow, ExecutionName=name)
    trace = started["RequestId"] if is_express else f"{quote(flow, safe='')}/{quote(name, safe='')}"
    tree = client.admin("GET", f"trace/{trace}")["tree"]
    return view, {
        "status": ended["Status"],
        "output": ended.get("Output") or "",
        "calls": sorted(_named(tree, "call")),
        "messages": sorted(_named(tree, "push")),
    }


def _named(tree: list[dict[str, Any]], kind: str) -> list[str]:
    """Return the names of all nodes of a kind, at any depth."""
    own = [f"{node['name']} {node.get('status', '')}".strip() for node in tree if node.get("kind") == kind]
    return own + [name for node in tree for name in _named(node.get("children") or [], kind)]


def _list(texts: list[str] | None) -> list[str] | None:
    """Return the names given by an option that may be repeated and may list several; None when it is not given."""
    parts = (part.strip() for text in texts or () for part in text.split(","))
    return None if texts is None else list(filter(None, parts))


def _mocks(file: str | None, flow: str) -> list[dict[str, Any]]:
    """Return the mocks in a file, in the form of POST mocks. Raises: WrongUsage."""
    if file is None:
        return []
    try:
        content = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WrongUsage(unreadable(file, error)) from error
    return requests(content, flow)


def _tell(arguments: Namespace, search: Search, outcomes: list[dict[str, Any]], client: Client, page: str) -> None:
    if wants_json(arguments):
        say_json({"outcomes": outcomes, **_extent(search), "page": page})
        return
    rows = [row for each in outcomes for row in _rows(each)]
    say_table(("status", "runs", "shortest schedule", "output, calls and pushes"), rows)
    for each in outcomes:
        if each["deviations"]:
            note(f"{each['schedule']}:")
            for sentence in each["deviations"]:
                note(f"  {sentence}")
    found = _("1 outcome") if len(outcomes) == 1 else _("{number} outcomes", number=len(outcomes))
    say(_("{found}; schedules tried: {tried} of {known}", found=found, tried=search.tried, known=search.known))
    if search.tried == 1:
        note(_("The effects have only one order; --faults also injects faults."))
    with suppress(CommandFailed):  # the emulator has no console
        if page and not arguments.no_link:
            say(_("The outcomes in the console (the link works once):") + f"\n  {link(client, page)[0]}")


def _tell_run(arguments: Namespace, view: Mapping[str, Any], outcome: Mapping[str, Any]) -> None:
    """Print the effects and the outcome of a single run, whose execution stays."""
    if wants_json(arguments):
        say_json({**outcome, "steps": steps_of(view), "deviations": deviations_in_words(view)})
        return
    for step in steps_of(view):
        say(step)
    for sentence in deviations_in_words(view, _):
        note(f"  {sentence}")
    say(ended_with(outcome["status"], outcome["output"]))


def _rows(outcome: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the rows of an outcome: its output, and the distinct calls and pushes, fitted to a page's width."""
    counts = Counter([*outcome["calls"], *outcome["messages"]])
    named = [(_effect(what), count) for what, count in counts.items()]
    effects = [what if count == 1 else f"{count} x {what}" for what, count in named]
    begin = (outcome["status"], str(outcome["runs"]), outcome["schedule"] if outcome["deviations"] else _("first"))
    output = outcome["output"][:_SHOWN]
    lines = [output[at : at + _WIDTH] for at in range(0, len(output), _WIDTH)]
    for line in [*lines, *effects] or [""]:
        yield *begin, line
        begin = ("", "", "")


def _effect(what: str) -> str:
    """Return a call or push with its status, if any, in the user's language."""
    name, gap, status = what.rpartition(" ")
    return f"{name}{gap}{_(status)}" if status in {"succeeded", "failed"} else what
