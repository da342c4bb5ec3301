"""Watches the instances of a zygote: memory and processes in use, and what they leave behind.

Linux only, through /proc; elsewhere every sum is zero and nothing is left to find. Anonymous and shared memory count;
pages of mapped files do not, since the kernel can drop them.
"""

from __future__ import annotations

import os
import signal

from .process import descriptor_ceiling  # noqa: TID252 - the package has another name inside an instance

_PAGE = os.sysconf("SC_PAGE_SIZE")


def overrun(pid: int, memory_mb: int, max_processes: int) -> str:
    """Return what the tree of processes below *pid* has too much of, ``memory`` or ``processes``, or nothing."""
    limit = memory_mb * 1024 * 1024
    used = 0
    seen = {pid}
    waiting = [pid]
    while waiting:
        current = waiting.pop()
        used += _anonymous_bytes(current)
        if used > limit:
            return "memory"
        for child in _children(current):
            if child not in seen:
                seen.add(child)
                waiting.append(child)
        if len(seen) > max_processes:
            return "processes"
    return ""


def end_group(pid: int, number: int) -> None:
    """Signal the session of an instance; before it has a session, the process alone."""
    assert pid > 1  # anything else would be a group of ours, or everybody
    for send in (os.killpg, os.kill):
        try:
            send(pid, number)
        except (ProcessLookupError, PermissionError):
            continue  # nobody there, or on macOS nobody but zombies


def end_strays(instance_ids: set[str], channels: set[int]) -> int:
    """Kill processes that left the session of their instance; return how many.

    They are known by what they inherited: the instance's id in the environment after exec, its channel without.
    """
    links = {f"socket:[{inode}]" for inode in channels}
    marks = [f"FC_INSTANCE_ID={instance_id}\0".encode() for instance_id in instance_ids]
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
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - no pathlib in the zygote, for memory
    except OSError:
        return found
    for thread in threads:
        found += [int(child) for child in _read(f"/proc/{pid}/task/{thread}/children").split()]
    return found


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
