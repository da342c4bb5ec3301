"""What the event loop complains about by itself: told in our words, and not a hundred times a second."""

import asyncio
import logging
from typing import Any

from emulator.kernel.clock import Clock

_log = logging.getLogger(__name__)

_NO_ROOM = "socket.accept() out of system resource"
"""How asyncio begins to tell that a connection cannot be taken; it does so for each free place of the backlog."""

_TOO_LATE = "Exception in callback BaseSelectorEventLoop._start_serving"
"""How it begins to tell that it wanted to go on taking connections of a listener that has been closed."""

_QUIET_S = 10.0


class LoopErrors:
    """The exception handler of the loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told_at: float | None = None

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Tell once in a while that connections have to wait; pass everything else on."""
        message = str(context.get("message", ""))
        if message.startswith(_TOO_LATE) and isinstance(context.get("exception"), ValueError):
            return
        if not message.startswith(_NO_ROOM):
            loop.default_exception_handler(context)
            return
        now = self._clock.monotonic()
        if self._told_at is None or now - self._told_at >= _QUIET_S:
            self._told_at = now
            _log.error("new connections have to wait: %s", context.get("exception"))
