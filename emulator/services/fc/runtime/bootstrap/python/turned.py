"""The emulator's time inside an instance, by time-machine; loaded once the clock has been moved or frozen.

Every way of asking the time that Python code has follows, ``uuid1`` included. Sleeping and `time.monotonic` stay real,
and so does the time of C libraries, which TLS goes by. Programs that the code starts are given the time by libfaketime.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

_traveller: list[Any] = []
_variables: list[str] = []


def turn(offset_ms: int, frozen_ms: int | None, variables: dict[str, str]) -> None:
    """Let the code of this process see the system's time plus the offset, or the time that it stands at; milliseconds.

    Programs that it starts see it by *variables*.

    Raises: ImportError without time-machine.
    """
    while _variables:
        os.environ.pop(_variables.pop(), None)
    os.environ.update(variables)
    _variables.extend(variables)
    while _traveller:
        _traveller.pop().stop()
    if frozen_ms is None and offset_ms == 0:
        return
    machine = _machine()
    destination = (time.time() + offset_ms / 1000) if frozen_ms is None else frozen_ms / 1000
    traveller = machine.travel(destination, tick=frozen_ms is None)
    traveller.start()
    _traveller.append(traveller)


def _machine() -> Any:
    """Import time-machine past whatever the function's own folder has under that name."""
    path = sys.path[:]
    sys.path[:] = [*path[1:], path[0]] if path else path
    try:
        import time_machine
    finally:
        sys.path[:] = path
    return time_machine
