"""The example for users' own tests, run as they would run it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytest.importorskip("mns")

pytestmark = [pytest.mark.sdk, pytest.mark.timeout(120)]

ROOT = Path(__file__).parents[2]


def test_example_of_a_project_s_tests_passes(tmp_path):
    """Copied into an empty project, its two tests pass, and no emulator is left behind."""
    shutil.copytree(ROOT / "examples" / "pytest", tmp_path / "tests")
    scripts = tmp_path / "bin"
    scripts.mkdir()
    program = scripts / "localyun"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m emulator "$@"\n')
    program.chmod(0o755)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("LOCALYUN_", "PYTEST_"))}
    env |= {"PATH": f"{scripts}{os.pathsep}{env['PATH']}", "PYTHONPATH": str(ROOT)}

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "tmp"), "tests"],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
    assert not list((tmp_path / "tmp").rglob("endpoint.json"))


def test_workflow_example_uses_commands_that_exist():
    """Each localyun command of the GitHub Actions example is understood by the program."""
    from emulator.cli.main import build

    workflow = yaml.safe_load((ROOT / "examples" / "ci" / "github-actions.yml").read_text(encoding="utf-8"))
    steps = workflow["jobs"]["tests"]["steps"]
    lines = [line.strip() for step in steps for line in step.get("run", "").splitlines()]
    commands = [line.partition(" >>")[0].split()[1:] for line in lines if line.startswith("localyun ")]

    assert len(commands) == 3
    for command in commands:
        assert build().parse_args(command) is not None
