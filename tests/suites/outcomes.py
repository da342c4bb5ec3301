"""How the cases of a suite ended: read from what its runner writes, printed as a table."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

PASSED, FAILED, SKIPPED, EXPECTED = "passed", "FAILED", "skipped", "cannot"


class Case(NamedTuple):
    """One case: ``outcome`` is one of the four words above, ``detail`` the first line of what went wrong."""

    name: str
    outcome: str
    detail: str = ""


def judged(cases: Iterable[Case], cannot: Mapping[str, str]) -> list[Case]:
    """Return *cases* with those that cannot pass marked with the reason *cannot* has for them."""
    return [
        case._replace(outcome=EXPECTED, detail=cannot[case.name])
        if case.outcome == FAILED and case.name in cannot
        else case
        for case in cases
    ]


def table(cases: Iterable[Case]) -> str:
    """Return a line per case and a last line with the totals."""
    rows = sorted(cases)
    width = max((len(case.name) for case in rows), default=0)
    lines = [f"{case.outcome:8}{case.name:{width}}  {case.detail}".rstrip() for case in rows]
    counted = Counter(case.outcome for case in rows)
    totals = ", ".join(
        f"{counted[word]} {word.lower()}" for word in (PASSED, FAILED, EXPECTED, SKIPPED) if counted[word]
    )
    return "\n".join([*lines, f"{counted[PASSED]} of {len(rows)} passed ({totals or 'no case was run'})"])


def read_junit(reports: Iterable[Path]) -> list[Case]:
    """Read the reports that pytest, PHPUnit and Maven write."""
    cases = []
    for report in reports:
        for element in ET.parse(report).iter("testcase"):
            bad = [part for kind in ("failure", "error") for part in element.findall(kind)]
            skipped = element.find("skipped") is not None
            name = f"{_owner(element)}.{element.get('name')}"
            detail = _first_line(bad[0].get("message") or bad[0].text or bad[0].get("type") or "") if bad else ""
            cases.append(Case(name, FAILED if bad else SKIPPED if skipped else PASSED, detail))
    return _distinct(cases)


def _owner(element: ET.Element) -> str:
    return (element.get("classname") or element.get("class") or "").rpartition(".")[2]


def _distinct(cases: list[Case]) -> list[Case]:
    """Return one case for each name; what was torn down badly counts as failed."""
    found: dict[str, Case] = {}
    for case in cases:
        if case.name not in found or case.outcome == FAILED:
            found[case.name] = case
    return list(found.values())


def read_go(output: str) -> list[Case]:
    """Read the lines of ``go test -json``; a test that only holds others is left out."""
    outcomes: dict[str, str] = {}
    said: dict[str, list[str]] = {}
    for line in output.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        name = event.get("Test")
        if not name:
            continue
        match event.get("Action"):
            case "run":
                outcomes[name] = FAILED  # one that never ends is not mentioned again
            case "pass" | "fail" | "skip" as word:
                outcomes[name] = {"pass": PASSED, "fail": FAILED, "skip": SKIPPED}[word]
            case "output":
                said.setdefault(name, []).append(event.get("Output", ""))
    holders = {name.rpartition("/")[0] for name in outcomes}
    return [
        Case(name, outcome, "" if outcome == PASSED else _complaint(said.get(name, [])))
        for name, outcome in outcomes.items()
        if name not in holders
    ]


def read_mocha(report: Path) -> list[Case]:
    """Read what the ``json`` reporter of mocha writes."""
    found = json.loads(report.read_text(encoding="utf-8"))
    pending = {test["fullTitle"] for test in found["pending"]}
    cases = []
    for test in [*found["tests"], *found["failures"]]:
        error = test.get("err") or {}
        outcome = SKIPPED if test["fullTitle"] in pending else FAILED if error else PASSED
        cases.append(Case(test["fullTitle"], outcome, _first_line(str(error.get("message", "")))))
    return _distinct(cases)


def _complaint(lines: list[str]) -> str:
    words = ("Error:", "panic:", "expected", "actual")
    return _first_line(" ".join(line.strip() for line in lines if any(word in line for word in words)))


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[0][:200] if lines else ""
