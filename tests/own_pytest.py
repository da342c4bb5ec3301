"""A pytest of its own, as a user's project has it: in its folder, without the settings of the run that starts it.

It is forked from a process that has loaded pytest and the kit, and so is the emulator that it starts; its workers and
what they start are not.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from _pytest.config import default_plugins

from tests import commands

_ELSEWHERE = ("cacheprovider", "anyio", "hypothesispytest")
"""Plugins that a project need not have; two of them bring what takes twice as long to load as pytest."""

LOADED = (
    *(f"_pytest.{name}" for name in default_plugins),
    *("pytest", "unittest.mock", "execnet", "requests", "pygments.lexers.python", "pygments.formatters.terminal"),
    *("emulator.testing", "emulator.testing.kit", "emulator.testing.exploring", "tests.kits"),
)
"""What it would load one after the other, but for plugins, which it changes as it loads them."""
PROGRAM = """
import runpy
from tests import kits

kits.pytest_configure(None)
runpy.run_module("pytest", run_name="__main__", alter_sys=True)
"""


FORKED = ("-p", "tests.kits")
"""Words for a pytest whose emulators are forked, where it cannot be forked itself."""


def environment() -> dict[str, str]:
    """Return the variables of this process without those of localyun and of pytest; the system stays as it is."""
    return {
        name: value
        for name, value in os.environ.items()
        if name == "LOCALYUN_WITHOUT" or not name.startswith(("LOCALYUN_", "PYTEST_"))
    }


def run_pytest(
    folder: Path, *options: object, timeout: float | None = None, anew: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run the tests of *folder*, *anew* in a process that has loaded nothing before."""
    words = [*(word for name in _ELSEWHERE for word in ("-p", f"no:{name}")), *map(str, options)]
    if anew or not commands.FORK:
        return subprocess.run(
            [sys.executable, "-m", "pytest", *words],
            cwd=folder, env=environment(), capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = commands.popen_code(PROGRAM, words, loaded=LOADED, cwd=folder, env=environment(), **pipes)
    with process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return subprocess.CompletedProcess(words, process.returncode, out, err)


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
