"""``flow test`` and ``flow cases``: test cases of flows, run here without an emulator, and their coverage."""

import json
import os
import re
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from emulator.cli.output import (
    DONE,
    FAILED,
    WRONG_USAGE,
    CommandFailed,
    _,
    complain,
    enumerated,
    reason_of,
    say,
    say_json,
    unreadable,
    wants_json,
)
from emulator.cli.parameters import parameters_of
from emulator.config import Settings
from emulator.kernel.clock import SystemClock
from emulator.kernel.phrases import said

if TYPE_CHECKING:
    from collections import Counter

    from emulator.services.workflow.rehearsal.cases import Suite
    from emulator.services.workflow.rehearsal.coverage import Coverage, Item

SUFFIXES = (".test.yaml", ".test.yml", ".test.json")
"""Suffixes of files of cases, for a folder."""

NO_CASES = 5
"""The exit code when no case was run, as pytest's."""

_OUTSIDE_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML cannot contain, not even escaped."""

MANY = 2000
"""The number of cases from which further processes are started."""


class Unusable(CommandFailed):
    """A file of cases that cannot be used."""

    exit_code = WRONG_USAGE


class Ran(NamedTuple):
    """The result of a case, in a form that can be sent between processes."""

    name: str
    line: int
    reasons: list[str]
    actual: dict[str, Any]
    spent_s: float
    taken: "Counter[Item]"


def test(arguments: Namespace, settings: Settings) -> int:
    """Run cases; the exit code is 0 when all pass, 1 when not, 2 for an invalid file, 5 without any case."""
    began = SystemClock().monotonic()
    parameters = parameters_of(arguments.parameter)
    within = Path(arguments.within) if arguments.within else None
    files = _files(arguments.files)
    if not files:
        complain(_("there is no file *.test.yaml in {folders}", folders=", ".join(arguments.files or ["."])))
    suites = [_read(file, parameters, within) for file in files]
    for doubt in dict.fromkeys(doubt for suite in suites for doubt in suite.doubts):
        complain(said(doubt, _))
    results: list[tuple[Suite, Coverage, list[Ran]]] = []
    for suite in suites:
        chosen = [
            number
            for number, case in enumerate(suite.cases)
            if (not arguments.name or any(text in case.name for text in arguments.name))
            and (not arguments.tag or not set(arguments.tag).isdisjoint(case.tags))
        ]
        coverage, ran = _run(suite, chosen, arguments.jobs or os.cpu_count() or 1)
        results.append((suite, coverage, ran))
    failed = sum(bool(each.reasons) for _suite, _coverage, ran in results for each in ran)
    number = sum(len(ran) for _suite, _coverage, ran in results)
    left = failed
    if arguments.update and failed:
        left = sum(_update(suite, ran, parameters) for suite, _coverage, ran in results)
    if arguments.junit:
        _write(Path(arguments.junit), _junit(results))
    if arguments.coverage == "html":
        _write(Path("coverage.html"), _html(results))
    if wants_json(arguments):
        say_json(_as_json(results))
    else:
        _tell(results, with_coverage=arguments.coverage is not None)
        came = _("1 case") if number == 1 else _("{number} cases", number=number)
        seconds = f"{SystemClock().monotonic() - began:.2f}"
        failures = _("{failed} failed", failed=left)
        if failed > left:
            failures = _("{updated} updated, {failed} failed", updated=failed - left, failed=left)
        say(_("{cases}, {failures}, in {seconds} s", cases=came, failures=failures, seconds=seconds))
    if not number:
        return NO_CASES
    return FAILED if left or _is_below(results, arguments.fail_under) else DONE


def _is_below(results: "Sequence[tuple[Suite, Coverage, list[Ran]]]", limit: float | None) -> bool:
    if limit is None:
        return False
    below = [(suite, coverage) for suite, coverage, _ran in results if coverage.percentage < limit]
    for suite, coverage in below:
        part = f"{coverage.percentage:.1f}"
        complain(_("{flow}: coverage is {part} %, below {limit}", flow=suite.flow, part=part, limit=limit))
    return bool(below)


def _files(names: Sequence[str]) -> list[Path]:
    found: list[Path] = []
    for name in names or ["."]:
        path = Path(name)
        if path.is_dir():
            found += sorted(each for each in path.rglob("*.test.*") if each.name.endswith(SUFFIXES))
        else:
            found.append(path)
    return found


def _read(file: Path, parameters: Mapping[str, str], within: Path | None = None) -> "Suite":
    from emulator.services.workflow.rehearsal.cases import read_suite  # imports the expression languages
    from emulator.services.workflow.rehearsal.documents import CaseError

    try:
        return read_suite(file, parameters, within)
    except CaseError as error:
        raise Unusable(said(str(error), _)) from error


def _run(suite: "Suite", chosen: list[int], jobs: int) -> "tuple[Coverage, list[Ran]]":
    from emulator.services.workflow.rehearsal.coverage import Coverage

    coverage = Coverage(suite.program)
    if len(chosen) < MANY or jobs < 2:
        ran = _run_some(suite, chosen)
    else:
        from concurrent.futures import ProcessPoolExecutor  # only for many cases

        size = -(-len(chosen) // jobs)
        parts = [chosen[at : at + size] for at in range(0, len(chosen), size)]
        with ProcessPoolExecutor(len(parts)) as pool:
            ran = [
                each
                for part in pool.map(_run_of_file, [suite.file] * len(parts), [suite.parameters] * len(parts), parts)
                for each in part
            ]
    for each in ran:
        coverage.add(each.taken)
    return coverage, ran


def _run_of_file(file: Path, parameters: Mapping[str, str], chosen: list[int]) -> list[Ran]:
    return _run_some(_read(file, parameters), chosen)


def _run_some(suite: "Suite", chosen: list[int]) -> list[Ran]:
    from emulator.services.workflow.rehearsal.cases import run_case
    from emulator.services.workflow.rehearsal.coverage import Coverage

    coverage = Coverage(suite.program)
    ran = []
    for number in chosen:
        began = SystemClock().monotonic()
        outcome = run_case(suite, suite.cases[number], coverage)
        case = outcome.case
        spent = SystemClock().monotonic() - began
        ran.append(Ran(case.name, case.line, outcome.reasons, outcome.actual, spent, outcome.taken))
    return ran


def _tell(results: "Iterable[tuple[Suite, Coverage, list[Ran]]]", *, with_coverage: bool) -> None:
    for suite, coverage, ran in results:
        for each in ran:
            if each.reasons:
                say(f"{suite.file}:{each.line}: {each.name}")
                for reason in each.reasons:
                    say(f"    {said(reason, _)}")
        if with_coverage:
            for line in covered_lines(str(suite.flow), coverage):
                say(line)


def covered_lines(flow: str, coverage: "Coverage") -> Iterator[str]:
    """Yield lines about the covered parts of a flow, by kind, and about those that are not."""
    from emulator.services.workflow.rehearsal.coverage import KINDS

    counts = [(kind, *coverage.counts(kind)) for kind in KINDS]
    shown = enumerated(f"{_(kind)} {taken}/{there}" for kind, taken, there in counts if there)
    yield _("{flow}: {part} % ({shown})", flow=flow, part=f"{coverage.percentage:.1f}", shown=shown)
    for item in coverage.missing():
        yield _("    not taken: {kind}, {what}", kind=_(item.kind), what=item.said(_))


def _as_json(results: "Iterable[tuple[Suite, Coverage, list[Ran]]]") -> list[dict[str, Any]]:
    return [
        {
            "file": str(suite.file),
            "flow": str(suite.flow),
            "cases": [
                {"name": each.name, "line": each.line, "passed": not each.reasons, "reasons": each.reasons,
                 "actual": {**each.actual, "lasts": f"{each.actual['lasts']}ms"}}
                for each in ran
            ],
            "coverage": {
                "percentage": round(coverage.percentage, 1),
                "missing": [item._asdict() for item in coverage.missing()],
            },
        }
        for suite, coverage, ran in results
    ]  # fmt: skip


def _junit(results: "Sequence[tuple[Suite, Coverage, list[Ran]]]") -> str:
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<testsuites>"]
    for suite, _coverage, ran in results:
        failed = sum(bool(each.reasons) for each in ran)
        spent = sum(each.spent_s for each in ran)
        name = quoteattr(str(suite.file))
        lines.append(f'<testsuite name={name} tests="{len(ran)}" failures="{failed}" errors="0" time="{spent:.3f}">')
        for each in ran:
            called = quoteattr(each.name)
            head = f'<testcase classname={name} name={called} line="{each.line}" time="{each.spent_s:.4f}"'
            if not each.reasons:
                lines.append(f"{head}/>")
                continue
            text = escape("\n".join(each.reasons))
            lines.append(f"{head}><failure message={quoteattr(each.reasons[0])}>{text}</failure></testcase>")
        lines.append("</testsuite>")
    return _OUTSIDE_XML.sub("\N{REPLACEMENT CHARACTER}", "\n".join([*lines, "</testsuites>", ""]))


def _html(results: "Sequence[tuple[Suite, Coverage, list[Ran]]]") -> str:
    from emulator.drawing.covered import page

    return page("coverage", [(str(suite.flow), suite.program, coverage) for suite, coverage, _ran in results])


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandFailed(_("{file} cannot be written: {reason}", file=path, reason=reason_of(error))) from error


def _update(suite: "Suite", ran: list[Ran], parameters: Mapping[str, str]) -> int:
    """Replace the expected values of failed cases by the actual ones.

    Only members that a case expects are replaced. Returns how many cases still fail, such as one without expectations
    that does not succeed.
    """
    from emulator.services.workflow.rehearsal.updating import updated

    failed = {each.line: each.actual for each in ran if each.reasons and each.actual}
    if not failed:
        return 0
    before = suite.file.read_text(encoding="utf-8")
    text = updated(suite, failed)
    if text != before:
        _write(suite.file, text)
        say(_("wrote {file}", file=suite.file))
    again = _read(suite.file, parameters)
    names = {each.name for each in ran if each.reasons}
    left = _run_some(again, [number for number, case in enumerate(again.cases) if case.name in names])
    for each in left:
        if each.reasons:
            complain(_("{file}:{line}: {name} still fails", file=suite.file, line=each.line, name=each.name))
    return sum(bool(each.reasons) for each in left)


def cases(arguments: Namespace, settings: Settings) -> int:
    """Print cases for the parts of a flow that are not covered yet, or write them to a file."""
    from emulator.services.workflow.engine.language import DefinitionError
    from emulator.services.workflow.rehearsal.cases import load_program
    from emulator.services.workflow.rehearsal.proposals import propose

    path = Path(arguments.file)
    parameters: Mapping[str, str] = parameters_of(arguments.parameter)
    covered: list[Any] = []
    if path.name.endswith(SUFFIXES):
        suite = _read(path, parameters)
        program, definition, parameters = suite.program, suite.flow, suite.parameters
        covered = [each.taken for each in _run_some(suite, list(range(len(suite.cases))))]
    else:
        definition = path
        try:
            program = load_program(path, parameters)
        except (OSError, UnicodeDecodeError) as error:
            raise Unusable(unreadable(path, error)) from error
        except DefinitionError as error:
            raise Unusable(f"{path}:{error.line}:{error.column}: {said(error.message, _)}") from error
    proposed, missing = propose(program, covered)
    if wants_json(arguments):
        say_json({"cases": proposed, "missing": [item._asdict() for item in missing]})
        return DONE
    import yaml  # slow to import, and rarely needed

    folder = Path(arguments.output).parent if arguments.output else Path()
    given = {"parameters": dict(parameters)} if parameters else {}
    document = {"flow": Path(os.path.relpath(definition, folder)).as_posix(), **given, "cases": proposed}
    text: str = yaml.safe_dump(json.loads(json.dumps(document)), sort_keys=False, allow_unicode=True, width=120)
    text += "".join(f"# no case was found for: {item.kind}, {item.text}\n" for item in missing)
    if arguments.output:
        _write(Path(arguments.output), text)
        say(_("wrote {file}", file=arguments.output))
    else:
        say(text.rstrip("\n"))
    return DONE
