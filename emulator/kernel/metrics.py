"""Prometheus metrics: families of samples, and their text in the exposition format.

What happens often is counted in plain integers where it happens; everything else is computed when metrics are
read. So a metric that is not read costs next to nothing, and no registry is shared by two emulators in one process.

Source: Prometheus, text-based exposition format 0.0.4.
"""

import asyncio
import os
import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from emulator.kernel import system
from emulator.kernel.clock import Clock

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of histogram buckets in seconds, from a call that is answered inline to a long poll."""


class Sample(NamedTuple):
    """One number; *suffix* is added to the name of its family."""

    labels: Mapping[str, str]
    value: float
    suffix: str = ""


class Family(NamedTuple):
    """Samples of one kind. *name* has the unit in it, and ends in ``_total`` for a counter."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    samples: Sequence[Sample]


class Histogram:
    """How many values fell below each bound."""

    __slots__ = ("_bounds", "_counts", "_sum")

    def __init__(self, bounds: tuple[float, ...] = SECONDS) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def samples(self, labels: Mapping[str, str]) -> list[Sample]:
        """Return the samples of a histogram: cumulative buckets, the sum, the count."""
        buckets, so_far = [], 0
        for bound, count in zip((*self._bounds, None), self._counts, strict=True):
            so_far += count
            limit = "+Inf" if bound is None else f"{bound:g}"
            buckets.append(Sample({**labels, "le": limit}, so_far, "_bucket"))
        return [*buckets, Sample(labels, self._sum, "_sum"), Sample(labels, so_far, "_count")]


def gauge(name: str, text: str, value: float) -> Family:
    """Return the family of one number that goes up and down."""
    return Family(name, "gauge", text, [Sample({}, value)])


def counter(name: str, text: str, value: float) -> Family:
    """Return the family of one number that only grows."""
    return Family(name, "counter", text, [Sample({}, value)])


def labelled(
    name: str, kind: Literal["counter", "gauge"], text: str, label: str, values: Mapping[str, float]
) -> Family:
    """Return the family of several numbers that differ in one label."""
    return Family(name, kind, text, [Sample({label: key}, value) for key, value in values.items()])


def render(families: Iterable[Family]) -> bytes:
    """Write *families* in the exposition format."""
    lines: list[str] = []
    for name, kind, text, samples in families:
        lines += [f"# HELP {name} {_escape(text)}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{suffix}{_labels(labels)} {_number(value)}" for labels, value, suffix in samples]
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escape(text, quotes=True)}"' for name, text in labels.items()) + "}"


def _escape(text: str, *, quotes: bool = False) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quotes else text


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(float(value))


INTERVAL_S: Final = 0.25
"""Seconds between samples of the loop's lag: enough to find regular blocking, at hardly any cost when idle."""


class LoopLag:
    """Samples the lag from `start` to `close`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lags = Histogram()
        self._handle: asyncio.TimerHandle | None = None
        self._due = 0.0

    def start(self) -> None:
        """Start sampling the running loop."""
        self._loop = asyncio.get_running_loop()
        self._arm()

    def close(self) -> None:
        """Stop sampling."""
        if self._handle is not None:
            self._handle.cancel()

    def figures(self) -> Family:
        """Return the histogram of the lags measured so far."""
        text = "How late the event loop came back to a tick, sampled four times a second."
        return Family("localyun_loop_lag_seconds", "histogram", text, self._lags.samples({}))

    def _arm(self) -> None:
        self._due = self._clock.monotonic() + INTERVAL_S
        self._handle = self._loop.call_later(INTERVAL_S, self._tick)

    def _tick(self) -> None:
        self._lags.observe(max(0.0, self._clock.monotonic() - self._due))
        self._arm()


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
    most = system.most_files()
    if most is not None:
        yield gauge("process_max_fds", "Most file handles.", most)
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
            return len(os.listdir(folder)) - 1  # noqa: PTH208 - without the descriptor that lists the folder
        except OSError:
            continue
    return None


def _children() -> int | None:
    """Return how many children the process has; Linux counts them per thread."""
    count = 0
    try:
        for thread in (_PROC / "task").iterdir():
            count += len((thread / "children").read_text(encoding="ascii").split())
    except OSError:
        return None
    return count
