"""The instances of a zygote: the running ones and their memory, the ended ones and the processes they left behind.

Memory and processes are known on Linux only, through /proc; elsewhere sums are zero and no strays are found. Anonymous
and shared memory count; pages of mapped files do not, since the kernel can drop them.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator

from .frames import REASONS  # noqa: TID252 - the package has another name inside an instance
from .process import descriptor_ceiling  # noqa: TID252

_MOST_GENERATIONS = 100
_PAGE = os.sysconf("SC_PAGE_SIZE")
_ID = "FC_INSTANCE_ID="


class Child:
    """One running instance. ``inode`` identifies its channel; ``reason`` indexes `REASONS`.

    With ``isolated`` the process ``pid`` is the first of a namespace, and the instance its child.
    """

    def __init__(
        self, pid: int, number: int, instance_id: str, memory_mb: int, max_processes: int, inode: int, *, isolated: bool
    ) -> None:
        self.pid = pid
        self.number = number
        self.instance_id = instance_id
        self.memory_mb = memory_mb
        self.max_processes = max_processes
        self.inode = inode
        self.isolated = isolated
        self.watched = False
        self.reason = 0

    def terminate(self) -> None:
        """Send SIGTERM to the instance."""
        for pid in _children(self.pid)[:1] if self.isolated else [self.pid]:
            os.kill(pid, signal.SIGTERM)

    def kill(self) -> None:
        """End the instance, and with it what shares its session or namespace."""
        # The instance first: it is reaped then, and how much memory it used is known.
        for pid in (_children(self.pid)[:1] or [self.pid]) if self.isolated else [self.pid]:
            end_group(pid, signal.SIGKILL)


class Children:
    """The running instances by number, and those that have ended since the last `look_after`."""

    def __init__(self) -> None:
        self._running: dict[int, Child] = {}
        self._ended: list[Child] = []

    def add(self, child: Child) -> None:
        """Record a new instance."""
        self._running[child.number] = child

    def get(self, number: int) -> Child | None:
        """Return the running instance of that number."""
        return self._running.get(number)

    def need_care(self) -> bool:
        """Whether `look_after` has to be called soon."""
        return bool(self._ended) or any(child.watched for child in self._running.values())

    def reap(self, pid: int) -> Child | None:
        """Record that a process has ended, kill the rest of its session, and return its instance, if it was one."""
        for child in self._running.values():
            if child.pid == pid:
                del self._running[child.number]
                if not child.isolated:  # otherwise the kernel has ended what was in its namespace
                    end_group(pid, signal.SIGKILL)
                    self._ended.append(child)
                return child
        return None

    def look_after(self) -> None:
        """Kill watched instances over their memory or process limit, and strays of ended instances."""
        for child in self._running.values():
            if child.watched:
                reason = overrun(child.pid, child.memory_mb, child.max_processes, isolated=child.isolated)
                if reason:
                    child.reason = REASONS.index(reason)
                    child.kill()
        if self._ended:
            end_strays({child.instance_id for child in self._ended}, {child.inode for child in self._ended})
            self._ended.clear()

    def end_all(self) -> None:
        """End every instance, what it started, and what has become a child of this process since."""
        for child in self._running.values():
            end_group(child.pid, signal.SIGKILL)
        self._ended += (child for child in self._running.values() if not child.isolated)
        self._running.clear()
        self.look_after()
        for _ in range(_MOST_GENERATIONS):
            adopted = _children(os.getpid())
            if not adopted:
                return
            for pid in adopted:
                end_group(pid, signal.SIGKILL)
            for pid in adopted:
                os.waitpid(pid, 0)  # only then are its own children this process's


def next_ended() -> tuple[int, int, int] | None:
    """Reap one ended process and return its id, exit status and peak memory in KB; None when there is none."""
    try:
        pid, status, usage = os.wait4(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, status, usage.ru_maxrss // (1024 if sys.platform == "darwin" else 1)) if pid else None


def overrun(pid: int, memory_mb: int, max_processes: int, *, isolated: bool = False) -> str:
    """Return the limit that the tree of processes below *pid* exceeds, ``memory`` or ``processes``; empty for none.

    With *isolated* the process itself does not count.
    """
    limit = memory_mb * 1024 * 1024
    used = 0
    for number, current in enumerate(tree(_children(pid) if isolated else [pid]), 1):
        used += _anonymous_bytes(current)
        if used > limit:
            return "memory"
        if number > max_processes:
            return "processes"
    return ""


def tree(roots: list[int]) -> Iterator[int]:
    """Yield *roots* and the processes below them."""
    waiting = list(roots)
    seen = set(roots)
    while waiting:
        current = waiting.pop()
        yield current
        for child in _children(current):
            if child not in seen:
                seen.add(child)
                waiting.append(child)


def others(instance_id: str) -> Iterator[int]:
    """Yield the processes of all instances but one, of any emulator: they have the id in their environment."""
    own = f"{_ID}{instance_id}\0".encode()
    for pid in _processes():
        environment = _read(f"/proc/{pid}/environ")
        if _ID.encode() in environment and own not in environment:
            yield pid


def end_group(pid: int, number: int) -> None:
    """Signal the session of an instance; before it has a session, the process alone."""
    assert pid > 1  # anything else would be a group of ours, or every process
    for send in (os.killpg, os.kill):
        try:
            send(pid, number)
        except (ProcessLookupError, PermissionError):
            continue  # none there, or on macOS only zombies


def end_strays(instance_ids: set[str], channels: set[int]) -> int:
    """Kill processes that left the session of their instance; return how many.

    They are known by what they inherited: the instance's id in the environment after exec, its channel without.
    """
    links = {f"socket:[{inode}]" for inode in channels}
    marks = [f"{_ID}{instance_id}\0".encode() for instance_id in instance_ids]
    ended = 0
    for pid in _processes():
        if _holds(pid, links) or _carries(pid, marks):
            end_group(pid, signal.SIGKILL)
            ended += 1
    return ended


def _anonymous_bytes(pid: int) -> int:
    fields = _read(f"/proc/{pid}/statm").split()
    return (int(fields[1]) - int(fields[2])) * _PAGE if len(fields) > 2 else 0


def _children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - no pathlib in the zygote, for memory
    except OSError:
        return children
    for thread in threads:
        children += [int(child) for child in _read(f"/proc/{pid}/task/{thread}/children").split()]
    return children


def _processes() -> list[int]:
    try:
        entries = os.listdir("/proc")  # noqa: PTH208
    except OSError:
        return []
    own = os.getpid()
    return [int(entry) for entry in entries if entry.isdigit() and int(entry) != own]


def _holds(pid: int, links: set[str]) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/fd/{descriptor_ceiling()}") in links  # noqa: PTH115
    except OSError:
        return False


def _carries(pid: int, marks: list[bytes]) -> bool:
    environment = _read(f"/proc/{pid}/environ")
    return any(mark in environment for mark in marks)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - no pathlib in the zygote, for memory
            return file.read()
    except OSError:
        return b""
