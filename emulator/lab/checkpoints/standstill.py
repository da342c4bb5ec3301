"""Letting everything stand still while the tables or the clock are changed: a restart without a restart.

What runs is ended, the clock is held and requests wait at the door; the change is made; every service goes on from
there as after a start. Processes that make function instances stay. Requests that were let in before and wait for
something write nothing any more: they are of an earlier era of the database.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractContextManager
from typing import Protocol

from emulator.kernel.timers import LoopTimers
from emulator.lab.clock import TimeControl
from emulator.storage.database import Database, Steps
from emulator.storage.exchange import Exchange
from emulator.storage.steps import writable_soon

_log = logging.getLogger(__name__)


class Suspendable(Protocol):
    """The services, whose state is changed."""

    def files(self) -> list[str]:
        """Return the files the tables name: paths below the work folder."""
        ...

    async def release(self, files: Collection[str]) -> None:
        """Remove those of *files* that no table names any more; their owners know who uses them."""
        ...

    async def suspend(self) -> None:
        """End what runs, removal of files too: all tables, and the files they name, are about to be replaced."""
        ...

    async def resume(self) -> None:
        """Resume from what the tables hold now; every timer has been dropped."""
        ...


class Standstill:
    """Lets the *services* stand still. *close_door* lets requests wait while its context lasts.

    Nothing stands still for a lock that another program holds on the state file when it is asked to; one that is taken
    afterwards is waited for, because half a change is none.
    """

    def __init__(
        self,
        services: Suspendable,
        time: TimeControl,
        timers: LoopTimers,
        close_door: Callable[[], AbstractContextManager[None]],
        database: Database,
    ) -> None:
        self._services = services
        self._time = time
        self._timers = timers
        self._close_door = close_door
        self._database = database
        self._one = asyncio.Lock()
        """Held by whoever lets everything stand still: nobody goes on with what another is about to replace."""

    async def change(self, change: Callable[[], Awaitable[None]]) -> set[str]:
        """Stand still for *change*; return the files that no table names any more afterwards.

        Raises: StateLocked; what *change* raises.
        """
        await writable_soon(self._database)
        return await Steps(self._database, self._change(change), patience_s=None)

    async def _change(self, change: Callable[[], Awaitable[None]]) -> set[str]:
        async with self._time.held(), self._one:
            self._database.eras.keep_up()  # it may have waited for another; what it relies on is read from here on
            with self._close_door(), self._time.standstill():
                try:
                    await self._stop()
                    before = set(self._services.files())
                    await change()
                    await self._database.writable()
                finally:
                    await self._go_on()
                return before.difference(self._services.files())

    async def exchange(
        self, exchange: Exchange, replace: Callable[[], Awaitable[None]], undo: Callable[[], Awaitable[None]]
    ) -> set[str]:
        """Replace the tables; return the files that none of them names any more.

        What was there comes back when the services cannot go on with what *replace* has put in its place.

        Raises: StateLocked; what *replace* or a service has raised.
        """
        await writable_soon(self._database)
        return await Steps(self._database, self._exchange(exchange, replace, undo), patience_s=None)

    async def _exchange(
        self, exchange: Exchange, replace: Callable[[], Awaitable[None]], undo: Callable[[], Awaitable[None]]
    ) -> set[str]:
        async with self._time.held(), self._one:
            self._database.eras.keep_up()  # it may have waited for another; what it relies on is read from here on
            with self._close_door(), self._time.standstill():
                before = set(self._services.files())
                try:
                    await self._stop()
                    await self._database.committed()  # what is kept is read from the file
                    if exchange.on_disk:
                        await asyncio.to_thread(exchange.keep)
                    else:
                        exchange.keep()
                    await replace()
                    await self._go_on()
                    await asyncio.sleep(0)  # a turn is short, also with many files
                    gone = before.difference(self._services.files())
                except BaseException as error:
                    _log.warning("the restore failed, the state is as it was before: %s", error)
                    await self._stop()
                    await undo()
                    await self._go_on()
                    raise
                exchange.settle()
        return gone

    async def restart(self) -> None:
        """End what runs and go on with what is stored, as after a crash; also while the clock is being moved."""
        async with self._one:
            with self._close_door(), self._time.standstill():
                await self._stop(replaces=False)
                await self._go_on()

    async def _stop(self, *, replaces: bool = True) -> None:
        await self._services.suspend()
        self._timers.clear()  # or what is due would begin on tables that are half replaced
        self._database.eras.begin(replaces=replaces)

    async def _go_on(self) -> None:
        self._timers.clear()  # they are set anew, by what time it is then
        await self._services.resume()
