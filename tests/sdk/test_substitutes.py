"""What stands in for fork, sessions, locks, modes, alarms and exec on systems without them, forced on this one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.kernel import system
from tests import commands

pytestmark = pytest.mark.sdk

CODE = """
import os

count = 0


def handler(event, context):
    global count
    count += 1
    if event == b"end":
        os._exit(3)
    return f"{os.getpid()} {count}"
"""


@pytest.fixture
def lacking(new_emulator, tmp_path):
    """An emulator that does without everything, serving one function."""
    folder = tmp_path / "functions" / "counter"
    folder.mkdir(parents=True)
    (folder / "index.py").write_text(CODE)
    emulator = new_emulator(folder.parent)
    emulator.environment = {system.VARIABLE: "all"}
    return emulator.start()


def localyun(emulator, *words):
    return commands.run([*words, "--state", str(emulator.state)], cwd=Path.cwd(), env=dict(os.environ), timeout=60)


def test_functions_run_and_stay_warm_without_fork(lacking):
    """Each instance starts its own interpreter and keeps its variables; one that ends its process is replaced."""
    first, second = (localyun(lacking, "invoke", "counter").stdout.split() for _ in range(2))
    ended = localyun(lacking, "invoke", "counter", "--event", "end")
    third = localyun(lacking, "invoke", "counter").stdout.split()

    assert (first[1], second) == ("1", [first[0], "2"])
    assert ended.returncode == 1
    assert (third[1], third[0] != first[0]) == ("1", True)


def test_second_emulator_on_the_same_state_is_refused_without_locks(lacking, new_emulator):
    """SQLite's own lock, or the port, keeps them apart."""
    done = subprocess.run(
        [sys.executable, "-m", "emulator", "start", "--port", "0", "--https-port", "0", "--state", str(lacking.state)],
        capture_output=True, text=True, timeout=60, check=False, env={"LOCALYUN_WITHOUT": "all", "PATH": ""},
    )  # fmt: skip

    assert done.returncode == 1
    assert "already running" in done.stderr


def test_program_of_exec_runs_as_a_child(lacking):
    """Its output and its exit code are handed on."""
    lacking.get("/_localyun/health")
    done = subprocess.run(
        [sys.executable, "-m", "emulator", "exec", "--state", str(lacking.state), "--",
         sys.executable, "-c", "print('ran'); raise SystemExit(7)"],
        capture_output=True, text=True, timeout=60, check=False, env={"LOCALYUN_WITHOUT": "exec", "PATH": ""},
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (7, "ran\n")


def test_network_of_a_command_is_refused_where_there_is_none(lacking):
    """With a message, before anything is run."""
    done = subprocess.run(
        [sys.executable, "-m", "emulator", "exec", "--state", str(lacking.state), "--network", "--", "true"],
        capture_output=True, text=True, timeout=60, check=False, env={"LOCALYUN_WITHOUT": "network", "PATH": ""},
    )  # fmt: skip

    assert done.returncode == 1
    assert "--network runs the command in its own network, which needs Linux" in done.stderr
