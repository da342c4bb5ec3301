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
from tests.commands import program

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
    localyun = tmp_path / "bin" / "localyun"
    localyun.parent.mkdir()
    localyun.write_text(f'#!/bin/sh\nexec {shlex.join(program())} "$@"\n')
    localyun.chmod(0o755)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LOCALYUN_")}
    environment = inherited | {
        "PATH": f"{localyun.parent}{os.pathsep}{os.environ['PATH']}",
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


def scripts():
    """Yield the shell scripts of the other files: the steps of each job, in their order, and those of the editors."""
    steps = yaml.safe_load((ROOT / "examples" / "ci" / "github-actions.yml").read_text())["jobs"]
    for name, job in steps.items():
        lines = [step["run"] for step in job["steps"] if "run" in step and step.get("if") != "failure()"]
        yield pytest.param("\n".join(lines), id=f"github {name}")
    job = yaml.safe_load((ROOT / "examples" / "ci" / "gitlab-ci.yml").read_text())["tests"]
    yield pytest.param("\n".join([*job["before_script"], *job["script"], *job["after_script"]]), id="gitlab")
    jenkins = (ROOT / "examples" / "ci" / "Jenkinsfile").read_text()
    yield pytest.param("\n".join(re.findall(r"sh '''(.*?)'''", jenkins, re.DOTALL)), id="jenkins")
    devcontainer = json.loads((ROOT / "examples" / "devcontainer" / "devcontainer.json").read_text())
    yield pytest.param(
        "\n".join(devcontainer[name] for name in ("postCreateCommand", "postStartCommand")), id="container"
    )
    tasks = json.loads((ROOT / "examples" / "vscode" / "tasks.json").read_text())["tasks"]
    by_label = {task["label"].removeprefix("localyun: "): task["command"] for task in tasks}
    yield pytest.param(
        "\n".join(by_label[name].replace("${file}", "flow.yml") for name in ("start", "check this flow", "stop")),
        id="tasks",
    )


STAND_INS = {
    "pip": "exit 0",  # nothing is installed by a test
    "npm": f'exec "{sys.executable}" asking.py',
    "python": f'[ "$1" = -m ] && [ "$2" = venv ] && mkdir -p .venv/bin && : > .venv/bin/activate && exit 0\n'
    f'exec "{sys.executable}" asking.py',
}
ASKING = """\
import os
import urllib.request

with urllib.request.urlopen(os.environ["LOCALYUN_ENDPOINT"] + "/_localyun/health") as answer:
    assert answer.status == 200
assert os.environ["ALIBABA_CLOUD_ACCESS_KEY_ID"]
print("asked")
"""
"""What stands for the project's tests: it asks the emulator that the environment names."""

NO_TESTS = {"github plugin", "container", "tasks"}
"""Files without tests of their own that would ask: the fixture starts its emulator itself."""


@pytest.mark.sdk
@pytest.mark.parametrize("script", list(scripts()))
def test_commands_of_the_file_run(script, tmp_path, request):
    """Every line ends well; where the file runs tests, they find the emulator by the environment."""
    programs = tmp_path / "bin"
    programs.mkdir()
    localyun = f'exec {shlex.join(program())} "$@"'
    for name, text in {**STAND_INS, "python3": STAND_INS["python"], "localyun": localyun}.items():
        (programs / name).write_text(f"#!/bin/bash\n{text}\n")
        (programs / name).chmod(0o755)
    has_tests = request.node.callspec.id not in NO_TESTS
    (tmp_path / "asking.py").write_text(ASKING if has_tests else "")
    (tmp_path / "flow.yml").write_text("version: v1\ntype: flow\nsteps:\n  - {type: pass, name: only}\n")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LOCALYUN_")}
    environment = inherited | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "XDG_RUNTIME_DIR": str(tmp_path),
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_ENV": str(tmp_path / "env"),
        "LOCALYUN_PORT": "0",
        "LOCALYUN_HTTPS_PORT": "0",
    }
    forge = "set -a; [ -f env ] && . ./env; set +a\n"  # what GitHub does between two steps
    script = re.sub(r"^(?=npm )", lambda _: forge, script, flags=re.M)

    def run(text):
        return subprocess.run(
            ["bash", "-eo", "pipefail", "-c", text],
            env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=90, check=False,
        )  # fmt: skip

    try:
        done = run(script)
    finally:
        if (tmp_path / ".localyun" / "endpoint.json").exists():
            run("localyun stop")

    assert done.returncode == 0, done.stdout + done.stderr
    assert ("asked" in done.stdout) == has_tests
