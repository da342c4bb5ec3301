"""What a service shows of its work: what keeps it busy, what is due later, what waits for someone outside."""

from collections.abc import Callable, Iterable
from typing import Protocol

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen


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


@frozen
class Upcoming:
    """Something that happens by itself at a known time.

    ``kind`` is what ``resource`` names: ``queue``, ``topic``, ``function``, ``flow`` or ``execution``.
    ``recurring`` things come again for ever (schedules, timer triggers); they are no reason to jump while quiet is
    waited for.
    """

    at: Millis
    what: str
    resource: str
    kind: str = ""
    recurring: bool = False


EVENTS = (
    *("end of a wait", "time-out of a step", "time-out of the flow", "a message becomes visible", "answer of a mock"),
    *("deadline", "push attempt", "timer trigger", "schedule", "an asynchronous call, retry", "an asynchronous call"),
    "retry",
)
"""Kinds of what comes: how `Upcoming.what` begins; a name or number may follow."""


def parted(what: str, kinds: Iterable[str] = EVENTS) -> tuple[str, str]:
    """Return which of some kinds *what* is, and the name or number behind it."""
    kind = next((each for each in kinds if what.startswith(f"{each} ")), what)
    return kind, what[len(kind) :]


@frozen
class Waiting:
    """Something that only the outside can bring on: a task token to be reported, an endpoint that does not answer."""

    resource: str
    detail: str


class Watchers(list[Callable[[], None]]):
    """Functions to call whenever something has happened; who makes it happen calls each."""

    def add(self, notify: Callable[[], None]) -> Callable[[], None]:
        """Have *notify* called from now on, until the function that is returned is called."""
        self.append(notify)

        def stop() -> None:
            if notify in self:
                self.remove(notify)

        return stop


class Observed(Protocol):
    """One service, or the gateway, as the clock and the console see it."""

    def busy(self, now: Millis) -> Iterable[Busy]:
        """Return unfinished work; parked long polls and what waits for a later time are none."""
        ...

    def upcoming(self, now: Millis, limit: int) -> Iterable[Upcoming]:
        """Return the next *limit* things due after *now*, in no particular order."""
        ...

    def waiting(self) -> Iterable[Waiting]:
        """Return what waits for the outside, for the diagnosis of a skip that cannot end."""
        ...
