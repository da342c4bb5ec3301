"""How work and events look in answers of the admin API."""

from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.observing import Busy, Upcoming, Waiting
from emulator.wire.dates import iso_millis


def shown_work(busy: Busy) -> dict[str, Any]:
    """Return unfinished work: ``kind``, ``resource``, ``since``, ``for``."""
    since = iso_millis(busy.since) if busy.since else None
    return {"kind": busy.kind, "resource": busy.resource, "since": since, "for": busy.detail}


def shown_event(event: Upcoming, now: Millis) -> dict[str, Any]:
    """Return a coming event: ``at``, ``in_ms``, ``what``, ``resource`` and the ``kind`` of the latter."""
    return {
        "at": iso_millis(event.at),
        "in_ms": event.at - now,
        "what": event.what,
        "resource": event.resource,
        "kind": event.kind,
    }


def shown_waiting(waiting: Waiting) -> dict[str, Any]:
    """Return what waits for the outside, in the form of unfinished work."""
    return {"kind": "waiting", "resource": waiting.resource, "since": None, "for": waiting.detail}
