"""What is seen from outside while the load runs: samples of the figures the emulator shows, and what they add up to."""

import statistics
import urllib.request
from collections.abc import Sequence
from typing import NamedTuple

_LAG = "localyun_loop_lag_seconds_bucket"


class Sample(NamedTuple):
    """One look at the emulator. Memory and state are in MB, the lag (of the time since the last sample) in ms."""

    at_s: float
    memory_mb: float
    handles: float
    threads: float
    children: float
    lag_p99_ms: float
    state_mb: float
    wal_mb: float
    requests_per_s: float
    cpu_share: float


FIGURES = {
    "memory_mb": "memory, MB",
    "handles": "open file handles",
    "threads": "threads",
    "children": "child processes",
    "lag_p99_ms": "lag of the event loop, p99 of each sample, ms",
    "state_mb": "state file, MB",
    "requests_per_s": "requests answered per second",
    "cpu_share": "share of one processor",
}


class Watch:
    """Takes samples from the emulator on *port*."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.samples: list[Sample] = []
        self._lag: dict[float, float] = {}
        self._seen: tuple[float, float, float] | None = None
        self.whole_lag: dict[float, float] = {}

    def look(self, at_s: float) -> None:
        """Take a sample; the first one only begins the counting of what is counted per second."""
        figures, lag, requests = self._read()
        before = self._seen
        self._seen = (at_s, requests, figures["process_cpu_seconds_total"])
        since = {bound: count - self._lag.get(bound, 0) for bound, count in lag.items()}
        self._lag = lag
        if before is None:
            return
        for bound, count in since.items():
            self.whole_lag[bound] = self.whole_lag.get(bound, 0) + count
        spent = at_s - before[0]
        self.samples.append(
            Sample(
                at_s=at_s,
                memory_mb=figures["process_resident_memory_bytes"] / 2**20,
                handles=figures["process_open_fds"],
                threads=figures["process_threads"],
                children=figures["localyun_child_processes"],
                lag_p99_ms=quantile_ms(since, 0.99),
                state_mb=figures["localyun_state_bytes"] / 2**20,
                wal_mb=figures["localyun_wal_bytes"] / 2**20,
                requests_per_s=(requests - before[1]) / spent,
                cpu_share=(figures["process_cpu_seconds_total"] - before[2]) / spent,
            )
        )

    def _read(self) -> tuple[dict[str, float], dict[float, float], float]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/_localyun/metrics", timeout=30) as answer:
            text = answer.read().decode()
        figures: dict[str, float] = {}
        lag: dict[float, float] = {}
        requests = 0.0
        for line in text.splitlines():
            name, _, value = line.rpartition(" ")
            if name.startswith(_LAG):
                lag[float(name.split('"')[1])] = float(value)
            elif name.startswith("localyun_requests_total{"):
                requests += float(value)
            elif name and not name.startswith("#") and "{" not in name:
                figures[name] = float(value)
        return figures, lag, requests


def quantile_ms(buckets: dict[float, float], share: float) -> float:
    """Return the quantile of a cumulative histogram of seconds, in ms: the straight line inside the bucket it is in."""
    total = buckets.get(float("inf"), 0)
    wanted = total * share
    lower, below = 0.0, 0.0
    for bound, count in sorted(buckets.items()):
        if total and count >= wanted:
            if bound == float("inf"):
                return lower * 1000
            inside = (wanted - below) / (count - below) if count > below else 1.0
            return (lower + (bound - lower) * inside) * 1000
        lower, below = bound, count
    return 0.0


def growth(samples: Sequence[Sample], figure: str) -> tuple[float, float]:
    """Return the medians of the first and the last fifth of *samples*."""
    values = [float(getattr(sample, figure)) for sample in samples]
    fifth = max(1, len(values) // 5)
    return statistics.median(values[:fifth]), statistics.median(values[-fifth:])
