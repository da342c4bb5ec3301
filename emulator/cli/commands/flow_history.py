"""The history of an execution: ``flow history``, and the output of ``flow start --follow`` as it grows."""

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from emulator.cli.client import Client, connect, pause
from emulator.cli.commands.execution import FINAL_STATES, FOLLOW_INTERVAL_S, ended_with, latest, name_execution
from emulator.cli.output import _, say, say_json, say_json_line, say_table, wants_json
from emulator.cli.tree_view import HEADINGS, Event, Follower, Style, event_line, event_row, render
from emulator.config import Settings
from emulator.drawing.execution_tree import Execution


def read_history(client: Client, flow: str, execution: str) -> Iterator[Event]:
    """Return every event recorded so far, oldest first.

    Raises: NoEmulator, CallRefused.
    """
    names = {"FlowName": flow, "ExecutionName": execution}
    return client.workflow_pages("GetExecutionHistory", "Events", Limit="500", **names)


def follow(client: Client, arguments: Namespace, execution: str) -> int:
    """Print the events of an execution as they come, then the result."""
    printer = _Printer(arguments)
    if not printer.as_json:
        say(_("execution {name}", name=execution))
    seen = 0
    while True:
        # The status is read before the history: when it is final, the history is complete.
        state = client.workflow("DescribeExecution", FlowName=arguments.flow, ExecutionName=execution)
        new = [event for event in read_history(client, arguments.flow, execution) if event["EventId"] > seen]
        if new:
            seen = new[-1]["EventId"]
            printer.show(new)
        if state["Status"] in FINAL_STATES:
            break
        pause(FOLLOW_INTERVAL_S)
    printer.finish(state)
    return 0 if state["Status"] == "Succeeded" else 1


class _Printer:
    """Prints new events in the requested form: as lines of JSON, or one line per step."""

    def __init__(self, arguments: Namespace) -> None:
        self.as_json = wants_json(arguments)
        self._each_event: bool = arguments.events
        self._first: Event | None = None
        self._follower = Follower(Style.of_terminal(full=arguments.full))

    def show(self, new: list[Event]) -> None:
        self._first = self._first or new[0]
        if self.as_json:
            for event in new:
                say_json_line(event)
        elif self._each_event:
            for event in new:
                say(event_line(event, self._first))
        for line in self._follower.lines(new):
            if not self.as_json and not self._each_event:
                say(line)

    def finish(self, state: dict[str, Any]) -> None:
        if self.as_json:
            say_json_line(state)
            return
        ended = self._follower.execution
        succeeded = state["Status"] == "Succeeded"
        what = state.get("Output") or "{}" if succeeded else f"{ended.error} {ended.cause}".strip()
        say(ended_with(state["Status"], what))


def history(arguments: Namespace, settings: Settings) -> int:
    """Print an execution as the tree of its steps, or every event of it."""
    name_execution(arguments)
    client = connect(settings)
    execution = arguments.execution or latest(client, arguments.flow)
    events = list(read_history(client, arguments.flow, execution))
    if wants_json(arguments):
        say_json(events)
    elif arguments.events:
        say_table(HEADINGS, [event_row(event, events[0]) for event in events])
    else:
        run = Execution()
        for event in events:
            run.add(event)
        style = Style.of_terminal(full=arguments.full)
        for line in render(run, f"{arguments.flow} / {execution}", style):
            say(line)
    return 0
