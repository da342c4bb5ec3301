"""Waiting for what a test means instead of for a time.

Another process, a thread or a socket gives no event to wait for: these two look again until it shows.
"""

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any

import pytest


def eventually(look: Callable[[], Any], timeout_s: float = 30, otherwise: Callable[[], str] | None = None) -> Any:
    """Return the first true answer of *look*; the test fails, saying *otherwise*, when none comes in time."""
    deadline = time.monotonic() + timeout_s
    while not (found := look()):
        if time.monotonic() > deadline:
            pytest.fail(otherwise() if otherwise is not None else f"it did not come to that in {timeout_s} s")
        time.sleep(0.02)
    return found


async def until(look: Callable[[], Any], timeout_s: float = 30) -> Any:
    """Return the first true answer of *look*, a function or coroutine function, while the loop goes on.

    Raises: TimeoutError.
    """
    async with asyncio.timeout(timeout_s):
        while True:
            found = look()
            if inspect.isawaitable(found):
                found = await found
            if found:
                return found
            await asyncio.sleep(0.001)
