"""``function``: what functions have besides their configuration."""

from argparse import Namespace

from emulator.cli.client import connect
from emulator.cli.output import DONE, show_rows
from emulator.config import Settings
from emulator.wire.dates import iso_seconds


def sessions(arguments: Namespace, settings: Settings) -> int:
    """List the sessions of a function, or of all, with the instances that they are bound to."""
    client = connect(settings)
    rows = client.admin("GET", "sessions", function=arguments.function, region=client.keys.region)["sessions"]
    names = ("function", "qualifier", "session", "kind", "status", "instance")
    shown = [(*(row[name] for name in names), "" if row["due"] is None else iso_seconds(row["due"])) for row in rows]
    show_rows(arguments, (*names, "until"), shown, rows)
    return DONE
