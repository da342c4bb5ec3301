"""Standing still: a restart without a restart, for changes of the whole state or of the time.

What runs is ended and the clock is held; the tables or the clock are changed; every service goes on from there as after
a start. Processes that make function instances stay.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from emulator.kernel.timers import LoopTimers
from emulator.lab.clock import TimeControl


class World(Protocol):
    """The services, whose state is changed."""

    def files(self) -> list[str]:
        """Return the files the tables name: paths below the work folder."""
        ...

    async def suspend(self) -> None:
        """End what runs: all tables are about to be replaced."""
        ...

    async def resume(self) -> None:
        """Go on with what the tables hold now; every timer has been dropped."""
        ...


class Standstill:
    """Lets the *world* stand still while tables or clock are changed."""

    def __init__(self, world: World, time: TimeControl, timers: LoopTimers) -> None:
        self._world = world
        self._time = time
        self._timers = timers

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[set[str]]:
        """Stand still for the context, which is given a set: the files that no table names any more, at its end."""
        gone: set[str] = set()
        async with self._time.held():
            await self._world.suspend()
            before = set(self._world.files())
            try:
                yield gone
            finally:
                self._timers.clear()  # they are set anew, by what time it is then
                await self._world.resume()
                gone |= before.difference(self._world.files())
