"""A pytest of its own, as a user's project has it: in its folder, without the settings of the run that starts it."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests import commands

_ELSEWHERE = ("cacheprovider", "anyio", "hypothesispytest")
"""Plugins that a project need not have; two of them bring what takes twice as long to load as pytest."""


def environment() -> dict[str, str]:
    """Return the variables of this process without those of localyun and of pytest."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("LOCALYUN_", "PYTEST_"))}


def run_pytest(folder: Path, *options: object, timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run the tests of *folder*, whose emulators are forked."""
    without = [word for name in _ELSEWHERE for word in ("-p", f"no:{name}")]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *FORKED, *without, *options],
        cwd=folder, env=environment() | forking(), capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip


FORKED = ("-p", "tests.knocking")
"""Words for a pytest of its own whose emulators are forked from the process of this one."""


def forking() -> dict[str, str]:
    """Return the variables of a pytest with these words."""
    return {"TYPED": shlex.join(commands.typed())}


def outcomes(printed: str) -> dict[str, int]:
    """Return how many tests had which outcome, by the closing line, whose warnings are no outcome."""
    closing = printed.rstrip().rpartition("\n")[2]
    counted = re.findall(r"(\d+) (failed|passed|skipped|deselected|xfailed|xpassed|errors?)\b", closing)
    assert counted, printed
    return {name: int(number) for number, name in counted}


SUMMARY = "-rfEpxX"
"""The option of pytest that has every test named with its outcome at the end, for `outcomes_by_file`."""


def outcomes_by_file(printed: str) -> dict[str, dict[str, int]]:
    """Return how many tests of each file had which outcome, by a summary of all tests (`SUMMARY`)."""
    counted: dict[str, dict[str, int]] = {}
    for outcome, file in re.findall(r"^(PASSED|FAILED|ERROR|XFAIL|XPASS) ([^\s:]+)::", printed, re.MULTILINE):
        of_file = counted.setdefault(file, {})
        of_file[outcome.lower()] = of_file.get(outcome.lower(), 0) + 1
    return counted


def failure(printed: str, test: str) -> str:
    """Return what is printed about the failure of a test, without that of others."""
    found = re.search(rf"^_+ {re.escape(test)} _+$(.*?)(?=^_+ \S+ _+$|^=+ .* =+$)", printed, re.MULTILINE | re.DOTALL)
    assert found, printed
    return found[1]
