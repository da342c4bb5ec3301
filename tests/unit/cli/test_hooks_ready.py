"""Starting in the background with commands for when the emulator is ready: what returns waits for them."""

import json
import shlex
import subprocess
import sys

import pytest

from emulator.testing import process
from tests import commands, kits
from tests.own_pytest import environment

pytestmark = pytest.mark.starts_programs

SEED = """
import subprocess, sys
from pathlib import Path

told = subprocess.run(["localyun", "queue", "list", "--json"], capture_output=True, text=True, check=True).stdout
Path("seen").write_text(told)
sys.exit(int(sys.argv[1]))
"""


def a_project(folder, code=0):
    (folder / "seed.py").write_text(SEED)
    line = json.dumps(f"{shlex.quote(sys.executable)} seed.py {code}")
    (folder / "localyun.yaml").write_text(f"queues: {{orders: {{}}}}\nhooks: {{ready: [{line}]}}\n")


def run(folder, *words):
    return commands.run(words, cwd=folder, env=environment(), timeout=60)


def test_start_in_the_background_returns_when_the_commands_have_ended(tmp_path):
    """They use the emulator meanwhile; what the next command of a script finds is what they have made."""
    a_project(tmp_path, code=3)

    try:
        started = run(tmp_path, "start", "-d", "--port", "0", "--https-port", "0")
        seen = (tmp_path / "seen").read_text()
        status = run(tmp_path, "status").stdout
    finally:
        run(tmp_path, "stop")

    assert started.returncode == 0, started.stderr
    assert "orders" in seen
    assert "hooks.ready.0 has failed with exit code 3" in started.stdout
    assert "\nhooks" not in status


def test_exec_runs_its_command_when_the_commands_have_ended(tmp_path):
    """With --start, whose emulator is new."""
    a_project(tmp_path)

    told = run(tmp_path, "exec", "--start", "--", "cat", "seen")

    assert [each["QueueName"] for each in json.loads(told.stdout)] == ["orders"], told.stderr


def test_fixture_is_ready_when_the_commands_have_ended(tmp_path, monkeypatch):
    """As a context manager, which the fixture uses."""
    a_project(tmp_path)
    kits.are_forked(monkeypatch)

    with process.Emulator(config=tmp_path / "localyun.yaml", environment=environment()) as localyun:
        assert (tmp_path / "seen").exists()
        assert localyun.api.admin("GET", "status")["hooks"] == 0


def test_commands_that_never_end_do_not_hold_up_a_start(tmp_path, monkeypatch):
    """After a while it returns and says so."""
    (tmp_path / "localyun.yaml").write_text("hooks: {ready: ['read forever < pipe']}\n")
    subprocess.run(["mkfifo", tmp_path / "pipe"], check=True)
    program = (
        "import sys; from emulator.cli import background, main; background.HOOKS_TIMEOUT_S = 0; sys.exit(main.main())"
    )

    with commands.popen_code(
        program, ["start", "-d", "--port", "0", "--https-port", "0"], loaded=("emulator.cli.background",),
        cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as started:  # fmt: skip
        _, error = started.communicate(timeout=60)
    shown = run(tmp_path, "status").stdout
    status = json.loads(run(tmp_path, "status", "--json").stdout)
    run(tmp_path, "stop")

    assert started.returncode == 0, error
    assert "the commands of hooks.ready still run" in error
    assert status["hooks"] == 1
    assert "\nhooks         1\n" in shown
