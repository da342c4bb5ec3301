"""What a schedule costs those who set one, and nothing those who set none.

The saga is three mocked calls and their compensations; one run is what the plugin does for each schedule: restore,
schedule, execution until its end, what was chosen. What the hot path costs is measured beside an emulator of the commit
before exploration, as in `benchmarks.lab`.
"""

import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from benchmarks.earlier import checked_out
from benchmarks.functions import ECHO
from benchmarks.harness import Row
from benchmarks.lab import Pair, beside
from benchmarks.server import Server
from emulator.lab.exploration import Search
from emulator.testing import Emulator, Localyun

BEFORE = "f3fb0f68"
"""The commit before exploration."""

SCHEDULES = 100

_STEP = "{{type: task, name: {name}, resourceArn: 'acs:fc:::services/saga/functions/{name}'{more}}}"
_RETRY = ", retry: [{errors: [FC.Unknown], intervalSeconds: 1, maxAttempts: 2}]"
STEPS = ("train", "flight", "hotel")
SAGA = "version: v1\ntype: flow\nsteps:\n" + "".join(f"  - {_STEP.format(name=name, more=_RETRY)}\n" for name in STEPS)


class Explored:
    """An emulator with the saga, and its schedules: orders and lost answers."""

    def __init__(self, kit: Localyun) -> None:
        self._kit = kit
        for name in STEPS:
            kit.mock(f"saga/{name}", returns={})
        self._flow = kit.flow("saga", SAGA)
        kit.clock.freeze()
        kit.settle()
        kit.checkpoint("saga")

    def explore(self, most: int, number: int = 0, of: int = 1) -> list[float]:
        """Try up to *most* schedules and return how long each run took, in milliseconds."""
        search, spent = Search(most=most, share=(number, of)), []
        for schedule in search:
            began = time.perf_counter()
            self._kit.begin_again({"faults": ["lost-after"], **schedule}, "saga")
            run = self._flow.start({})
            self._kit.skip_until(execution=run)
            view = self._kit.api.admin("GET", "schedule")
            spent.append((time.perf_counter() - began) * 1000)
            if view["strayed"]:
                raise RuntimeError("an effect has gone without its turn")
            search.learn(view)
        return spent


class Exploration:
    """The rows, around two emulators, as two workers of xdist have them."""

    def __init__(self) -> None:
        self._closing = ExitStack()
        self._kits = [Explored(self._closing.enter_context(Emulator(options=["--seed", "0"]))) for _ in range(2)]

    def close(self) -> None:
        """End the emulators."""
        self._closing.close()

    def rows(self) -> list[Row]:
        """Return the rows in the order they are taken."""
        return [
            Row(name="a schedule of a mocked saga, restore included", unit="ms", measure=self._run_ms, goal=40),
            Row(
                name="the same, two explorations side by side",
                unit="schedules/min",
                measure=self._per_minute,
                goal=1000,
                at_least=True,
            ),
            *self._unused(),
        ]

    def _run_ms(self) -> float:
        return statistics.median(self._kits[0].explore(SCHEDULES))

    def _per_minute(self) -> float:
        began = time.perf_counter()
        with ThreadPoolExecutor(len(self._kits)) as workers:
            numbers = range(len(self._kits))
            spent = list(workers.map(lambda at: self._kits[at].explore(SCHEDULES, at, len(self._kits)), numbers))
        return sum(map(len, spent)) / (time.perf_counter() - began) * 60

    def _unused(self) -> Iterator[Row]:
        program = self._closing.enter_context(checked_out(BEFORE))
        if program is None:
            return
        functions = Path(self._closing.enter_context(tempfile.TemporaryDirectory(prefix="localyun-bench-explored-")))
        (functions / "bench" / "echo").mkdir(parents=True)
        (functions / "bench" / "echo" / "index.py").write_text(ECHO, encoding="ascii")
        pair = Pair(*(self._closing.enter_context(Server(functions, program=each)) for each in (None, program)))
        yield from beside(
            pair, "no schedule set", "the commit before exploration", 1.01,
            {
                "SendMessage": pair.sends, "warm call of a Python function": pair.calls,
                "express execution that calls it": pair.flows,
            },
        )  # fmt: skip
