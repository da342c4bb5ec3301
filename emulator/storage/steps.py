"""Performing operations while another program may hold the lock on the state file.

What comes before the first wait has written nothing when it meets a lock, and is made again; every step after a wait
begins in the transaction of its tick (`emulator.storage.database.Steps`).
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from inspect import isawaitable
from typing import TypeVar

from emulator.storage.database import Database, Steps
from emulator.storage.write_lock import LOCKED_S, StateLocked

T = TypeVar("T")


async def writable_soon(database: Database) -> None:
    """Wait until the tick is in its transaction: what follows at once can write.

    Raises: StateLocked after `LOCKED_S` seconds.
    """
    try:
        async with asyncio.timeout(LOCKED_S):
            await database.writable()
    except TimeoutError:
        raise StateLocked("another program holds the lock on the state") from None


class Performer:
    """Performs calls for the work that is running when it is made, outside of which they come from another thread.

    They are of its era: what it has read before everything stood still is no reason to write afterwards.
    """

    def __init__(self, database: Database, let_in: Callable[[], Awaitable[None]]) -> None:
        self._database = database
        self._let_in = let_in
        running = database.eras.running
        self._era = running.era if running is not None else database.eras.current

    async def __call__(self, begin: Callable[[], Awaitable[T] | T]) -> T:
        """Return what *begin* returns, as `performed` does, once calls are let in.

        Raises: what it raises; StateLocked when the lock is held too long; Overtaken.
        """
        await self._let_in()

        async def work() -> T:
            return await performed(self._database, begin)

        steps = Steps(self._database, work(), era=self._era)
        try:
            return await steps
        finally:
            self._era = steps.era  # another one when it has let everything stand still itself


async def performed(database: Database, begin: Callable[[], Awaitable[T] | T]) -> T:
    """Return what *begin* returns, awaited where that is needed.

    When another program holds the lock it is called again once that is free, as long as nothing has been waited for.

    Raises: what it raises; StateLocked when the lock is held too long.
    """
    steps: Steps[T] | None = None
    try:
        work = begin()
        if not isawaitable(work):
            return work
        steps = Steps(database, work)
        return await steps
    except StateLocked:
        if steps is not None and steps.have_waited:
            raise
    return await performed_again(database, begin)


async def performed_again(database: Database, begin: Callable[[], Awaitable[T] | T]) -> T:
    """Return what *begin* returns, called once no other program holds the lock.

    Raises: what it raises; StateLocked when the lock is held too long.
    """
    await writable_soon(database)
    work = begin()
    return await Steps(database, work) if isawaitable(work) else work


async def stream(database: Database, pieces: AsyncIterator[T], era: int) -> AsyncIterator[T]:
    """Yield *pieces*, whose steps begin in the transaction of their tick: what is made of them may write.

    A lock is waited for as long as `Steps` does. *era* is that of the request.
    """
    try:
        while True:
            with suppress(StateLocked):
                await writable_soon(database)
            steps = Steps(database, anext(pieces), era=era)
            try:
                piece = await steps
            except StopAsyncIteration:
                return
            era = steps.era
            yield piece
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()
