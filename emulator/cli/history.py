"""The history of an execution as people read it: one line per event, offsets instead of dates, details cut short."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from emulator.cli.client import Client
from emulator.cli.output import short
from emulator.wire.dates import parse_iso

Event = Mapping[str, Any]

FINAL = frozenset({"Succeeded", "Failed", "Stopped", "TimedOut"})
PAGE = 500
HEADINGS = ("id", "time", "step", "event", "detail")

_DETAIL_WIDTH = 100
_TELLING = (("error", "cause"), ("goto",), ("output",), ("duration",), ("timestamp",), ("input",))
"""Groups of keys in the order of what they tell; the first group with a value is shown."""


def read(client: Client, flow: str, execution: str) -> Iterator[Event]:
    """Yield every event recorded so far, oldest first.

    Raises: NoEmulator, CallRefused.
    """
    more: dict[str, str] = {}
    while True:
        page = client.workflow("GetExecutionHistory", FlowName=flow, ExecutionName=execution, Limit=str(PAGE), **more)
        yield from page.get("Events") or []
        if not page.get("NextToken"):
            return
        more = {"NextToken": str(page["NextToken"])}


def row(event: Event, first: Event) -> tuple[str, str, str, str, str]:
    """Return *event* as cells under `HEADINGS`; its time is counted from *first*."""
    offset_s = (parse_iso(event["Time"]) - parse_iso(first["Time"])) / 1000
    return (
        str(event["EventId"]),
        f"{offset_s:.2f}s",
        event.get("StepName") or "-",
        str(event["Type"]),
        detail(event),
    )


def line(event: Event, first: Event) -> str:
    """Return *event* as a line of its own, for histories that grow while they are printed."""
    number, offset, step, kind, text = row(event, first)
    return f"{number:>4}  {offset:>8}  {step:<17} {kind:<19} {text}".rstrip()


def detail(event: Event) -> str:
    """Return what matters most of an event's detail, on one line."""
    try:
        content = json.loads(event.get("EventDetail") or "{}")
    except ValueError:
        return ""
    for keys in _TELLING:
        parts = [f"{key}={_shown(content[key])}" for key in keys if content.get(key) not in (None, "")]
        if parts:
            return short(" ".join(parts), _DETAIL_WIDTH)
    return ""


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
