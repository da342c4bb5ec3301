"""Changes in folders, as Linux reports them (inotify): a change is reported before the call that made it returns.

A program can therefore ask "has anything changed?" when it needs to know, with one system call, instead of looking at
every file or polling.
"""

import os
import select
import struct
from typing import NamedTuple

from emulator.kernel import system

MODIFIED = 0x02
ATTRIBUTES = 0x04
CLOSED_AFTER_WRITE = 0x08
MOVED_FROM = 0x40
MOVED_TO = 0x80
CREATED = 0x100
DELETED = 0x200
FOLDER_DELETED = 0x400
FOLDER_MOVED = 0x800
OVERFLOW = 0x4000
FORGOTTEN = 0x8000

ENTRIES = CREATED | DELETED | MOVED_FROM | MOVED_TO
"""An entry of the folder was created, deleted or renamed."""

CONTENT = ENTRIES | MODIFIED
"""Content has certainly changed; after `ATTRIBUTES` or `CLOSED_AFTER_WRITE` alone it may be the same."""

ITSELF = FOLDER_DELETED | FOLDER_MOVED
"""The watched folder itself was renamed or deleted."""

_ONLY_FOLDERS = 0x01000000
_ADD_TO_MASK = 0x20000000
_HEAD = struct.Struct("iIII")
_READ = 256 * 1024


class Change(NamedTuple):
    """One notification: the number of the watch, what happened, and the name in the folder (empty: the folder)."""

    watch: int
    mask: int
    name: str


class Notifications:
    """One inotify queue. `watch`, `forget` and `take` are for one thread at a time, `arrived` for any.

    Raises: OSError where the system has no notifications, or the user's limit is reached.
    """

    def __init__(self) -> None:
        if not system.NOTIFICATIONS:
            raise OSError("this system has no notifications of changed files")
        import ctypes  # defines 32 classes, and many emulators watch no folder

        self._library, self._error_number = ctypes.CDLL(None, use_errno=True), ctypes.get_errno
        self.descriptor = self._checked(self._library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        self._poll = select.poll()
        self._poll.register(self.descriptor, select.POLLIN)

    def close(self) -> None:
        """End all watches."""
        os.close(self.descriptor)

    def watch(self, folder: str, mask: int) -> int:
        """Watch a folder, not what is below it, and return the number of the watch; one per folder, whatever its path.

        Raises: OSError; ENOSPC when the user has no more watches.
        """
        mask |= _ONLY_FOLDERS | _ADD_TO_MASK
        return self._checked(self._library.inotify_add_watch(self.descriptor, os.fsencode(folder), mask))

    def forget(self, watch: int) -> None:
        """Stop watching a folder."""
        self._library.inotify_rm_watch(self.descriptor, watch)

    def arrived(self) -> bool:
        """Whether `take` would return something."""
        return bool(self._poll.poll(0))

    def take(self) -> list[Change] | None:
        """Return the notifications since the last call, in order; None when the kernel has dropped some."""
        changes: list[Change] = []
        lost = False
        while self.arrived():
            data = os.read(self.descriptor, _READ)
            start = 0
            while start < len(data):
                watch, mask, _, length = _HEAD.unpack_from(data, start)
                start += _HEAD.size
                changes.append(Change(watch, mask, os.fsdecode(data[start : start + length].rstrip(b"\0"))))
                start += length
                lost = lost or bool(mask & OVERFLOW)
        return None if lost else changes

    def _checked(self, result: int) -> int:
        if result < 0:
            number = self._error_number()
            raise OSError(number, os.strerror(number))
        return result
