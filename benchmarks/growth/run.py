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
from benchmarks.growth.work import Work, works
from benchmarks.harness import origin

SIZES = (100, 1_000, 10_000)
ONE, ALL = 0.1, 1.1
"""The most that an exponent may be for work that touches one, and all."""

STANDSTILL_MS = 50.0

MISSED, UNCLEAR, MET = _VERDICTS = "**missed**", "unclear", "met"


class Grown(NamedTuple):
    """How the cost of one thing grows: milliseconds of processor time by size, each sample, and the longest turn."""

    name: str
    touches_all: bool
    samples: dict[int, list[float]]
    standstill_ms: float
    outcome: str

    @property
    def costs(self) -> dict[int, float]:
        """The least sample of each size."""
        return {size: min(each) for size, each in self.samples.items()}

    @property
    def exponent(self) -> float:
        """Over all sizes for what touches one thing; over the last step, where constants weigh least, for the rest."""
        return self._exponent(0.0)

    @property
    def verdict(self) -> str:
        """Whether it grows faster than it may, or keeps the loop too long.

        It is *unclear* where the next best samples lie as far from the best as the growth that is too much.
        """
        if self.standstill_ms > STANDSTILL_MS or self._exponent(self._noise_ms) > self.goal:
            return MISSED
        return UNCLEAR if self.exponent > self.goal else MET

    @property
    def goal(self) -> float:
        """The most that the exponent may be."""
        return ALL if self.touches_all else ONE

    @property
    def _ends(self) -> tuple[int, int]:
        sizes = sorted(self.samples)
        return sizes[-2] if self.touches_all else sizes[0], sizes[-1]

    @property
    def _noise_ms(self) -> float:
        """How far the second least sample is from the least, at the worse end."""
        ends = (sorted(self.samples[size])[:2] for size in self._ends) if len(self.samples) > 1 else ()
        return max((each[-1] - each[0] for each in ends), default=0.0)

    def _exponent(self, noise_ms: float) -> float:
        """Return what the exponent is at least when both ends may be wrong by *noise_ms*."""
        if len(self.samples) < 2:
            return math.nan
        low, high = self._ends
        most, least = self.costs[low] + noise_ms, self.costs[high] - noise_ms
        return math.log(max(least, 1e-3) / max(most, 1e-3)) / math.log(high / low)


def grown(only: str = "", sizes: tuple[int, ...] = SIZES) -> tuple[list[Grown], list[str]]:
    """Measure everything whose name holds *only*; return it, steepest first, and what was not measured and why.

    What misses a goal is measured once more, over states of its own; of each size the least counts.
    """
    folder = Path(tempfile.mkdtemp(prefix="localyun growth "))
    left: list[str] = []
    try:
        recorded = record(folder / "one")
        cases = [case for case in (*pages(), *commands(), *operations(recorded)) if only in case.name]
        some = [work for work in works() if only in work.name]
        found = {row.name: row for row in _measured(folder, cases, some, sizes, left)}
        missed = {name for name, row in found.items() if row.verdict != MET}
        again = [case for case in cases if case.name in missed], [work for work in some if work.name in missed]
        for row in _measured(folder, *again, sizes, left):
            found[row.name] = _joined(found[row.name], row)
        left += [f"{name}: {reason}" for name, reason in recorded.unreached.items() if only in name]
    finally:
        shutil.rmtree(folder)
    return sorted(found.values(), key=lambda each: (_VERDICTS.index(each.verdict), -each.exponent)), left


def _joined(first: Grown, second: Grown) -> Grown:
    samples = {size: each + second.samples.get(size, []) for size, each in first.samples.items()}
    return first._replace(samples=samples, standstill_ms=min(first.standstill_ms, second.standstill_ms))


def _measured(
    folder: Path, cases: list[Case], some: list[Work], sizes: tuple[int, ...], left: list[str]
) -> Iterator[Grown]:
    samples: dict[str, dict[int, list[float]]] = {}
    stills: dict[str, float] = {}
    outcomes: dict[str, str] = {}
    for size in sizes if cases else ():
        for case, costs, still in _over_state(many(folder / "one" / "state", size, folder / str(size)), cases, left):
            samples.setdefault(case.name, {})[size] = [each.ms for each in costs]
            stills[case.name] = max(stills.get(case.name, 0.0), still)
            outcomes[case.name] = costs[-1].outcome
    touches = {case.name: case.touches_all for case in cases}
    yield from (Grown(name, touches[name], each, stills[name], outcomes[name]) for name, each in samples.items())
    yield from _worked(folder, some, sizes, left)


_FAILURES = (RuntimeError, OSError, http.client.HTTPException, subprocess.SubprocessError)


def _over_state(state: Path, cases: list[Case], left: list[str]) -> Iterator[tuple[Case, list[Cost], float]]:
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
                        yield case, samples, site.standstill_ms()
                    except _FAILURES as error:
                        left.append(f"{case.name} with {size}: {error!r}")
        except _FAILURES as error:
            left += [f"{case.name} with {size}: no start, {error}" for case in reversed(waiting)]
            break
    shutil.rmtree(state)


def _worked(folder: Path, some: list[Work], sizes: tuple[int, ...], left: list[str]) -> Iterator[Grown]:
    for work in some:
        samples: dict[int, list[float]] = {}
        stills = 0.0
        for size in [min(size, work.most) for size in sizes]:
            _say(f"{size:,}: {work.name}")
            place = Path(tempfile.mkdtemp(dir=folder))
            try:
                cost, still = work.measure(place, size)
                samples[size] = [cost]
                stills = max(stills, still)
            except _FAILURES as error:
                left.append(f"{work.name} with {size:,}: {error}")
            finally:
                shutil.rmtree(place, ignore_errors=True)
        if samples:
            yield Grown(work.name, work.touches_all, samples, stills, "200")


def table(rows: list[Grown]) -> str:
    """Return the rows as a Markdown table, what misses its goal first."""
    sizes = sorted({size for row in rows for size in row.samples})
    lines = [
        "| work | touches | exponent | goal | | " + " | ".join(f"{size:,}" for size in sizes) + " | longest turn |",
        "|---|---|---|---|---|" + "---|" * (len(sizes) + 1),
    ]
    for row in rows:
        values = " | ".join(f"{row.costs[size]:.3g} ms" if size in row.costs else "-" for size in sizes)
        refused = "" if row.outcome.startswith(("2", "3")) else f" ({row.outcome})"
        lines.append(
            f"| {row.name}{refused} | {'all' if row.touches_all else 'one'} | {row.exponent:.2f} |"
            f" <= {row.goal} | {row.verdict} |"
            f" {values} | {row.standstill_ms:.0f} ms |"
        )
    return "\n".join(lines)


def summary(rows: list[Grown], left: list[str]) -> str:
    """Return the origin, the table and what was not measured, as Markdown."""
    missed, unclear = (sum(row.verdict == each for row in rows) for each in (MISSED, UNCLEAR))
    text = f"{origin()}; {len(rows)} measured, {missed} above a goal, {unclear} unclear\n\n{table(rows)}\n"
    return text + ("\nNot measured: " + "; ".join(left) + ".\n" if left else "")


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:<70}", end="", file=sys.stderr, flush=True)
