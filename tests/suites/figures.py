"""What the last whole runs of the suites came to: ``dev.py suites NAME PATH --record`` writes it, pages show it."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from tests.suites.cannot import CANNOT
from tests.suites.makers import SUITES
from tests.suites.outcomes import EXPECTED, FAILED, PASSED, SKIPPED, Case

FILE = Path(__file__).with_name("figures.json")
"""Suite -> ``date`` of the run, and the number of its cases by outcome."""


def record(name: str, cases: Iterable[Case]) -> None:
    """Keep the figures of a whole run of today in place of the earlier ones."""
    figures = json.loads(FILE.read_text(encoding="utf-8"))
    outcomes = dict(sorted(Counter(case.outcome for case in cases).items()))
    figures[name] = {"date": datetime.now(UTC).date().isoformat(), **outcomes}
    FILE.write_text(json.dumps(figures, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def markdown() -> str:
    """Return the table of the suites: which, when, how many cases passed, and why the others did not."""
    return "\n".join([*_lines(json.loads(FILE.read_text(encoding="utf-8"))), ""])


def _lines(figures: dict[str, dict[str, str | int]]) -> Iterator[str]:
    yield "| suite | `dev.py suites` | run on | cases passed | the others |"
    yield "|---|---|---|---|---|"
    for name, found in sorted(figures.items()):
        number = {word: int(found.get(word, 0)) for word in (PASSED, FAILED, EXPECTED, SKIPPED)}
        reasons = [f"{times} {reason}" for reason, times in Counter(CANNOT.get(name, {}).values()).items()]
        reasons += [f"{number[word]} {word.lower()}" for word in (FAILED, SKIPPED) if number[word]]
        suite = f"{SUITES[name].repository} {SUITES[name].commit}".strip()
        passed = f"{number[PASSED]} of {sum(number.values())}"
        yield f"| {suite} | `{name}` | {found['date']} | {passed} | {', '.join(reasons)} |"
