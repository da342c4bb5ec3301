"""Waiting for another process to get somewhere, with a deadline."""

from collections.abc import Callable
from threading import Event

from emulator.kernel.clock import SystemClock

INTERVAL_S = 0.02


def pause(seconds: float) -> None:
    """Do nothing for *seconds*."""
    Event().wait(seconds)


def until(reached: Callable[[], bool], timeout_s: float) -> bool:
    """Ask *reached* again and again; return whether it said yes within *timeout_s*."""
    clock = SystemClock()
    deadline = clock.monotonic() + timeout_s
    while not reached():
        if clock.monotonic() >= deadline:
            return False
        pause(INTERVAL_S)
    return True
