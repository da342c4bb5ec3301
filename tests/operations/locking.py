"""Another program that takes and gives up the lock on the state file while calls are made."""

import asyncio
import sqlite3
from collections.abc import Awaitable
from contextlib import closing
from typing import TypeVar

from tests.operations.calling import Site

T = TypeVar("T")

TURNS = 20
"""How many turns of the loop those have the file for themselves that have waited for it."""

LOOK_S = 0.002


async def under_lock(site: Site, call: Awaitable[T]) -> tuple[T, int]:
    """Make *call* while another program has the lock again and again; return its answer, and how often it waited.

    The lock is given up when somebody waits for it, and taken once more before the next step.
    """
    lock = site.emulator._database.lock
    waits = 0
    state = site.emulator.config.state / "state.db"
    with closing(sqlite3.connect(state, timeout=0, isolation_level=None)) as other:
        _take(other)
        task = asyncio.ensure_future(call)
        while not task.done():
            await asyncio.wait([task], timeout=LOOK_S)
            if other.in_transaction and lock.held_elsewhere and not task.done():
                waits += 1
                other.execute("ROLLBACK")
                while lock.held_elsewhere:
                    await asyncio.wait([task], timeout=LOOK_S)
                for _ in range(TURNS):
                    await asyncio.sleep(0)
            if not other.in_transaction:
                _take(other)
        if other.in_transaction:
            other.execute("ROLLBACK")
        while lock.held_elsewhere:
            await asyncio.wait([asyncio.ensure_future(asyncio.sleep(0))], timeout=LOOK_S)
        return await task, waits


def _take(other: sqlite3.Connection) -> None:
    try:
        other.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError:  # the emulator is in a transaction
        return
