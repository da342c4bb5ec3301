"""How the cost of a thing grows with the number of them, as curves: ``python3 dev.py bench --curves FILE``.

Processor time per SendMessage from 1 to 500 clients, beside canned answers on the same HTTP stack; a receive from
queues of 1 to 1,000,000 messages; the start of a flow beside 1 to 10,000 parked ones.
"""

import asyncio
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from html import escape
from pathlib import Path
from statistics import median

from benchmarks.harness import Measure
from benchmarks.load import answered, requests_per_s
from benchmarks.mns import BODY, Service, receive_us
from benchmarks.server import Connection, Server, cpu_s, free_port, ordinary_environment
from benchmarks.workflow import WAITING, WORLD, engine
from emulator.services.workflow.model import FlowSettings

CLIENTS = (1, 4, 16, 64, 250, 500)
MESSAGES = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
FLOWS = (1, 10, 100, 1_000, 10_000)

_CALLS = 3000
_STARTS = 200
_SAMPLES = 3

_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 720, 150, 60, 26, 46
_COLOURS = ("#2f7ed8", "#8a8a8a")

Curves = Mapping[str, Sequence[float]]


def draw(path: Path) -> str:
    """Measure everything, write the curves to *path* and return them as text."""
    panels: list[tuple[str, Sequence[int], Curves]] = [
        ("SendMessage: microseconds of processor time, by clients", CLIENTS, _sends()),
        ("ReceiveMessage: microseconds of processor time, by messages in the queue", MESSAGES, _receives()),
        ("StartExecution up to its wait: microseconds of processor time, by flows parked", FLOWS, _starts()),
    ]
    path.write_text(_svg(panels), encoding="utf-8")
    return "\n".join(_table(*panel) for panel in panels)


def _sends() -> Curves:
    port = free_port()
    canned = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.canned", str(port), "stack"],
        stdin=subprocess.PIPE,
        env=ordinary_environment(),
    )
    try:
        with Server() as server:
            answered(port, lambda: None)
            with Connection(server.port) as connection:
                connection.ask(server.mns("PUT", "/queues/q"))
            request = server.mns("POST", "/queues/q/messages", BODY)
            places = {"localyun": (server.port, server.process.pid), "canned answers": (port, canned.pid)}
            return {
                name: [_median(lambda: _cpu_us(*place, request, clients)) for clients in CLIENTS]  # noqa: B023 - now
                for name, place in places.items()
            }
    finally:
        canned.communicate(timeout=30)


def _cpu_us(port: int, process: int, request: bytes, clients: int) -> float:
    before = cpu_s(process)
    requests_per_s(port, request, connections=clients, calls=_CALLS)
    return (cpu_s(process) - before) / _CALLS * 1e6


def _receives() -> Curves:
    spent = []
    for number in MESSAGES:
        with tempfile.TemporaryDirectory(prefix="localyun-bench-") as folder, closing(Service(Path(folder))) as service:
            service.create("q", visible=number)
            service.reopen()
            service.look("q")
            spent.append(_median(lambda: receive_us(service, "q")))
    return {"localyun": spent}


def _starts() -> Curves:
    return {"localyun": [_median(lambda: asyncio.run(_start_us(parked))) for parked in FLOWS]}  # noqa: B023 - called now


async def _start_us(parked: int) -> float:
    given = json.dumps({"until": "2100-01-01T00:00:00Z"})
    async with engine() as made:
        await made.service.flows.create(WORLD, "f", WAITING, FlowSettings())
        for number in range(parked):
            made.service.executions.start(WORLD, "f", f"parked{number}", given)
            if number % 100 == 0:
                await made.quiet()
        await made.quiet()
        started = time.process_time()
        for number in range(_STARTS):
            made.service.executions.start(WORLD, "f", f"e{number}", given)
            await made.quiet()
        return (time.process_time() - started) / _STARTS * 1e6


def _median(measure: Measure) -> float:
    return median(measure() for _ in range(_SAMPLES))


def _table(title: str, numbers: Sequence[int], curves: Curves) -> str:
    head = f"| {title} | " + " | ".join(f"{number:,}" for number in numbers) + " |"
    rule = "|---|" + "---|" * len(numbers)
    rows = [f"| {name} | " + " | ".join(f"{value:.3g}" for value in values) + " |" for name, values in curves.items()]
    return "\n".join([head, rule, *rows]) + "\n"


def _svg(panels: Sequence[tuple[str, Sequence[int], Curves]]) -> str:
    height = len(panels) * (_HEIGHT + _GAP) + _TOP
    inside = "\n".join(_panel(number * (_HEIGHT + _GAP) + _TOP, *panel) for number, panel in enumerate(panels))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" '
        f'font-family="sans-serif" font-size="11" fill="{_COLOURS[1]}">\n{inside}\n</svg>\n'
    )


def _panel(top: int, title: str, numbers: Sequence[int], curves: Curves) -> str:
    """Return one diagram; the numbers are on a logarithmic scale, the costs on a plain one from zero."""
    highest = max(max(values) for values in curves.values()) * 1.1
    across = (_WIDTH - _LEFT - 20) / (math.log(numbers[-1]) or 1)
    places = [_LEFT + math.log(number) * across for number in numbers]
    parts = [
        f'<text x="{_LEFT}" y="{top - 8}" font-weight="bold">{escape(title)}</text>',
        f'<rect x="{_LEFT}" y="{top}" width="{_WIDTH - _LEFT - 20}" height="{_HEIGHT}" fill="none" '
        f'stroke="{_COLOURS[1]}" stroke-width="0.5"/>',
        f'<text x="{_LEFT - 6}" y="{top + 10}" text-anchor="end">{highest:.3g}</text>',
        f'<text x="{_LEFT - 6}" y="{top + _HEIGHT}" text-anchor="end">0</text>',
    ]
    for place, number in zip(places, numbers, strict=True):
        parts.append(f'<text x="{place:.0f}" y="{top + _HEIGHT + 14}" text-anchor="middle">{number:,}</text>')
    for colour, (name, values) in zip(_COLOURS, curves.items(), strict=False):
        heights = [top + _HEIGHT - value / highest * _HEIGHT for value in values]
        points = " ".join(f"{place:.1f},{height:.1f}" for place, height in zip(places, heights, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        label = f'<text x="{_WIDTH - 26}" y="{heights[-1] - 6:.0f}" text-anchor="end" fill="{colour}">{name}</text>'
        parts.append(label)
    return "\n".join(parts)
