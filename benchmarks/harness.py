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

Measure = Callable[[], float]


@dataclass(slots=True, kw_only=True)
class Row:
    """One figure.

    ``measure`` and ``reference`` return one sample in ``unit`` each. ``goal`` is the ratio to the reference (or the
    bare value where there is none) that should not be passed; ``at_least`` turns it round.
    """

    name: str
    unit: str
    measure: Measure
    goal: float | None = None
    at_least: bool = False
    reference: Measure | None = None
    reference_name: str = "-"
    samples: list[float] = field(default_factory=list)
    reference_samples: list[float] = field(default_factory=list)

    def sample(self) -> None:
        """Take the reference and the figure once, one after the other."""
        if self.reference is not None:
            self.reference_samples.append(self.reference())
        self.samples.append(self.measure())

    @property
    def value(self) -> float:
        """The median of the figure."""
        return statistics.median(self.samples)

    @property
    def compared(self) -> float:
        """The median ratio to the reference, or the value where there is no reference."""
        if not self.reference_samples:
            return self.value
        return statistics.median(own / other for own, other in zip(self.samples, self.reference_samples, strict=True))

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None without a goal."""
        if self.goal is None:
            return None
        return self.compared >= self.goal if self.at_least else self.compared <= self.goal


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
        "| figure | median | spread | reference | median | ratio | goal | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        spread = f"{min(row.samples):.3g} - {max(row.samples):.3g}"
        reference = f"{statistics.median(row.reference_samples):.3g} {row.unit}" if row.reference_samples else "-"
        ratio = f"{row.compared:.2f}x" if row.reference_samples else "-"
        bound = "-" if row.goal is None else f"{'>=' if row.at_least else '<='} {row.goal:g}"
        bound += "x" if row.goal is not None and row.reference_samples else ""
        verdict = {None: "", True: "met", False: "**missed**"}[row.met]
        lines.append(
            f"| {row.name} | {row.value:.3g} {row.unit} | {spread} | {row.reference_name} | {reference} | {ratio} "
            f"| {bound} | {verdict} |"
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
    }


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
                "goal": row.goal,
                "met": row.met,
            }
            for row in rows
        ],
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="ascii")
