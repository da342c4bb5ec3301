"""What the lab sees of the services: what keeps them busy, what is due later, what waits for someone outside."""

from collections.abc import Iterable
from typing import Any, Protocol

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.wire.dates import iso_millis


@frozen
class Busy:
    """Work that is not finished, so that the emulator is not quiet.

    ``kind`` is ``request``, ``call``, ``push``, ``execution``, ``event`` or ``timer``; ``resource`` names what works,
    ``since`` when it began (emulator time, 0: unknown), ``detail`` what it is about: a request id, an endpoint, a step.
    """

    kind: str
    resource: str
    since: Millis = Millis(0)
    detail: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the form in answers."""
        since = iso_millis(self.since) if self.since else None
        return {"kind": self.kind, "resource": self.resource, "since": since, "for": self.detail}


@frozen
class Upcoming:
    """Something that happens by itself at a known time.

    ``recurring`` things come again for ever (schedules, timer triggers); they are no reason to jump while quiet is
    waited for.
    """

    at: Millis
    what: str
    resource: str
    recurring: bool = False

    def as_json(self, now: Millis) -> dict[str, Any]:
        """Return the form in answers."""
        return {"at": iso_millis(self.at), "in_ms": self.at - now, "what": self.what, "resource": self.resource}


@frozen
class Waiting:
    """Something that only the outside can bring on: a task token to be reported, an endpoint that does not answer."""

    resource: str
    detail: str

    def as_json(self) -> dict[str, Any]:
        """Return the form in answers."""
        return {"kind": "waiting", "resource": self.resource, "since": None, "for": self.detail}


class Observed(Protocol):
    """One service, or the gateway, as the lab sees it."""

    def busy(self, now: Millis) -> Iterable[Busy]:
        """Return unfinished work; parked long polls and what waits for a later time are none."""
        ...

    def upcoming(self, now: Millis, limit: int) -> Iterable[Upcoming]:
        """Return the next *limit* things due after *now*, in no particular order."""
        ...

    def waiting(self) -> Iterable[Waiting]:
        """Return what waits for the outside, for the diagnosis of a skip that cannot end."""
        ...
