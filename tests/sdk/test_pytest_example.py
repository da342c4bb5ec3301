"""The examples for users' own tests and pipelines, run as they would run them."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests import commands
from tests.own_pytest import environment
from tests.sdk import shells

pytest.importorskip("mns")

pytestmark = pytest.mark.sdk

ROOT = Path(__file__).parents[2]
JOBS = yaml.safe_load((ROOT / "examples" / "ci" / "github-actions.yml").read_text(encoding="utf-8"))["jobs"]
UNMODIFIED = """
import os

from mns.account import Account
from mns.queue import Message, QueueMeta


def test_no_address_of_an_emulator():
    host = f"http://{os.environ['ALIBABA_CLOUD_ACCOUNT_ID']}.mns.{os.environ['ALIBABA_CLOUD_REGION_ID']}.aliyuncs.com"
    keys = os.environ["ALIBABA_CLOUD_ACCESS_KEY_ID"], os.environ["ALIBABA_CLOUD_ACCESS_KEY_SECRET"]
    account = Account(host, *keys)
    queue = account.get_queue("orders")
    queue.create(QueueMeta())
    queue.send_message(Message("pears"))
    account.mns_client.close_connection()
"""
NPM = """#!/bin/sh
curl -sf -H "X-Localyun-Token: $LOCALYUN_TOKEN" "$LOCALYUN_ENDPOINT/_localyun/clock"
"""


class Pipeline:
    """An empty project with the tests of the examples, and what a forge's machine has."""

    def __init__(self, folder):
        self.folder = folder
        shutil.copytree(ROOT / "examples" / "pytest", folder / "tests")
        (folder / "tests" / "integration").mkdir()
        (folder / "tests" / "integration" / "test_unmodified.py").write_text(UNMODIFIED)
        programs = {
            "localyun": f'#!/bin/sh\nexec {shlex.join(commands.program())} "$@"\n',
            "python": shells.python(str(folder / "bin" / "pytest")),
            "pytest": shells.pytest(),
            "pip": "#!/bin/sh\n",
            "npm": NPM,
        }
        (folder / "bin").mkdir()
        for name, text in programs.items():
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o755)
        inherited = environment()
        self.env = inherited | {
            "PATH": f"{folder / 'bin'}{os.pathsep}{inherited['PATH']}",
            "PYTHONPATH": str(ROOT),
            "XDG_RUNTIME_DIR": str(folder),
            "RUNNER_TEMP": str(folder),
            "GITHUB_ENV": str(folder / "exported"),
            "LOCALYUN_PORT": "0",
            "LOCALYUN_HTTPS_PORT": "0",
        }

    def run(self, script):
        """Run a step as a forge does, with what earlier ones have exported; return what it printed."""
        exported = self.folder / "exported"
        lines = exported.read_text().splitlines() if exported.exists() else []
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script], cwd=self.folder, capture_output=True, text=True, timeout=120,
            env=self.env | dict(line.split("=", 1) for line in lines), check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture
def pipeline(tmp_path):
    """A pipeline whose background emulator, if there is one, ends with the test."""
    made = Pipeline(tmp_path)
    yield made
    if list(tmp_path.rglob("endpoint.json")):
        made.run("localyun stop")


@pytest.mark.parametrize("job", JOBS)
def test_each_job_of_the_workflow_passes(pipeline, job):
    """Its steps succeed in a project with nothing but the examples, and a secret is masked before it is exported."""
    scripts = [step["run"] for step in JOBS[job]["steps"] if "run" in step and "if" not in step]

    told = "".join(pipeline.run(script) for script in scripts)

    passed = {"plugin": "2 passed", "unmodified": "1 passed", "background": '"now"'}
    assert passed[job] in told
    if job == "background":
        exported = dict(line.split("=", 1) for line in (pipeline.folder / "exported").read_text().splitlines())
        for name in ("ALIBABA_CLOUD_ACCESS_KEY_SECRET", "LOCALYUN_TOKEN", "LOCALYUN_PROXY_URL"):
            assert f"::add-mask::{exported[name]}\n" in told


def test_the_jobs_of_the_other_forge_pass(pipeline):
    """What comes before, the tests and what comes after run in one shell of a project."""
    steps = yaml.safe_load((ROOT / "examples" / "ci" / "gitlab-ci.yml").read_text(encoding="utf-8"))["tests"]
    (pipeline.folder / "tests" / "integration" / "test_unmodified.py").unlink()

    told = pipeline.run("\n".join([*steps["before_script"], *steps["script"]]))
    pipeline.run("\n".join(steps["after_script"]))

    assert "2 passed" in told
    assert (pipeline.folder / "support.zip").exists()
    assert not list(pipeline.folder.rglob("endpoint.json"))
