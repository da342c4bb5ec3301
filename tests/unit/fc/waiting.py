"""Waiting for what a test means instead of for a time."""

import asyncio
from collections.abc import Callable


async def until(condition: Callable[[], object], timeout_s: float = 10) -> None:
    """Return once *condition* holds.

    Raises: TimeoutError.
    """
    async with asyncio.timeout(timeout_s):
        while not condition():
            await asyncio.sleep(0.01)
