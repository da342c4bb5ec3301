"""An emulator whose loop is watched: ``python -m benchmarks.watched REPORT PYTHON -m emulator start ...``.

A turn of the loop is what happens between two looks at the sockets: nothing else is served meanwhile, so the longest
turn is the longest standstill. Each callback of a turn is timed and named after its function or coroutine, with the
operations it has answered. On SIGUSR1, and at the end, the longest turn since the last time, and the one with most work
in it, are written to REPORT.
"""

import asyncio
import json
import runpy
import selectors
import signal
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

NAMED = 5
"""Callbacks of the longest turn that are named."""


class Turn(NamedTuple):
    """What a turn took, by the clock on the wall and of the processor; ``parts`` are its callbacks by their names."""

    spent_s: float = 0.0
    worked_s: float = 0.0
    parts: tuple[tuple[str, int, float], ...] = ()
    """Name, how often, and seconds of processor time; those that took most."""

    def told(self) -> dict[str, Any]:
        """Return it in milliseconds."""
        causes = [{"name": name, "times": times, "ms": round(1000 * spent, 1)} for name, times, spent in self.parts]
        return {"ms": round(1000 * self.spent_s, 1), "processor_ms": round(1000 * self.worked_s, 1), "causes": causes}


class Turns:
    """Times the turns of a loop and keeps the longest one, and the one with most work in it.

    On a machine that others use the two differ: a turn that is kept from the processor, or from a lock, is long and has
    done little. What the program can be blamed for is the work.
    """

    def __init__(self) -> None:
        self.count = 0
        self.longest = self.hardest = Turn()
        self._began: float | None = None
        self._worked_s = 0.0
        self._ran: dict[str, tuple[int, float]] = {}
        self._answered: list[str] = []

    def ends(self) -> None:
        """Note that the loop looks at its sockets now."""
        if self._began is None:
            return
        spent_s, worked_s = time.perf_counter() - self._began, time.thread_time() - self._worked_s
        self.count += 1
        if spent_s > self.longest.spent_s or worked_s > self.hardest.worked_s:
            most = sorted(self._ran.items(), key=lambda each: -each[1][1])[:NAMED]
            turn = Turn(spent_s, worked_s, tuple((name, count, seconds) for name, (count, seconds) in most))
            self.longest = max(self.longest, turn, key=lambda each: each.spent_s)
            self.hardest = max(self.hardest, turn, key=lambda each: each.worked_s)

    def begins(self) -> None:
        """Note that the loop has looked."""
        self._ran = {}
        self._began, self._worked_s = time.perf_counter(), time.thread_time()

    def answered(self, operation: str) -> None:
        """Note that an operation has been answered by what runs."""
        self._answered.append(operation)

    def ran(self, handle: Any, worked_s: float) -> None:
        """Note how much processor time a callback has taken."""
        name = _name(getattr(handle, "_callback", None))
        if self._answered:
            name += f" ({', '.join(sorted(set(self._answered)))})"
            self._answered.clear()
        count, seconds = self._ran.get(name, (0, 0.0))
        self._ran[name] = (count + 1, seconds + worked_s)

    def report(self) -> dict[str, Any]:
        """Return both turns, and begin anew."""
        found = {"turns": self.count, "longest": self.longest.told(), "hardest": self.hardest.told()}
        self.count, self.longest, self.hardest = 0, Turn(), Turn()
        return found


def _name(callback: Any) -> str:
    """Return what to call a callback: its coroutine when it is a task's step, else its function."""
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return getattr(owner.get_coro(), "__qualname__", "task")
    function = getattr(callback, "func", callback)
    return getattr(function, "__qualname__", type(function).__name__)


def watch(turns: Turns) -> None:
    """Time every turn of the loop of this process."""
    from emulator.gateway.pipeline import Pipeline

    handle: Any = asyncio.Handle
    run, select, finish = handle._run, selectors.DefaultSelector.select, Pipeline._finish

    def timed_run(self: Any) -> None:
        began = time.thread_time()
        run(self)
        turns.ran(self, time.thread_time() - began)

    def timed_select(self: Any, timeout: float | None = None) -> Any:
        turns.ends()
        found = select(self, timeout)
        turns.begins()
        return found

    def noted_finish(self: Any, front: Any, call: Any, *rest: Any) -> None:
        turns.answered(call.operation)
        finish(self, front, call, *rest)

    handle._run = timed_run
    selectors.DefaultSelector.select = timed_select  # type: ignore[method-assign]  # this process is for nothing else
    Pipeline._finish = noted_finish  # type: ignore[method-assign, assignment]  # as above


def main() -> None:
    """Run the emulator and report."""
    report, _, _, module, *words = sys.argv[1:]
    turns = Turns()
    watch(turns)

    def tell(*_: object) -> None:
        Path(f"{report}.new").write_text(json.dumps(turns.report()), encoding="utf-8")
        Path(f"{report}.new").replace(report)

    signal.signal(signal.SIGUSR1, tell)
    sys.argv = [module, *words]
    try:
        runpy.run_module(module, run_name="__main__")
    finally:
        tell()


if __name__ == "__main__":
    main()
