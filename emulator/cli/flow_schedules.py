"""``flow schedules`` and ``flow fire``: the schedules of a flow, and one of them run now."""

from argparse import Namespace
from typing import Any

from emulator.cli import starting
from emulator.cli.client import Client
from emulator.cli.output import say_json, say_table, short
from emulator.cli.session import connect, wants_json
from emulator.config import Settings


def show_list(arguments: Namespace, settings: Settings) -> int:
    """List the schedules of a flow."""
    found = _all(connect(settings), arguments.flow)
    if wants_json(arguments):
        say_json(found)
    else:
        rows = [
            (
                each["ScheduleName"],
                each["CronExpression"],
                "yes" if each["Enable"] else "no",
                short(each["Payload"], 60),
            )
            for each in found
        ]
        say_table(("schedule", "expression", "enabled", "payload"), rows)
    return 0


def _all(client: Client, flow: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    more: dict[str, str] = {}
    while True:
        page = client.workflow("ListSchedules", FlowName=flow, **more)
        found += page["Schedules"]
        if not page.get("NextToken"):
            return found
        more = {"NextToken": str(page["NextToken"])}


def fire(arguments: Namespace, settings: Settings) -> int:
    """Start what a schedule starts, now, whether it is enabled or not; its own next run stays where it is."""
    client = connect(settings)
    schedule = client.workflow("DescribeSchedule", FlowName=arguments.flow, ScheduleName=arguments.schedule)
    started = starting.start(client, arguments.flow, schedule["Payload"] or "{}")
    return starting.show(started, as_json=wants_json(arguments))
