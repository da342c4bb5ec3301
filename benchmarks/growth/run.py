"""The run: each case at each size, exponents, the table."""

import http.client
import math
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from benchmarks.growth.cases import Case, commands, operations, pages
from benchmarks.growth.recorded import record
from benchmarks.growth.site import ACCOUNT, Cost, Site
from benchmarks.growth.state import many
from benchmarks.growth.work import works
from benchmarks.harness import machine

SIZES = (100, 1_000, 10_000)
ONE, ALL = 0.1, 1.1
"""The most that an exponent may be for work that touches one, and all."""

STANDSTILL_MS = 50.0


class Grown(NamedTuple):
    """How the cost of one thing grows: milliseconds of processor time by size, and the longest turn of the loop."""

    name: str
    touches_all: bool
    costs: dict[int, float]
    standstill_ms: float
    outcome: str

    @property
    def exponent(self) -> float:
        """Over all sizes for what touches one thing; over the last step, where constants weigh least, for the rest."""
        sizes = sorted(self.costs)
        if len(sizes) < 2:
            return math.nan
        low, high = sizes[-2] if self.touches_all else sizes[0], sizes[-1]
        return math.log(max(self.costs[high], 1e-3) / max(self.costs[low], 1e-3)) / math.log(high / low)

    @property
    def misses(self) -> bool:
        """Whether it grows faster than it may, or keeps the loop too long."""
        return self.exponent > (ALL if self.touches_all else ONE) or self.standstill_ms > STANDSTILL_MS


def grown(only: str = "", sizes: tuple[int, ...] = SIZES) -> tuple[list[Grown], list[str]]:
    """Measure everything whose name holds *only*; return it, steepest first, and what was not measured and why."""
    folder = Path(tempfile.mkdtemp(prefix="localyun growth "))
    found: list[Grown] = []
    left: list[str] = []
    try:
        recorded = record(folder / "one")
        cases = [case for case in (*pages(), *commands(), *operations(recorded)) if only in case.name]
        costs: dict[str, dict[int, float]] = {}
        stills: dict[str, float] = {}
        outcomes: dict[str, str] = {}
        for size in sizes if cases else ():
            for case, cost, still in _over_state(many(folder / "one" / "state", size, folder / str(size)), cases, left):
                costs.setdefault(case.name, {})[size] = cost.ms
                stills[case.name] = max(stills.get(case.name, 0.0), still)
                outcomes[case.name] = cost.outcome
        touches = {case.name: case.touches_all for case in cases}
        found += [Grown(name, touches[name], each, stills[name], outcomes[name]) for name, each in costs.items()]
        found += _worked(folder, only, sizes, left)
        left += [f"{name}: {reason}" for name, reason in recorded.unreached.items() if only in name]
    finally:
        shutil.rmtree(folder)
    return sorted(found, key=lambda each: (not each.misses, -each.exponent)), left


_FAILURES = (RuntimeError, OSError, http.client.HTTPException, subprocess.SubprocessError)


def _over_state(state: Path, cases: list[Case], left: list[str]) -> Iterator[tuple[Case, Cost, float]]:
    """Yield what each case costs over *state*, which is removed after; an emulator that has ended is started again."""
    size = state.name
    waiting = cases[::-1]
    while waiting:
        try:
            with closing(Site(state, account=ACCOUNT)) as site:
                while waiting and site.server.process.poll() is None:
                    case = waiting.pop()
                    _say(f"{size}: {case.name}")
                    try:
                        site.standstill_ms()
                        samples = [site.cost(lambda: case.act(site, number)) for number in range(case.again)]  # noqa: B023
                        least = Cost(min(each.ms for each in samples), samples[-1].outcome)
                        yield case, least, site.standstill_ms()
                    except _FAILURES as error:
                        left.append(f"{case.name} with {size}: {error!r}")
        except _FAILURES as error:
            left += [f"{case.name} with {size}: no start, {error}" for case in reversed(waiting)]
            break
    shutil.rmtree(state)


def _worked(folder: Path, only: str, sizes: tuple[int, ...], left: list[str]) -> Iterator[Grown]:
    for work in works():
        if only not in work.name:
            continue
        costs, stills = {}, 0.0
        for size in [min(size, work.most) for size in sizes]:
            _say(f"{size:,}: {work.name}")
            place = Path(tempfile.mkdtemp(dir=folder))
            try:
                costs[size], still = work.measure(place, size)
                stills = max(stills, still)
            except _FAILURES as error:
                left.append(f"{work.name} with {size:,}: {error}")
            finally:
                shutil.rmtree(place, ignore_errors=True)
        if costs:
            yield Grown(work.name, work.touches_all, costs, stills, "200")


def table(rows: list[Grown]) -> str:
    """Return the rows as a Markdown table, what misses its goal first."""
    sizes = sorted({size for row in rows for size in row.costs})
    lines = [
        "| work | touches | exponent | goal | | " + " | ".join(f"{size:,}" for size in sizes) + " | longest turn |",
        "|---|---|---|---|---|" + "---|" * (len(sizes) + 1),
    ]
    for row in rows:
        values = " | ".join(f"{row.costs[size]:.3g} ms" if size in row.costs else "-" for size in sizes)
        refused = "" if row.outcome.startswith(("2", "3")) else f" ({row.outcome})"
        lines.append(
            f"| {row.name}{refused} | {'all' if row.touches_all else 'one'} | {row.exponent:.2f} |"
            f" <= {ALL if row.touches_all else ONE} | {'**missed**' if row.misses else 'met'} |"
            f" {values} | {row.standstill_ms:.0f} ms |"
        )
    return "\n".join(lines)


def summary(rows: list[Grown], left: list[str]) -> str:
    """Return the machine, the table and what was not measured, as Markdown."""
    told = machine()
    missed = sum(row.misses for row in rows)
    head = f"{told['cpu']}, {told['cores']} cores, {told['system']}, Python {told['python']}"
    text = f"{head}; {len(rows)} measured, {missed} above a goal\n\n{table(rows)}\n"
    return text + ("\nNot measured: " + "; ".join(left) + ".\n" if left else "")


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:<70}", end="", file=sys.stderr, flush=True)
