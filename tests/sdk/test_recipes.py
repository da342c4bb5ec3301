"""The recipes of docs/functions.md, deployed as they stand, and the projects of ``localyun init``."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from textwrap import indent

import pytest
import requests

from emulator.cli.main import main
from emulator.testing import Emulator
from tests import commands
from tests.own_pytest import environment, run_pytest
from tests.sdk import shells

pytestmark = pytest.mark.sdk

ROOT = Path(__file__).parents[2]
CODE = """
def handler(event, context):
    try:
        import greeting
    except ImportError:
        return event
    return greeting.TEXT
"""


def recipes(page: str, language: str) -> list[str]:
    """Return the blocks of a language in a page's recipes."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    part = text[re.search(r"^## (Recipes|示例)$", text, re.MULTILINE).start() :]
    return re.findall(rf"^```{language}\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["functions.md", "zh-CN/functions.md"])
def test_recipes_do_what_they_say(tmp_path, page):
    """A queue gets the results of asynchronous calls, a layer's module is found, a domain leads to its function."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "index.py").write_text(CODE)
    (tmp_path / "code" / "web.py").write_text("".join(recipes(page, "python")))
    (tmp_path / "layer" / "python").mkdir(parents=True)
    (tmp_path / "layer" / "python" / "greeting.py").write_text("TEXT = 'from the layer'")
    head, *resources = recipes(page, "yaml")
    (tmp_path / "s.yaml").write_text(head + indent("".join(resources), "  "))

    with Emulator() as localyun:
        localyun.deploy(tmp_path / "s.yaml")
        ended = json.loads(localyun.command("invoke", "order", "--async", "--event", "pears", "--json"))
        results = [message.json() for message in localyun.queue("results").peek()]
        greeted = localyun.invoke("greet").text
        answer = requests.get(f"{localyun.endpoint}/orders/7", headers={"Host": "api.localhost"}, timeout=30)

    assert (ended["status"], ended["attempts"], ended["destination"]["delivered"]) == ("Succeeded", 1, True)
    assert [result["responsePayload"] for result in results] == ["pears"]
    assert greeted == "from the layer"
    assert (answer.status_code, answer.text) == (200, "/orders/7")


@pytest.mark.parametrize("template", ["python", "node", "flow", "queue-worker"])
def test_a_new_project_deploys_and_its_test_passes(tmp_path, template):
    """In a folder of any name, beside functions that are served from it."""
    if template == "node" and shutil.which("npm") is None:
        pytest.skip("there is no npm")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "localyun"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(commands.program())} "$@"\n')
    (tmp_path / "bin" / "pytest").write_text(shells.pytest("-p", "localyun"))
    for each in program.parent.iterdir():
        each.chmod(0o755)
    clean = environment()
    path = f"{program.parent}{os.pathsep}{clean['PATH']}"
    surroundings = {**clean, "PATH": path, "PYTHONPATH": str(ROOT), **commands.shared()}
    folder = tmp_path / "my_own project"

    def run(*words: str, within: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=within, env=surroundings, capture_output=True, text=True, timeout=120, check=False
        )

    made = run("localyun", "init", folder.name, "--template", template)
    test = ("npm", "test") if template == "node" else ("pytest", "-q")
    tested = run(*test, within=folder)
    again = run("localyun", "init", folder.name, "--template", template)

    assert made.returncode == 0, made.stderr
    assert {".gitignore", "s.yaml", "functions", "tests", ".vscode"} <= {path.name for path in folder.iterdir()}
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert again.returncode == 1
    assert "nothing was written" in again.stderr


def test_init_names_what_the_test_needs_and_is_missing(tmp_path, capsys, monkeypatch):
    """Pytest, which not everyone has beside the emulator."""
    needed = "pip install 'localyun[testing]'"

    for there in (True, False):
        monkeypatch.setattr("emulator.cli.commands.init.find_spec", lambda name, there=there: there or None)
        assert main(["init", str(tmp_path / str(there))]) == 0
        assert (needed in capsys.readouterr().out) == (not there)
    assert main(["init", str(tmp_path / "node"), "--template", "node"]) == 0
    assert needed not in capsys.readouterr().out


def test_tests_of_installed_packages_are_not_collected(tmp_path):
    """A function's own tests are, and those of a package that merely stands there."""
    functions = tmp_path / "functions" / "hello"
    for name in ("installed/tests", "own", "installed-1.0.dist-info"):
        (functions / name).mkdir(parents=True)
    (functions / "index.py").write_text("")
    (functions / "installed" / "tests" / "test_it.py").write_text("import nowhere")
    (functions / "six.py").write_text("")
    (functions / "own" / "test_own.py").write_text("def test_own():\n    pass\n")
    record = "installed/tests/test_it.py,,\nsix.py,,\n../../bin/tool,,\ninstalled-1.0.dist-info/RECORD,,\n"
    (functions / "installed-1.0.dist-info" / "RECORD").write_text(record)

    done = run_pytest(tmp_path, "-q", "--rootdir", tmp_path, tmp_path, timeout=120)

    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
