"""What tests put between the parts of an application: faults, mocks, sinks; and the record of calls.

All of it is in memory and ends with the emulator or a reset.
"""

from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import Any

from emulator.kernel.clock import Clock
from emulator.kernel.ids import Ids
from emulator.kernel.timers import Timers
from emulator.lab.calls import CallLog
from emulator.lab.faults import Faults, Stage
from emulator.lab.mocks import Mocks
from emulator.lab.sinks import Sinks


class Bench:
    """One emulator's; *interfere* is for its faults.

    *timers* and *address* are asked for when they are needed: the emulator has them once it listens.
    """

    def __init__(
        self,
        clock: Clock,
        ids: Ids,
        *,
        timers: Callable[[], Timers],
        changed: Callable[[], None],
        address: Callable[[], str],
        interfere: Callable[[Stage | None], None],
        sign: Callable[[str], Awaitable[str]],
    ) -> None:
        self.faults = Faults(interfere)
        self.mocks = Mocks(clock, timers, changed)
        self.sinks = Sinks(clock, ids, address)
        self.calls = CallLog()
        self.sign = sign

    def kept(self) -> object:
        """Return a copy of the faults, mocks and sinks, with what each has given so far."""
        return deepcopy((self.faults.book, *self.mocks.parts(), *self.sinks.parts()))

    def put_back(self, kept: Any) -> None:
        """Put what `kept` has returned in the place of what there is, nothing for None; the calls are forgotten."""
        self.clear()
        if kept is None:
            return
        book, by_id, by_name, sinks, received = deepcopy(kept)
        self.faults.take_up(book)
        self.mocks.take_up(by_id, by_name)
        self.sinks.take_up(sinks, received)

    def clear(self) -> None:
        """Remove everything and forget the calls."""
        self.faults.clear()
        self.mocks.clear()
        self.sinks.clear()
        self.calls.clear()
