"""Performing operations while another program may hold the lock on the state file.

What comes before the first wait has written nothing when it meets a lock, and is made again; every step after a wait
begins in the transaction of its tick (`Steps`).
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from contextlib import suppress
from functools import partial
from inspect import isawaitable
from typing import Any, Generic, TypeVar, cast

from emulator.storage.database import Database
from emulator.storage.eras import Overtaken, Work
from emulator.storage.write_lock import LOCKED_S, StateLocked

T = TypeVar("T")


def _always() -> bool:
    return True


class Steps(Work, Generic[T]):
    """*work*, to be awaited once: its steps after a wait begin in the transaction of their tick, while *writes* holds.

    A coroutine that has gone part of its way cannot be begun anew when it meets another program's lock, nor can it wait
    in the middle of a statement; so the lock is taken before. It is waited for *patience_s* seconds, without end for
    None. Work that needs it longer goes on without it, and fails with StateLocked if it writes: what it has done need
    not fail for an answer.

    Work is of the era in which it was made, or of that of the work it is part of; *era* is an earlier one it is of. It
    ends with Overtaken once it has tried to write in a later one, whatever it makes of that itself; what writes nothing
    comes to its own end.
    """

    __slots__ = ("_database", "_patience_s", "_work", "_writes", "have_waited")

    def __init__(
        self,
        database: Database,
        work: Awaitable[T],
        writes: Callable[[], bool] = _always,
        patience_s: float | None = LOCKED_S,
        era: int | None = None,
    ) -> None:
        super().__init__(database.eras.current if era is None else era)
        self._database = database
        self._work = work
        self._writes = writes
        self._patience_s = patience_s
        self.have_waited = False
        """Whether the work has gone beyond its first step."""

    def __await__(self) -> Generator[Any, Any, T]:
        database, eras = self._database, self._database.eras
        if (outer := eras.running) is not None:
            self.era, self.outlasts = outer.era, outer.outlasts
        steps = self._work.__await__()
        resume: Callable[[], Any] = steps.__next__
        while True:
            self.outer = eras.running
            eras.running = self
            try:
                awaited = resume()
            except BaseException as end:
                if self.is_overtaken and isinstance(end, Exception) and not isinstance(end, Overtaken):
                    raise Overtaken from end
                if isinstance(end, StopIteration):
                    return cast("T", end.value)
                raise
            finally:
                eras.running = self.outer
            self.have_waited = True
            try:
                yield awaited
                if self._writes() and not database.is_writable():
                    yield from self._lock().__await__()
            except BaseException as error:  # a cancellation, say; whatever it is, the work has to know
                resume = partial(steps.throw, error)
            else:
                resume = steps.__next__

    async def _lock(self) -> None:
        if self._patience_s == 0:
            return
        try:
            async with asyncio.timeout(self._patience_s):
                await self._database.writable()
        except TimeoutError:
            self._patience_s = 0


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
