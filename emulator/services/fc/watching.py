"""Notices edits in the functions folder: one thread looks twice a second and tells the loop what it found.

Looking again costs a listing and a `stat` per file; the pause grows with that cost, so that a huge folder takes no
more than a few hundredths of one processor.
"""

import asyncio
import logging
import threading
from collections.abc import Callable

from emulator.kernel.clock import Clock
from emulator.services.fc.folder import FolderReader, Snapshot

_log = logging.getLogger(__name__)

PAUSE_S = 0.4
_SHARE = 30
"""The pause is at least this many times as long as a look takes."""


class Watcher:
    """Calls *changed* on the loop with each new state of the folder; the first state is read by `first`."""

    def __init__(
        self, reader: FolderReader, clock: Clock, changed: Callable[[Snapshot], None], pause_s: float = PAUSE_S
    ) -> None:
        self._reader = reader
        self._clock = clock
        self._changed = changed
        self._pause_s = pause_s
        self._last = Snapshot()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    async def first(self) -> Snapshot:
        """Read the folder once, off the loop; do this before `start`."""
        self._last = await asyncio.get_running_loop().run_in_executor(None, self._reader.read)
        return self._last

    def start(self) -> None:
        """Begin to look."""
        loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, args=(loop,), name="fc-folder", daemon=True)
        self._thread.start()

    async def close(self) -> None:
        """Stop looking and wait for the thread."""
        self._stop.set()
        if self._thread is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join)
            self._thread = None

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        pause_s = self._pause_s
        blind = False
        while not self._stop.wait(pause_s):
            started = self._clock.monotonic()
            try:
                snapshot = self._reader.read()
            except OSError as error:
                if not blind:
                    _log.warning("the functions folder cannot be read now, functions stay as they are: %s", error)
                blind = True
                continue
            except Exception:
                _log.exception("the functions folder could not be read")
                continue
            blind = False
            pause_s = max(self._pause_s, _SHARE * (self._clock.monotonic() - started))
            if snapshot != self._last:
                self._last = snapshot
                try:
                    loop.call_soon_threadsafe(self._changed, snapshot)
                except RuntimeError:  # the loop has ended before us
                    return
