"""Function Compute through SDKs of other languages: small programs, built where toolchain and SDK are to be had.

`FC_GO_SDK` may name a folder with the sources of fc-go-sdk, for machines whose module proxy does not have it.
"""

import io
import json
import os
import shutil
import subprocess
import uuid
import zipfile
from pathlib import Path

import pytest

from tests.jvm import JAVA, MAVEN

pytestmark = [pytest.mark.sdk, pytest.mark.timeout(400)]

PROGRAMS = Path(__file__).parent / "programs"
BUILD_S = 300

CODE = """
def handler(event, context):
    if event == b"fail":
        raise ValueError("asked to")
    return event
"""


def package() -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("index.py", CODE)
    return sink.getvalue()


def attempt(command: list[str], folder: Path) -> str:
    """Run a step of a build and return why it failed, empty when it did not."""
    try:
        done = subprocess.run(
            command, cwd=folder, env=os.environ | MAVEN, capture_output=True, text=True, timeout=BUILD_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    return "" if done.returncode == 0 else (lines or ["it failed"])[-1]


@pytest.fixture(scope="module")
def go_program(tmp_path_factory) -> Path:
    """The built Go program; skips where it cannot be built."""
    if shutil.which("go") is None:
        pytest.skip("there is no go on the PATH")
    folder = tmp_path_factory.mktemp("go") / "program"
    shutil.copytree(PROGRAMS / "go", folder)
    steps = [["go", "mod", "tidy"], ["go", "build", "-o", "program", "."]]
    if "FC_GO_SDK" in os.environ:
        steps.insert(0, ["go", "mod", "edit", "-replace", f"github.com/aliyun/fc-go-sdk={os.environ['FC_GO_SDK']}"])
    else:
        steps.insert(0, ["go", "get", "github.com/aliyun/fc-go-sdk@latest"])
    for step in steps:
        if reason := attempt(step, folder):
            pytest.skip(f"{' '.join(step[:3])}: {reason}")
    return folder / "program"


def run(command: list[str], emulator, service: str) -> dict:
    """Run a program against the emulator and return the JSON object that its last line is."""
    keys = emulator.keys
    done = subprocess.run(
        [*command, emulator.url, keys["accessKeyId"], keys["accessKeySecret"], service],
        input=package(),
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return json.loads(done.stdout.splitlines()[-1])


def test_the_go_sdk_creates_calls_publishes_and_deletes(emulator, go_program):
    """fc-go-sdk of 2016-08-15: resources, calls, failures, aliases, errors and a command beside the instance."""
    service = f"s{uuid.uuid4().hex[:12]}"

    seen = run([str(go_program)], emulator, service)

    checksum = seen.pop("checksum")
    assert checksum.isdigit()
    assert seen == {
        "service": service,
        "echo": "grüße",
        "logged": True,
        "error": "UnhandledInvocationError",
        "alias": "alias",
        "missing": "404 FunctionNotFound",
        "exec": "echo\n",
    }


@pytest.fixture(scope="module")
def java_classpath(tmp_path_factory) -> str:
    """The class path of the built Java program; skips where it cannot be built."""
    if shutil.which("mvn") is None or shutil.which("java") is None:
        pytest.skip("there is no java with Maven on the PATH")
    folder = tmp_path_factory.mktemp("java") / "program"
    shutil.copytree(PROGRAMS / "java", folder)
    build = ["mvn", "-q", "-B", "compile", "dependency:copy-dependencies", "-DoutputDirectory=lib"]
    if reason := attempt(build, folder):
        pytest.skip(f"mvn: {reason}")
    return f"{folder / 'target' / 'classes'}{os.pathsep}{folder / 'lib' / '*'}"


def test_the_java_sdk_creates_calls_publishes_and_deletes(emulator, java_classpath):
    """`com.aliyun:fc20230330`: a function of 3.0, its calls and failures, a version and an alias."""
    function = f"f{uuid.uuid4().hex[:12]}"

    seen = run([*JAVA, "-cp", java_classpath, "Main"], emulator, function)

    assert seen == {
        "function": function,
        "state": "Active",
        "echo": "grüße",
        "error": "UnhandledInvocationError",
        "alias": "alias",
        "missing": "404 FunctionNotFound",
    }
