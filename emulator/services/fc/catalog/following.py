"""Follows edits of the functions folder: a call that begins after a file was written runs what the file says.

A look reads what was edited, in a thread of its own, and hands the new state to the loop. Where the kernel announces
edits, a call waits for a look only when something was announced and not yet read. Where it does not, a call waits for a
look at the files of its function, and all the files are looked at now and then, for what no call asks for.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from emulator.kernel.clock import Clock
from emulator.kernel.tasks import TaskGroup
from emulator.services.fc.catalog.folder import FolderReader, Snapshot
from emulator.services.fc.catalog.watching import EVERYTHING, LOST, Edits, OfFunction, Unwatchable, Watches

_log = logging.getLogger(__name__)

PAUSE_S = 0.4
"""The pause in seconds between two looks that no call asks for."""

_SHARE = 30
"""The pause is at least this many times as long as a look takes."""


class Follower:
    """Calls *changed* on the loop with each new state of the folder; the first state is read by `first`.

    *writable* waits until the database can be written: a state that *changed* failed to store is not delivered again.
    """

    def __init__(
        self,
        root: Path,
        clock: Clock,
        changed: Callable[[Snapshot], None],
        writable: Callable[[], Awaitable[None]],
    ) -> None:
        self._root = root
        self._clock = clock
        self._changed = changed
        self._writable = writable
        self._last = Snapshot()
        self._watches: Watches | None = None
        self._reader = FolderReader(root)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="fc-folder")
        self._tasks = TaskGroup("fc-folder")
        self._turn = asyncio.Lock()
        self._waiting: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._looks = 0
        self._paused = False
        self._unread: Edits | None = None
        """The edits that the next look has to read because the last one failed."""
        self._rest: asyncio.TimerHandle | None = None

    async def first(self) -> Snapshot:
        """Read the folder once; do this before `start`."""
        try:
            self._watches = Watches(self._root)
            self._reader = FolderReader(self._root, self._watches)
        except Unwatchable as reason:
            _log.info("the system does not report edits of the functions folder: %s", reason)
        self._last = await self._read(EVERYTHING) or self._last
        return self._last

    def start(self) -> None:
        """Follow the folder from now on."""
        if self._watches is not None:
            self._listen()
        else:
            self._tasks.spawn(self._look_now_and_then(), "looks")

    async def close(self) -> None:
        """Stop following the folder, and wait for the thread."""
        self._deafen()
        await self._tasks.close()
        await asyncio.get_running_loop().run_in_executor(None, self._thread.shutdown)
        if self._watches is not None:
            self._watches.close()
            self._watches = None

    async def pause(self) -> None:
        """Take no edit until `apart` has done its work; doing it twice is harmless."""
        if not self._paused:
            await self._turn.acquire()
            self._paused = True
            self._looks += 1

    async def apart(self, work: Awaitable[None]) -> None:
        """Wait for *work* on the stored functions; no edit is taken meanwhile, and callers of `catch_up` wait too."""
        await self.pause()
        try:
            await work
        finally:
            self._paused = False
            self._looks -= 1
            self._turn.release()

    @property
    def announced(self) -> bool:
        """Whether the kernel announces edits; otherwise `catch_up` should be given the function that is needed."""
        return self._watches is not None

    @property
    def behind(self) -> bool:
        """Whether `catch_up` would return something: an edit has not been read yet, or nobody announces edits."""
        return self._watches is None or bool(self._looks or self._unread or self._watches.arrived())

    def catch_up(self, service: str, function: str) -> "asyncio.Task[None] | None":
        """Return the task to await before a function of the folder is used, None when every edit has been read.

        Where edits are not announced, the task reads the files of *function* (*service* is empty in 3.0), or all files
        when *function* is empty.
        """
        if self._watches is not None:
            if not (self._looks or self._unread or self._watches.arrived()):
                return None
            return self._look(("", ""))
        return self._look((service, function))

    def _look(self, about: tuple[str, str]) -> "asyncio.Task[None]":
        """Return the task of a look that has not begun to read yet; callers share it until it begins."""
        task = self._waiting.get(about)
        if task is None:
            self._looks += 1
            task = self._waiting[about] = self._tasks.spawn(self._look_in_turn(about), "look")
        return task

    async def _look_in_turn(self, about: tuple[str, str]) -> None:
        try:
            async with self._turn:
                del self._waiting[about]
                edits = OfFunction(self._root.absolute(), *about) if about[1] else EVERYTHING
                snapshot = await self._read(edits if self._watches is None else None)
                if snapshot is not None and snapshot != self._last:
                    await self._writable()
                    self._changed(snapshot)
                    self._last = snapshot
        except Exception:
            _log.exception("the functions folder could not be loaded")
        finally:
            self._looks -= 1

    async def _read(self, edits: Edits | None) -> Snapshot | None:
        """Read *edits*, by default the announced ones; return None when there are none, or when reading fails."""
        blind = self._unread is not None
        try:
            snapshot = await asyncio.get_running_loop().run_in_executor(self._thread, self._read_here, edits)
            self._unread = None
            return snapshot
        except Unwatchable as reason:
            return await self._without_watches(reason)
        except OSError as error:
            if not blind:
                _log.warning("the functions folder cannot be read now; functions stay as they are: %s", error)
        except Exception:
            if not blind:
                _log.exception("the functions folder could not be read")
        self._unread = LOST
        return None

    def _read_here(self, edits: Edits | None) -> Snapshot | None:
        if edits is None and self._watches is not None:
            edits = self._watches.take()
        edits = self._unread or edits
        return self._reader.read(edits) if edits is not None else None

    async def _without_watches(self, reason: Unwatchable) -> Snapshot | None:
        """Switch to looks without announcements, after the kernel has refused a watch."""
        _log.warning(
            "the system no longer reports edits of the functions folder; each call looks at its files instead: %s",
            reason,
        )
        self._deafen()
        if self._watches is not None:
            self._watches.close()
            self._watches = None
        self._reader = FolderReader(self._root)
        self._tasks.spawn(self._look_now_and_then(), "looks")
        return await self._read(EVERYTHING)

    async def _look_now_and_then(self) -> None:
        pause_s = PAUSE_S
        while True:
            await asyncio.sleep(pause_s)
            started = self._clock.monotonic()
            await self._look(("", ""))
            pause_s = max(PAUSE_S, _SHARE * (self._clock.monotonic() - started))

    def _listen(self) -> None:
        """Look when an edit is announced, even if no call comes."""
        self._rest = None
        if self._watches is not None:
            asyncio.get_running_loop().add_reader(self._watches.descriptor, self._announced)

    def _deafen(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None
        if self._watches is not None:
            asyncio.get_running_loop().remove_reader(self._watches.descriptor)

    def _announced(self) -> None:
        """Look, then pause: a program that writes all the time must not keep the emulator reading."""
        self._deafen()
        started = self._clock.monotonic()

        def looked(_: object) -> None:
            if self._watches is not None and self._rest is None:
                pause_s = max(PAUSE_S, _SHARE * (self._clock.monotonic() - started))
                self._rest = asyncio.get_running_loop().call_later(pause_s, self._listen)

        self._look(("", "")).add_done_callback(looked)
