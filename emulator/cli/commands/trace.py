"""``trace``: what caused a request, and what came of it."""

from argparse import Namespace
from typing import Any
from urllib.parse import quote

from emulator.cli.client import connect
from emulator.cli.commands.clock import duration
from emulator.cli.otlp import export
from emulator.cli.output import _, note, say, say_json, wants_json
from emulator.config import Settings


def run(arguments: Namespace, settings: Settings) -> int:
    """Print the tree of causes and effects that an id belongs to."""
    answer = connect(settings).admin("GET", f"trace/{quote(arguments.id, safe='')}")
    if wants_json(arguments):
        say_json(answer)
    else:
        for node in answer["tree"]:
            _print(node, "", "", node["at_ms"])
    if arguments.otlp:
        count = export(answer, arguments.otlp)
        note(_("sent {count} spans to {url}", count=count, url=arguments.otlp))
    return 0


def _print(node: dict[str, Any], lead: str, indent: str, began: int) -> None:
    parts = [f"+{duration(node['at_ms'] - began)}", node["kind"], node["name"]]
    if node.get("status"):
        parts.append(node["status"])
    if node.get("duration_ms") is not None:
        parts.append(f"({duration(node['duration_ms'])})")
    parts.append(node["id"])
    say(lead + "  ".join(part for part in parts if part))
    children = node["children"]
    for number, child in enumerate(children, 1):
        last = number == len(children)
        _print(child, indent + ("└─ " if last else "├─ "), indent + ("   " if last else "│  "), began)
