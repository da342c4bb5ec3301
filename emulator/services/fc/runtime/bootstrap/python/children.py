"""The instances of a zygote: who runs, who is watched, who has just ended."""

from __future__ import annotations

import os
import signal
import sys

from . import warden  # noqa: TID252 - the package has another name inside an instance
from .orders import REASONS  # noqa: TID252


class Child:
    """One running instance. ``inode`` identifies its channel; ``reason`` indexes `REASONS`."""

    def __init__(self, pid: int, number: int, instance_id: str, memory_mb: int, max_processes: int, inode: int) -> None:
        self.pid = pid
        self.number = number
        self.instance_id = instance_id
        self.memory_mb = memory_mb
        self.max_processes = max_processes
        self.inode = inode
        self.watched = False
        self.reason = 0


class Children:
    """All of them, by number."""

    def __init__(self) -> None:
        self._running: dict[int, Child] = {}
        self._ended: list[Child] = []

    def add(self, child: Child) -> None:
        """Take in a new instance."""
        self._running[child.number] = child

    def get(self, number: int) -> Child | None:
        """Return the running instance of that number."""
        return self._running.get(number)

    def need_care(self) -> bool:
        """Tell whether somebody has to be looked after soon."""
        return bool(self._ended) or any(child.watched for child in self._running.values())

    def reap(self, pid: int) -> Child | None:
        """Take note that a process has ended and end the rest of its session; return the instance it was."""
        for child in self._running.values():
            if child.pid == pid:
                warden.end_group(pid, signal.SIGKILL)
                del self._running[child.number]
                self._ended.append(child)
                return child
        return None

    def look_after(self) -> None:
        """End watched instances that use too much, and what ended ones have left behind."""
        for child in self._running.values():
            if child.watched:
                reason = warden.overrun(child.pid, child.memory_mb, child.max_processes)
                if reason:
                    child.reason = REASONS.index(reason)
                    warden.end_group(child.pid, signal.SIGKILL)
        if self._ended:
            warden.end_strays({child.instance_id for child in self._ended}, {child.inode for child in self._ended})
            self._ended.clear()

    def end_all(self) -> None:
        """End every instance and what it started."""
        for child in self._running.values():
            warden.end_group(child.pid, signal.SIGKILL)
        self._ended += self._running.values()
        self._running.clear()
        self.look_after()


def next_ended() -> tuple[int, int, int] | None:
    """Reap one ended process and return its id, exit status and peak memory in KB; None when there is none."""
    try:
        pid, status, usage = os.wait4(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, status, usage.ru_maxrss // (1024 if sys.platform == "darwin" else 1)) if pid else None
