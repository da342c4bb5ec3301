"""Run a suite of an SDK's maker against an emulator: ``python3 dev.py suites NAME PATH [--only PATTERN | --record]``.

PATH is a checkout that is already there; nothing is fetched. The suite runs in a scratch copy of it.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.suites.cannot import CANNOT
from tests.suites.figures import record
from tests.suites.makers import SUITES, Suite
from tests.suites.outcomes import FAILED, judged, table
from tests.suites.site import running


def main(arguments: list[str]) -> int:
    """Run one suite and print its table; 1 when a case has failed that can pass, 2 when it could not be run."""
    parser = argparse.ArgumentParser(prog="dev.py suites", description="Run a suite of an SDK's maker.")
    parser.add_argument("name", choices=sorted(SUITES), help="which suite")
    parser.add_argument("path", type=Path, help="a checkout of its repository, with what it needs installed in it")
    parser.add_argument("--only", default="", metavar="PATTERN", help="run these cases, in the words of its runner")
    parser.add_argument("--record", action="store_true", help="keep the figures of the run for the documentation")
    given = parser.parse_args(arguments)
    if given.record and given.only:
        parser.error("--record is for whole runs")
    suite = SUITES[given.name]
    complaint = missing(suite, given.path)
    if complaint:
        print(f"dev.py suites: {complaint}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="suite-") as folder, running(suite.settings) as emulator:
        copy = Path(folder) / "copy"
        shutil.copytree(given.path, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", "target"))
        cases = judged(suite.run(emulator, copy, given.only), CANNOT.get(given.name, {}))
    print(table(cases))
    if given.record and cases:
        record(given.name, cases)
    return int(not cases or any(case.outcome == FAILED for case in cases))


def missing(suite: Suite, path: Path) -> str:
    """Return what is not there that *suite* needs, empty when it can be run."""
    if not (path / suite.marker).exists():
        return f"{path} is no checkout of {suite.repository}: it has no {suite.marker}"
    absent = [tool for tool in suite.tools if shutil.which(tool) is None]
    if suite.installed and not any((path / each).exists() for each in suite.installed):
        absent.append(" or ".join(suite.installed))
    return f"{', '.join(absent)} is not there; the suite needs: {suite.before}" if absent else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
