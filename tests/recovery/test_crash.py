"""The crash harness, a short run of it: ten kills of the real emulator under load, hundreds of the engine alone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.recovery,
    pytest.mark.waits,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds orphans as Linux shows them"),
]

ROOT = Path(__file__).resolve().parents[2]

FORKING = """
import sys
from benchmarks.crash import __main__, process, run
from tests import commands
commands.parent()
process.subprocess = commands.Forking()
run.LOAD_S = (0.05, 0.45)
sys.exit(__main__.main())
"""
"""The harness with emulators forked from a process of its own, which gets the orphans of those it has killed.

Its clients do all that they ever do many times over in half of the usual load between two kills.
"""


def harness(*words):
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=280, stdin=subprocess.DEVNULL
    )


def test_what_was_acknowledged_survives_kills_under_load(tmp_path):
    """Messages, pushes, calls, flows and resources are as their clients were told, or the record is printed."""
    ended = harness("-c", FORKING, "--kills", "10", "--seed", "11", "--folder", str(tmp_path / "run"))

    assert ended.stdout, ended.stderr
    told = json.loads(ended.stdout)
    assert told["findings"] == []
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert told["kills"] >= 10
    assert told["executions compared"] > 0
    assert told["pushes taken"] > 0


def test_crashed_executions_have_the_history_of_undisturbed_ones():
    """Event by event, instant by instant."""
    ended = harness("-m", "benchmarks.crash.engine", "--kills", "100", "--seed", "5")

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert json.loads(ended.stdout)["crashes"] >= 100
