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
from emulator.storage.write_lock import LOCKED_S, StateLocked

T = TypeVar("T")


def _always() -> bool:
    return True


class Steps(Generic[T]):
    """*work*, to be awaited once: its steps after a wait begin in the transaction of their tick, while *writes* holds.

    A coroutine that has gone part of its way cannot be begun anew when it meets another program's lock, nor can it wait
    in the middle of a statement; so the lock is taken before. It is waited for *patience_s* seconds, without end for
    None. Work that needs it longer goes on without it, and fails with StateLocked if it writes: what it has done need
    not fail for an answer.
    """

    __slots__ = ("_database", "_patience_s", "_work", "_writes", "have_waited")

    def __init__(
        self,
        database: Database,
        work: Awaitable[T],
        writes: Callable[[], bool] = _always,
        patience_s: float | None = LOCKED_S,
    ) -> None:
        self._database = database
        self._work = work
        self._writes = writes
        self._patience_s = patience_s
        self.have_waited = False
        """Whether the work has gone beyond its first step."""

    def __await__(self) -> Generator[Any, Any, T]:
        steps = self._work.__await__()
        resume: Callable[[], Any] = steps.__next__
        while True:
            try:
                awaited = resume()
            except StopIteration as end:
                return cast("T", end.value)
            self.have_waited = True
            try:
                yield awaited
                if self._writes() and not self._database.is_writable():
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


async def stream(database: Database, pieces: AsyncIterator[T]) -> AsyncIterator[T]:
    """Yield *pieces*, whose steps begin in the transaction of their tick: what is made of them may write.

    A lock is waited for as long as `Steps` does.
    """
    try:
        while True:
            with suppress(StateLocked):
                await writable_soon(database)
            try:
                piece = await Steps(database, anext(pieces))
            except StopAsyncIteration:
                return
            yield piece
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()
