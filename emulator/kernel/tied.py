"""An emulator that ends with the process that has started it, even when SIGKILL ends that one.

Its standard input is a pipe into which only the starter could write, and which therefore ends with the starter. Where
the event loop cannot watch a pipe, as on Windows, the emulator stays.
"""

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from emulator.kernel.closing import Closing

_VARIABLE = "LOCALYUN_TIED"
"""The starter's folder, which the emulator removes when the starter has left it; taken out before children start."""


class Tie(Closing):
    """The starter's side: what an emulator is started with. *folder* is removed if this process does not do it.

    The pipe is closed in every program that this process starts; a copy of this process (fork) would keep it open.
    """

    def __init__(self, folder: Path) -> None:
        reading, writing = os.pipe()
        self.stdin = os.fdopen(reading, "rb", buffering=0)
        self._writing = os.fdopen(writing, "wb", buffering=0)
        self.environment = {_VARIABLE: str(folder.absolute())}

    def close(self) -> None:
        """Let the emulator end, which should have ended by now."""
        self.stdin.close()
        self._writing.close()


class Starter:
    """The emulator's side: the process that has started it, if it is tied to one."""

    def __init__(self) -> None:
        folder = os.environ.pop(_VARIABLE, None)
        self._folder = Path(folder) if folder is not None and stat.S_ISFIFO(os.fstat(0).st_mode) else None
        self._is_gone = False

    def watch(self, gone: Callable[[], object]) -> None:
        """Call *gone* once, from the running loop, when the starter has ended."""
        if self._folder is None:
            return
        import asyncio  # the side of the starter does without

        loop = asyncio.get_running_loop()

        def ended() -> None:
            loop.remove_reader(0)
            self._is_gone = True
            gone()

        with suppress(NotImplementedError):
            loop.add_reader(0, ended)

    def clear(self) -> None:
        """Remove the folder of a starter that has ended without doing so."""
        if self._folder is not None and self._is_gone:
            from emulator.kernel.owned_folders import remove  # seldom needed

            remove(self._folder)
