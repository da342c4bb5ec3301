"""Flame graphs of four loads, of today's program and an earlier one: ``python3 dev.py bench --flames FOLDER``.

py-spy looks at both servers while each gets its requests in turns; it is installed into ``.bench`` on first use. A
picture has one graph for each program: a frame is as wide as its share of the samples, callers stand below. Only the
loop's thread counts, with what others work off for it; samples in which it waits for sockets are left out, frames
narrower than half a per cent and those of the import system too. The client has a core of its own, so that it does not
interrupt the server when it is woken.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from html import escape
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from benchmarks.against import LOADS, Programs, Turn, one_function, under_load
from benchmarks.earlier import checked_out
from benchmarks.peer_tools import INSTALLED
from benchmarks.server import SERVICE, Connection, Server, children_of

PY_SPY = "py-spy==0.4.3"
BEFORE = "3dbb66f"
"""The last commit of 549 modules, before the house was put in order."""

SECONDS = 20
STARTS = 12

_RATE = 500
_LEAST = 0.005
_WIDTH, _ROW, _HEAD, _GAP = 1000, 15, 22, 14
_COLOURS = {"emulator/": "#e8833a", "asyncio/": "#7fb2d9", "selectors.py": "#7fb2d9", "": "#c3c7c9"}
_IMPORTING = ("<frozen importlib", "importlib/")

Stack = tuple[str, ...]


class Profile(NamedTuple):
    """How often each stack was found, and the processor time of one request in microseconds."""

    stacks: Counter[Stack]
    each_us: float


def draw(folder: Path, commit: str = BEFORE) -> str:
    """Write ``flames-LOAD.svg`` for every load into *folder* and return their names.

    Raises: RuntimeError when *commit* cannot be checked out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    spy = _installed()
    names = []
    with ExitStack() as stack:
        program = stack.enter_context(checked_out(commit))
        if program is None:
            raise RuntimeError(f"git cannot check out {commit}")
        functions = stack.enter_context(one_function())
        versions = {f"before ({commit})": program, "today": None}
        for load, (title, prepare) in LOADS.items():
            profiles = _under_load(spy, functions, list(versions.values()), prepare)
            names.append(write_graphs(folder / f"flames-{load}.svg", title, dict(zip(versions, profiles, strict=True))))
        starts = _starts(spy, functions, list(versions.values()))
        title = "start to the first answered service call"
        names.append(write_graphs(folder / "flames-start.svg", title, dict(zip(versions, starts, strict=True))))
    return "\n".join(names)


def _under_load(
    spy: Path, functions: Path, programs: Programs, prepare: Callable[[Server, Connection], Turn]
) -> list[Profile]:
    """Look at a server of each program while they answer in turns."""
    with under_load(functions, programs, prepare) as loaded:
        servers, turns = zip(*loaded, strict=True)
        _take_turns(turns, SECONDS / 10)
        before = [server.cpu_ns() for server in servers]
        requests = _take_turns(turns, SECONDS / 2)
        each_us = [
            (server.cpu_ns() - began) / number / 1000
            for server, began, number in zip(servers, before, requests, strict=True)
        ]
        with ExitStack() as looking:
            written = [looking.enter_context(_looked_at(spy, server.process.pid)) for server in servers]
            _take_turns(turns, SECONDS)
    return [Profile(parsed(raw), spent) for raw, spent in zip(written, each_us, strict=True)]


def _take_turns(turns: Sequence[Turn], seconds: float) -> list[int]:
    """Let each have its turn again and again; return how many requests each has made."""
    counted = [0] * len(turns)
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        for number, turn in enumerate(turns):
            counted[number] += turn()
    return counted


@contextmanager
def _looked_at(spy: Path, process: int) -> Iterator[list[str]]:
    """Sample a process while the block runs; the list has the lines of the samples afterwards."""
    lines: list[str] = []
    with tempfile.TemporaryDirectory(prefix="localyun-bench-spy-") as folder:
        raw = Path(folder) / "raw"
        looking = subprocess.Popen([*_record(spy, raw), "--pid", str(process)], stdout=subprocess.DEVNULL)
        try:
            yield lines
        finally:
            looking.send_signal(signal.SIGINT)  # upon which it writes what it has seen
            looking.wait(30)
        lines += raw.read_text(encoding="utf-8").splitlines()


def _starts(spy: Path, functions: Path, programs: Programs) -> list[Profile]:
    """Look at starts of each program in turns, until the first service call is answered."""
    found: list[Counter[Stack]] = [Counter() for _ in programs]
    spent_us: list[list[float]] = [[] for _ in programs]
    with tempfile.TemporaryDirectory(prefix="localyun-bench-spy-") as folder:
        raw = Path(folder) / "raw"
        for number in [*range(len(programs))] * STARTS:
            under = [*_record(spy, raw), "--"]
            with Server(functions, ask=SERVICE, program=programs[number], under=under) as server:
                (emulator,) = children_of(server.process.pid)
                server.process.send_signal(signal.SIGINT)  # upon which py-spy writes what it has seen
                server.process.wait(30)
                with suppress(ProcessLookupError):  # py-spy ends it, too
                    os.kill(emulator, signal.SIGKILL)
            found[number] += parsed(raw.read_text(encoding="utf-8").splitlines())
            with Server(functions, ask=SERVICE, program=programs[number]) as server:
                spent_us[number].append(server.cpu_s() * 1e6)
    return [Profile(stacks, min(spent)) for stacks, spent in zip(found, spent_us, strict=True)]


def _record(spy: Path, raw: Path) -> list[str]:
    return [str(spy), "record", "--function", "--rate", str(_RATE), "--format", "raw", "--output", str(raw)]


def _installed() -> Path:
    folder = INSTALLED / "py-spy"
    program = folder / "bin" / "py-spy"
    if not program.exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), PY_SPY]
        subprocess.run(command, check=True)
    return program


def parsed(lines: list[str]) -> Counter[Stack]:
    """Return the stacks of py-spy's raw lines, ``outer (file:line);inner (file:line) number``."""
    stacks: Counter[Stack] = Counter()
    for line in lines:
        frames, _, number = line.rpartition(" ")
        named = [re.sub(r":\d+\)$", ")", frame) for frame in frames.split(";")]
        if named[0].startswith("Thread.") and not any(frame.startswith("_WorkItem.run ") for frame in named):
            continue
        if named[-1].startswith("EpollSelector.select "):
            continue
        kept = [frame for frame in named[:-1] if not any(mark in frame for mark in _IMPORTING)]
        stacks[(*kept, named[-1])] += int(number)
    return stacks


def write_graphs(path: Path, title: str, profiles: dict[str, Profile]) -> str:
    """Draw one graph for each profile, one below the other, and return the file's name and the figures."""
    parts, top = [], 0
    for name, profile in profiles.items():
        total = profile.stacks.total()
        frames = list(_frames(profile.stacks))
        height = (max((frame.depth for frame in frames), default=0) + 1) * _ROW
        text = f"{title}, {name}: {_told(profile.each_us)} of processor time each, {total:,} samples"
        parts.append(f'<text x="2" y="{top + 14}" font-weight="bold" font-size="12">{escape(text)}</text>')
        parts += [frame.drawn(top + _HEAD + height, total) for frame in frames]
        top += _HEAD + height + _GAP
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top}" font-family="sans-serif" '
        f'font-size="10">\n<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n",
        encoding="utf-8",
    )
    each = ", ".join(f"{name} {_told(profile.each_us)}" for name, profile in profiles.items())
    return f"{path.name}: {each}"


def _told(time_us: float) -> str:
    return f"{time_us:,.0f} us" if time_us < 10_000 else f"{time_us / 1000:,.0f} ms"


class _Frame(NamedTuple):
    """A function at one place of a graph: *first* of all samples stand to the left of it, *samples* in it."""

    name: str
    depth: int
    first: int
    samples: int

    def drawn(self, bottom: int, total: int) -> str:
        x, width = self.first / total * _WIDTH, self.samples / total * _WIDTH
        y = bottom - (self.depth + 1) * _ROW
        colour = next(colour for mark, colour in _COLOURS.items() if f"({mark}" in self.name or not mark)
        function, _, file = self.name.rstrip(")").partition(" (")
        shown = escape((file if function == "<module>" else function)[: int(width / 5.4)]) if width > 24 else ""
        label = f'<text x="{x + 2:.1f}" y="{y + 11}">{shown}</text>' if shown else ""
        return (
            f'<g><title>{escape(self.name)}: {self.samples / total:.1%}</title><rect x="{x:.1f}" y="{y}" '
            f'width="{max(width - 0.3, 0.2):.1f}" height="{_ROW - 1}" fill="{colour}"/>{label}</g>'
        )


def _frames(stacks: Counter[Stack], depth: int = 0, first: int = 0, total: int = 0) -> Iterator[_Frame]:
    """Yield the frames that are wide enough, the outermost first; what all samples share is left out."""
    if not total:
        total = stacks.total()
        stacks = _without_common(stacks)
    inside: dict[str, Counter[Stack]] = {}
    for stack, number in stacks.items():
        if stack:
            inside.setdefault(stack[0], Counter())[stack[1:]] += number
    for name, below in sorted(inside.items()):
        count = below.total()
        if count >= total * _LEAST:
            yield _Frame(name, depth, first, count)
            yield from _frames(below, depth + 1, first, total)
        first += count


def _without_common(stacks: Counter[Stack]) -> Counter[Stack]:
    """Return *stacks* without the outermost frames that nearly all of them begin with."""
    total = stacks.total()
    longest = max(stacks, key=lambda stack: stacks[stack])
    shared = [
        number
        for number in range(1, len(longest))
        if sum(count for stack, count in stacks.items() if stack[:number] == longest[:number]) > 0.95 * total
    ]
    cut = longest[: max(shared, default=0)]
    kept: Counter[Stack] = Counter()
    for stack, number in stacks.items():
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(stack, cut, strict=False)))
        kept[stack[same:]] += number
    return kept
