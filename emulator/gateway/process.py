"""Figures of the emulator's own process, under the names that Prometheus clients use.

What a system does not tell is left out. Function instances are processes of their own and only counted here.
"""

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from emulator.kernel.metrics import Family, counter, gauge

_PROC = Path("/proc/self")


def process_figures() -> Iterator[Family]:
    """Yield processor time, memory, threads, open files and children."""
    times = os.times()
    yield counter("process_cpu_seconds_total", "Processor time of this process.", times.user + times.system)
    yield gauge("process_threads", "Threads of Python in this process.", threading.active_count())
    memory = _memory()
    if memory is not None:
        yield gauge("process_virtual_memory_bytes", "Address space of this process.", memory[0])
        yield gauge("process_resident_memory_bytes", "Memory of this process.", memory[1])
    files = _open_files()
    if files is not None:
        yield gauge("process_open_fds", "Open file handles.", files)
    if sys.platform != "win32":
        import resource  # Unix has it, and nothing else needs it

        yield gauge("process_max_fds", "Most file handles.", resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    children = _children()
    if children is not None:
        yield gauge(
            "localyun_child_processes", "Processes this one has started: instances and their keepers.", children
        )


def _memory() -> tuple[int, int] | None:
    """Return (address space, resident) in bytes."""
    try:
        size, resident = (_PROC / "statm").read_text(encoding="ascii").split()[:2]
    except OSError:
        return None
    page = os.sysconf("SC_PAGE_SIZE")
    return int(size) * page, int(resident) * page


def _open_files() -> int | None:
    for folder in (_PROC / "fd", Path("/dev/fd")):
        try:
            return len(os.listdir(folder)) - 1  # noqa: PTH208 - names only; one is the listing's own
        except OSError:
            continue
    return None


def _children() -> int | None:
    """Return how many children the process has; Linux tells it per thread."""
    found = 0
    try:
        for thread in (_PROC / "task").iterdir():
            found += len((thread / "children").read_text(encoding="ascii").split())
    except OSError:
        return None
    return found
