"""``function``: functions and their sessions, through the API that SDKs use."""

from argparse import Namespace
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from emulator.cli.client import FC3_VERSION, FC_VERSION, Client, connect, say_what_is_elsewhere
from emulator.cli.output import DONE, Fields, show_rows, show_table
from emulator.config import Settings
from emulator.wire.dates import iso_seconds

_COLUMNS = {
    "function": "function",
    "runtime": "runtime",
    "handler": "handler",
    "memory MB": "memorySize",
    "timeout s": "timeout",
    "modified": "lastModifiedTime",
}


def list_functions(arguments: Namespace, settings: Settings) -> int:
    """List functions: those of services as SERVICE/FUNCTION, those of Function Compute 3.0 by their names."""
    client = connect(settings)
    with client.kept_alive():  # a call for each service
        found = [row for row in _listed(client) if row["function"].startswith(arguments.prefix)]
    code = show_table(arguments, _COLUMNS, found)
    say_what_is_elsewhere(arguments, client, "functions")
    return code


def _listed(client: Client) -> Iterator[Fields]:
    """Yield functions as the API returns them; ``function`` is the name that commands take."""
    for service in _pages(client, f"/{FC_VERSION}/services", "services"):
        name = service["serviceName"]
        for row in _pages(client, f"/{FC_VERSION}/services/{quote(name, safe='')}/functions", "functions"):
            yield {"function": f"{name}/{row['functionName']}", **row}
    for row in _pages(client, f"/{FC3_VERSION}/functions", "functions"):
        yield {"function": row["functionName"], **row}


def _pages(client: Client, path: str, member: str) -> Iterator[dict[str, Any]]:
    """Yield the members of every page of a list."""
    token = ""
    while True:
        target = f"{path}?limit=100" + (f"&nextToken={quote(token, safe='')}" if token else "")
        page = client.functions("GET", target, b"", {}).json()
        yield from page.get(member) or []
        token = str(page.get("nextToken") or "")
        if not token:
            return


def sessions(arguments: Namespace, settings: Settings) -> int:
    """List the sessions of a function, or of all, with their instances."""
    client = connect(settings)
    rows = client.admin("GET", "sessions", function=arguments.function, region=client.keys.region)["sessions"]
    headings = ("function", "qualifier", "session", "kind", "status", "instance", "until")
    *names, _due = headings
    shown = [(*(row[name] for name in names), "" if row["due"] is None else iso_seconds(row["due"])) for row in rows]
    show_rows(arguments, headings, shown, rows)
    return DONE
