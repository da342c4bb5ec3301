"""What the gateway counts of requests: how many, how they ended, how long they took."""

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from emulator.kernel.metrics import Family, Histogram, Sample, counter, gauge

MOST_OPERATIONS: Final = 400
"""Operations counted apart. All APIs together have fewer; what a client invents beyond that is counted as one."""

OTHER: Final = "other"


class Traffic:
    """Counts the answers of one gateway."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[list[int], Histogram]] = {}

    def count(self, service: str, operation: str, status: int, spent_s: float) -> None:
        """Count an answer; a microsecond, on every request."""
        known = self._known.get((service, operation)) or self._add(service, operation)
        known[0][status // 100] += 1
        known[1].observe(spent_s)

    def _add(self, service: str, operation: str) -> tuple[list[int], Histogram]:
        if len(self._known) >= MOST_OPERATIONS:
            operation = OTHER
        return self._known.setdefault((service, operation), ([0] * 10, Histogram()))

    def figures(self) -> list[Family]:
        """Return the counts by service, operation and class of status, and the spans by service and operation."""
        counts, spans = [], []
        for (service, operation), (by_class, histogram) in self._known.items():
            labels = {"service": service, "operation": operation}
            counts += [
                Sample({**labels, "status": f"{first}xx"}, number) for first, number in enumerate(by_class) if number
            ]
            spans += histogram.samples(labels)
        return [
            Family("localyun_requests_total", "counter", "Requests answered, by class of HTTP status.", counts),
            Family(
                "localyun_request_duration_seconds",
                "histogram",
                "Time from a whole request to its answer; long polls and function calls are in it.",
                spans,
            ),
        ]


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
    """Return how many children the process has; Linux counts them per thread."""
    found = 0
    try:
        for thread in (_PROC / "task").iterdir():
            found += len((thread / "children").read_text(encoding="ascii").split())
    except OSError:
        return None
    return found
