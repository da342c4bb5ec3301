"""Mixed load for a long time, watched: ``python -m benchmarks.endurance --minutes 30 --svg FILE``.

Queues, long polls, topics with pushes, functions, flows, changes of resources and refused calls, all at a steady pace.
The exit code is 1 when an answer was not the expected one, memory, handles, threads or processes grew after the first
minutes, or the event loop was late.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.crash.process import Subject
from benchmarks.crash.record import Record
from benchmarks.crash.site import Site
from benchmarks.endurance.chart import charts
from benchmarks.endurance.clients import Clients, let_run
from benchmarks.endurance.samples import FIGURES, Sample, Watch, growth, quantile_ms
from benchmarks.harness import machine

SAMPLE_S = 5.0
WARM_SHARE = 1 / 6
"""What part of the run counts as warming up: caches, instances and tables reach their size."""

LAG_GOAL_MS = 20
ALLOWED = {"memory_mb": 1.1, "handles": 1.15, "threads": 1.0, "children": 1.5}
"""How much of the first fifth after warming up the last fifth may be; instances come and go with chance."""


def main() -> int:
    """Run, print the figures as JSON and a verdict."""
    parser = argparse.ArgumentParser(prog="endurance", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="how long (default: 30)")
    parser.add_argument("--svg", type=Path, help="draw the figures into this file")
    parser.add_argument("--json", type=Path, help="write every sample to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="localyun-endurance-") as folder:
        clients, watch, log = asyncio.run(_run(Path(folder), arguments.minutes * 60))
    warm_min = arguments.minutes * WARM_SHARE
    warm = [each for each in watch.samples if each.at_s >= warm_min * 60]
    told = _told(clients, watch, warm, arguments.minutes)
    complaints = [f"unexpected: {what} ({count} times)" for what, count in clients.wrong.items()]
    complaints += complaints_about(warm, told["loop lag p99, ms"])
    if "Traceback" in log:
        complaints.append("a traceback in the emulator's log: " + log[log.index("Traceback") :][:2000])
    print(json.dumps(told, indent=1))
    if arguments.svg:
        figures = {title: [float(getattr(each, name)) for each in watch.samples] for name, title in FIGURES.items()}
        arguments.svg.write_text(
            charts([each.at_s / 60 for each in watch.samples], figures, warm_min), encoding="utf-8"
        )
    if arguments.json:
        samples = [each._asdict() for each in watch.samples]
        arguments.json.write_text(json.dumps({**told, "samples": samples}, indent=1) + "\n", encoding="ascii")
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


async def _run(folder: Path, seconds: float) -> tuple[Clients, Watch, str]:
    Clients.write_functions(folder / "functions")
    subject = Subject(folder, "--functions", str(folder / "functions"))
    record = Record(folder / "record.jsonl")
    clients = Clients(Site(subject, record, 1))
    subject.spawn()
    try:
        await subject.ready()
        watch = Watch(subject.port)
        await clients.prepare()
        looking = asyncio.create_task(_look(watch, clients.site))
        try:
            await let_run(clients, clients.site, seconds)
        finally:
            clients.site.over.set()
            await looking
        await subject.stop()
    finally:
        if subject.alive:
            subject.kill()
        clients.close()
        record.close()
    return clients, watch, (folder / "server.log").read_text(encoding="utf-8", errors="replace")


async def _look(watch: Watch, site: Site) -> None:
    began = time.monotonic()
    while not site.over.is_set():  # what happens while the last polls end is no load
        at = time.monotonic() - began
        await asyncio.to_thread(watch.look, at)
        if sys.stderr.isatty() and watch.samples:
            last = watch.samples[-1]
            print(f"\r{at / 60:.1f} min, {last.memory_mb:.1f} MB, {last.requests_per_s:.0f}/s", end="", file=sys.stderr)
        await site.rest(SAMPLE_S)


def _told(clients: Clients, watch: Watch, warm: Sequence[Sample], minutes: float) -> dict[str, Any]:
    return {
        "machine": machine(),
        "minutes": minutes,
        "operations": dict(clients.done.most_common()),
        "pushes taken": clients.pushes,
        "unexpected answers": dict(clients.wrong),
        "loop lag p99, ms": round(quantile_ms(watch.whole_lag, 0.99), 2),
        "after warming up, first and last fifth": {
            figure: [round(value, 2) for value in growth(warm, figure)] for figure in ALLOWED
        },
    }


def complaints_about(warm: Sequence[Sample], lag_ms: float) -> list[str]:
    """Return what *warm*, the samples after warming up, and the lag of the whole run have against the emulator."""
    grown = {figure: growth(warm, figure) for figure in ALLOWED}
    complaints = [
        f"{FIGURES[figure]} grew from {first:.1f} to {last:.1f}"
        for figure, (first, last) in grown.items()
        if last > first * ALLOWED[figure]
    ]
    if lag_ms > LAG_GOAL_MS:
        complaints.append(f"the event loop was {lag_ms:.1f} ms late (p99)")
    return complaints


if __name__ == "__main__":
    sys.exit(main())
