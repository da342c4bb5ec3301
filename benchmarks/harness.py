"""Rows measured side by side: in every round each figure is taken right after its reference; medians are compared."""

import json
import os
import platform
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.commit import commit

Measure = Callable[[], float]

BEGIN, END = "<!-- {} -->\n", "<!-- end -->\n"
"""What a table stands between on a page, with its name: a page may have several."""


@dataclass(slots=True, kw_only=True)
class Row:
    """One figure.

    ``measure`` and ``reference`` return one sample in ``unit`` each. ``goal`` is the ratio to the reference (or the
    bare value where there is none) that should not be passed; ``at_least`` turns it round. ``floor`` measures the least
    that a program with the same guarantees takes, ``floor_reference`` what that is compared with where it is not the
    figure's own reference.
    """

    name: str
    unit: str
    measure: Measure
    goal: float | None = None
    at_least: bool = False
    reference: Measure | None = None
    reference_name: str = "-"
    floor: Measure | None = None
    floor_reference: Measure | None = None
    samples: list[float] = field(default_factory=list)
    reference_samples: list[float] = field(default_factory=list)
    floor_samples: list[float] = field(default_factory=list)
    floor_reference_samples: list[float] = field(default_factory=list)

    def sample(self) -> None:
        """Take the reference, the floor and the figure once, one after the other."""
        for measure, samples in (
            (self.reference, self.reference_samples),
            (self.floor_reference, self.floor_reference_samples),
            (self.floor, self.floor_samples),
        ):
            if measure is not None:
                samples.append(measure())
        self.samples.append(self.measure())

    @property
    def value(self) -> float:
        """The median of the figure."""
        return statistics.median(self.samples)

    @property
    def compared(self) -> float:
        """The median ratio to the reference, or the value where there is no reference."""
        return _ratio(self.samples, self.reference_samples) if self.reference_samples else self.value

    @property
    def above_floor(self) -> float:
        """The median ratio of the figure to its floor."""
        return _ratio(self.samples, self.floor_samples)

    @property
    def least(self) -> str:
        """The floor, and in brackets what `compared` would be at the floor."""
        if not self.floor_samples:
            return "-"
        reference = self.floor_reference_samples or self.reference_samples
        ratio = f" ({_ratio(self.floor_samples, reference):.2f}x)" if reference else ""
        return f"{statistics.median(self.floor_samples):.3g} {self.unit}{ratio}"

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None without a goal."""
        if self.goal is None:
            return None
        return self.compared >= self.goal if self.at_least else self.compared <= self.goal


def _ratio(samples: list[float], others: list[float]) -> float:
    return statistics.median(own / other for own, other in zip(samples, others, strict=True))


def run(rows: list[Row], rounds: int) -> None:
    """Take *rounds* samples of every row, round by round, so that a slow moment of the machine hits all alike."""
    for number in range(rounds):
        for row in rows:
            if sys.stderr.isatty():
                print(f"\rround {number + 1}/{rounds}: {row.name:<60}", end="", file=sys.stderr, flush=True)
            row.sample()
    if sys.stderr.isatty():
        print("\r" + " " * 80 + "\r", end="", file=sys.stderr)


def table(rows: list[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = [
        "| figure | median | spread | reference | median | ratio | goal | | floor | above it |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        spread = f"{min(row.samples):.3g} - {max(row.samples):.3g}"
        reference = f"{statistics.median(row.reference_samples):.3g} {row.unit}" if row.reference_samples else "-"
        ratio = f"{row.compared:.2f}x" if row.reference_samples else "-"
        bound = "-" if row.goal is None else f"{'>=' if row.at_least else '<='} {row.goal:g}"
        bound += "x" if row.goal is not None and row.reference_samples else ""
        verdict = {None: "", True: "met", False: "**missed**"}[row.met]
        above = f"{row.above_floor:.2f}x" if row.floor_samples else "-"
        lines.append(
            f"| {row.name} | {row.value:.3g} {row.unit} | {spread} | {row.reference_name} | {reference} | {ratio} "
            f"| {bound} | {verdict} | {row.least} | {above} |"
        )
    return "\n".join(lines)


def machine() -> dict[str, Any]:
    """Return what the figures depend on."""
    model = platform.processor()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="ascii").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass  # not Linux: the platform module's word has to do
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
        "commit": commit(),
    }


def origin() -> str:
    """Return what the figures depend on, in one line."""
    told = machine()
    return f"{told['cpu']}, {told['cores']} cores, {told['system']}, Python {told['python']}, commit {told['commit']}"


def summary(rows: list[Row]) -> str:
    """Return the origin, the number of rounds and the table, as Markdown."""
    rounds = max(len(row.samples) for row in rows)
    return f"{origin()}; rounds: {rounds}\n\n{table(rows)}\n"


def write_between(path: Path, table: str, told: str) -> None:
    """Write a text between the marks of a *table* on a page that has them, else as the whole file."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    head, mark, rest = text.partition(BEGIN.format(table))
    _, end, tail = rest.partition(END)
    path.write_text(f"{head}{mark}{told}{end}{tail}" if end else told, encoding="utf-8")


def write_json(path: Path, rows: list[Row]) -> None:
    """Write every sample, for comparing runs."""
    content = {
        "machine": machine(),
        "rows": [
            {
                "name": row.name,
                "unit": row.unit,
                "samples": row.samples,
                "reference": row.reference_name,
                "reference_samples": row.reference_samples,
                "floor_samples": row.floor_samples,
                "floor_reference_samples": row.floor_reference_samples,
                "goal": row.goal,
                "met": row.met,
            }
            for row in rows
        ],
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="ascii")
