"""The files for forges and editors parse, and name commands that exist."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from emulator.cli.main import parse

ROOT = Path(__file__).parents[2]
FILES = [
    ROOT / "action.yml",
    *sorted((ROOT / "examples" / "ci").iterdir()),
    *sorted((ROOT / "examples" / "vscode").iterdir()),
    *sorted((ROOT / "examples" / "devcontainer").iterdir()),
]


def commands(path):
    """Yield the words of every call of localyun in a file, apart from comments and from calls made of variables."""
    end = r"\n\"|&;)>" if path.suffix == ".json" else r"\n|&;)>"
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith(("#", "//", "description:")):
            continue
        for found in re.findall(rf"(?:^|[\s\"(])localyun ([a-z]+[^{end}]*)", line):
            yield shlex.split(found.replace("${file}", "flow.yml").replace("${input:function}", "hello"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_command_of_the_file_exists(path):
    """The parser takes each call with its options."""
    for words in commands(path):
        assert parse(words).run, words


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix == ".yml"], ids=lambda path: path.name)
def test_yaml_parses(path):
    """Each file for a forge is a mapping."""
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix == ".json"], ids=lambda path: path.name)
def test_json_parses(path):
    """Each file for an editor is an object."""
    assert isinstance(json.loads(path.read_text(encoding="utf-8")), dict)


def test_files_call_the_command():
    """The calls are found: no file passes because nothing in it was looked at."""
    assert {path.name for path in FILES if list(commands(path))} >= {
        "action.yml", "gitlab-ci.yml", "Jenkinsfile", "github-actions.yml", "tasks.json", "devcontainer.json",
    }  # fmt: skip


def test_launch_configurations_name_existing_tasks():
    """What runs before an attach is a task of the file beside it."""
    folder = ROOT / "examples" / "vscode"
    tasks = {task["label"] for task in json.loads((folder / "tasks.json").read_text())["tasks"]}
    configurations = json.loads((folder / "launch.json").read_text())["configurations"]

    assert {each["preLaunchTask"] for each in configurations} <= tasks


@pytest.mark.sdk
def test_action_starts_and_exports_variables(tmp_path):
    """The action's own script, run as a forge runs it: the emulator answers and the variables are exported."""
    step = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"][1]
    program = tmp_path / "bin" / "localyun"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m emulator "$@"\n')
    program.chmod(0o755)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LOCALYUN_")}
    environment = inherited | {
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "XDG_RUNTIME_DIR": str(tmp_path),
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_ENV": str(tmp_path / "env"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "FUNCTIONS": "",
        "STATE": str(tmp_path / "state"),
        "OPTIONS": "--ephemeral --https-port 0",
    }

    def run(script):
        return subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script],
            env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    try:
        done = run(step["run"])
        status = run(f"localyun status --state {tmp_path / 'state'}")
    finally:
        run(f"localyun stop --state {tmp_path / 'state'}")

    exported = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines())
    assert (done.returncode, status.returncode) == (0, 0), done.stderr
    assert (tmp_path / "output").read_text() == f"endpoint={exported['LOCALYUN_ENDPOINT']}\n"
    assert f"::add-mask::{exported['ALIBABA_CLOUD_ACCESS_KEY_SECRET']}" in done.stdout
