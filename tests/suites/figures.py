"""What the last whole runs of the suites came to: ``dev.py suites NAME PATH --record`` writes it, pages show it."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from tests.commit import commit
from tests.suites.cannot import CANNOT
from tests.suites.makers import SUITES
from tests.suites.outcomes import EXPECTED, FAILED, PASSED, SKIPPED, Case

FILE = Path(__file__).with_name("figures.json")
"""Suite -> ``date`` of the run, ``commit`` of localyun, and the number of its cases by outcome."""


def record(name: str, cases: Iterable[Case]) -> None:
    """Keep the figures of a whole run of today in place of the earlier ones."""
    figures = json.loads(FILE.read_text(encoding="utf-8"))
    outcomes = dict(sorted(Counter(case.outcome for case in cases).items()))
    figures[name] = {"date": datetime.now(UTC).date().isoformat(), "commit": commit(), **outcomes}
    FILE.write_text(json.dumps(figures, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def markdown(say: Callable[[str], str] = str) -> str:
    """Return the table of the suites: which, when, how many cases passed, and why the others did not.

    *say* returns a text in the language of the page.
    """
    return "\n".join([*_lines(json.loads(FILE.read_text(encoding="utf-8")), say), ""])


def _lines(figures: dict[str, dict[str, str | int]], say: Callable[[str], str]) -> Iterator[str]:
    yield say("| suite | `dev.py suites` | date | passed | not passed |")
    yield "|---|---|---|---|---|"
    for name, found in sorted(figures.items()):
        number = {word: int(found.get(word, 0)) for word in (PASSED, FAILED, EXPECTED, SKIPPED)}
        reasons = Counter(CANNOT.get(name, {}).values())
        reasons += Counter({word.lower(): number[word] for word in (FAILED, SKIPPED)})
        others = say(", ").join(f"{say(reason)} ({times})" for reason, times in reasons.items())
        repository = SUITES[name].repository
        suite = f"{say(repository) if ' ' in repository else repository} {SUITES[name].commit}".strip()
        passed = say("{} of {}").format(number[PASSED], sum(number.values()))
        when = say(", ").join(str(found[fact]) for fact in ("date", "commit") if fact in found)
        yield f"| {suite} | `{name}` | {when} | {passed} | {others} |"
