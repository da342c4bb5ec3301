"""What is left of an emulator whose starter is killed: nothing."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.kernel.system import is_running
from tests import commands
from tests.own_pytest import environment
from tests.waiting import eventually

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there a pipe cannot be watched")

TEST = """
import signal
from pathlib import Path

def test_it(localyun):
    Path("found.new").write_text(localyun.state)
    Path("found.new").rename("found")
    signal.pause()
"""

PROGRAM = """
import os, sys
from pathlib import Path

Path("found.new").write_text(os.environ["LOCALYUN_STATE"])
Path("found.new").rename("found")
sys.stdin.read()
"""


def test_nothing_is_left_of_a_pytest_that_is_killed(tmp_path):
    """The emulator ends by itself, and takes the temporary folder along."""
    (tmp_path / "test_it.py").write_text(TEST)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]

    with subprocess.Popen(words, cwd=tmp_path, env=environment()) as process:
        _kill_and_look(process, tmp_path / "found")


def test_nothing_is_left_of_an_exec_that_is_killed(tmp_path):
    """With --start; the command itself goes on, without an emulator."""
    words = ["exec", "--start", "--", sys.executable, "-c", PROGRAM]

    with commands.popen(words, cwd=tmp_path, env=environment(), stdin=subprocess.PIPE) as process:
        _kill_and_look(process, tmp_path / "found")


def test_variable_of_an_emulator_without_such_a_pipe_is_ignored(tmp_path):
    """Its standard input may be a terminal, a file or nothing; its starter's end says nothing then."""
    variables = environment() | {"LOCALYUN_TIED": str(tmp_path / "kept")}
    (tmp_path / "kept").mkdir()
    words = ["start", "--port", "0", "--https-port", "0", "--ephemeral", "--state", str(tmp_path / "state")]

    with commands.popen(words, cwd=tmp_path, env=variables, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.terminate()
        process.communicate(30)

    assert process.returncode == 0
    assert (tmp_path / "kept").is_dir()


def _kill_and_look(process: subprocess.Popen, found: Path) -> None:
    state = Path(eventually(lambda: found.exists() and found.read_text(), 60))
    emulator = json.loads((state / "endpoint.json").read_text())["pid"]
    assert is_running(emulator)

    os.kill(process.pid, signal.SIGKILL)

    eventually(lambda: not is_running(emulator))
    eventually(lambda: not state.parent.exists())
