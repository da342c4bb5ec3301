"""The programs of the pages about SDKs run, with nothing but the variables of `localyun env`."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jvm import JAVA
from tests.sdk.test_exec import GO_LINKED

pytestmark = pytest.mark.sdk

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "sdks"
GO_MODULE = Path(__file__).parent / "scripts" / "go"


def programs(page, language):
    found = re.findall(rf"```{language}\n(.*?)```", (PAGES / page).read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return [pytest.param(text, id=str(number)) for number, text in enumerate(found)]


@pytest.fixture
def run(emulator, tmp_path):
    """Run a command with the variables of `localyun env`; return what it prints."""
    env = {name: value for name, value in os.environ.items() if not name.upper().endswith("_PROXY")}
    env |= {
        "LOCALYUN_ENDPOINT": emulator.url,
        "LOCALYUN_ACCOUNT_ID": emulator.keys["accountId"],
        "LOCALYUN_REGION": emulator.keys["region"],
        "ALIBABA_CLOUD_ACCESS_KEY_ID": emulator.keys["accessKeyId"],
        "ALIBABA_CLOUD_ACCESS_KEY_SECRET": emulator.keys["accessKeySecret"],
    }

    def run(*words, **more):
        done = subprocess.run(
            words, env=env | more, cwd=tmp_path, capture_output=True, text=True, timeout=280, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.parametrize("program", programs("python.md", "python"))
def test_python_program_runs(run, program):
    """It prints what the emulator answered."""
    assert run(sys.executable, "-c", program).strip()


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
@pytest.mark.parametrize("program", programs("node.md", "js"))
def test_node_program_runs(run, program):
    """As for Python, for the packages that Node.js finds through NODE_PATH."""
    for package in re.findall(r"require\('([^']+)'\)", program):
        found = subprocess.run(["node", "-e", f"require.resolve('{package}')"], capture_output=True, check=False)
        if found.returncode:
            pytest.skip(f"needs {package} on NODE_PATH")

    assert run("node", "-e", program).strip()


@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go")
@pytest.mark.parametrize("program", programs("go.md", "go"))
def test_go_program_runs(run, tmp_path, program):
    """As for Python, for the modules that the module cache has."""
    for name in ("go.mod", "go.sum"):
        shutil.copy(GO_MODULE / name, tmp_path)
    (tmp_path / "main.go").write_text(program)
    built = subprocess.run(
        ["go", "build", *GO_LINKED, "-o", "program", "."], cwd=tmp_path,
        env=os.environ | {"GOPROXY": "off", "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"},
        capture_output=True, text=True, timeout=250, check=False,
    )  # fmt: skip
    if built.returncode and "GOPROXY=off" in built.stderr:
        pytest.skip("needs the modules of tests/sdk/scripts/go/go.mod in the module cache")
    assert built.returncode == 0, built.stderr

    assert "Flows" in run(str(tmp_path / "program"))


@pytest.mark.skipif(shutil.which("java") is None, reason="needs Java")
@pytest.mark.parametrize("program", programs("java.md", "java"))
def test_java_program_runs(run, tmp_path, program):
    """As for Python, for the SDKs on CLASSPATH."""
    if "aliyun" not in os.environ.get("CLASSPATH", ""):
        pytest.skip("needs the SDKs' jars on CLASSPATH")
    name = re.search(r"public class (\w+)", program)[1]
    source = tmp_path / f"{name}.java"
    source.write_text(program)

    assert re.search("Flows|hello", run(*JAVA, str(source)))
