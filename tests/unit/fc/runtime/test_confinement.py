"""What instances of an emulator that isolates them can change of the machine."""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from tests.unit.fc.runtime.test_isolation import needs_namespaces

PROBE = """
import json, os, subprocess, sys

def attempt(action, *arguments):
    try:
        action(*arguments)
    except OSError as error:
        return error.strerror
    return "done"

def read(path):
    with open(path) as file:
        return file.read()

def probe(home, secret):
    remount = f"mount -o remount,rw,bind {home} 2>&1; touch {home}/shell 2>&1"
    return {
        "home": attempt(open, home + "/new", "w"),
        "below": attempt(os.mkdir, home + "/below/new"),
        "code": attempt(open, "/code/new", "w"),
        "named": attempt(open, os.environ["FC_FUNC_CODE_PATH"] + "/new", "w"),
        "tmp": attempt(os.mkdir, "/tmp/new"),
        "remounted": subprocess.run(["sh", "-c", remount], stdout=subprocess.DEVNULL).returncode == 0,
        "read": [read(home + "/kept"), read(secret)],
        "servers": os.listdir("/run/user") if os.path.isdir("/run/user") else [],
    }

def handler(event, context):
    return probe(*json.loads(event))

if __name__ == "__main__":
    print(json.dumps(probe(*sys.argv[1:])))
"""
REFUSED = "Read-only file system"


@pytest.fixture
def home():
    """A home folder outside of the folders that instances have of their own, as homes are."""
    folder = Path(tempfile.mkdtemp(dir=Path.home(), prefix=".localyun-test-"))
    (folder / "below").mkdir()
    (folder / "kept").write_text("kept")
    (folder / "secret").write_text("secret")
    yield folder
    shutil.rmtree(folder)


def function(functions, runtime):
    """A function that tries what its event names."""
    needs_namespaces()
    if runtime == "python3":
        return functions.image(PROBE)
    if shutil.which("node") is None:
        pytest.skip("there is no node on the PATH")
    made = functions.image(PROBE, runtime=runtime, timeout_s=20, memory_mb=512)
    (made.code_dir / "index.js").write_text(
        "exports.handler = (event, context, callback) => callback(null, require('child_process').execFileSync("
        f"{json.dumps(sys.executable)}, [process.env.FC_FUNC_CODE_PATH + '/index.py', ...JSON.parse(event)]))"
    )
    return made


@pytest.mark.parametrize("runtime", ["python3", "nodejs20"])
async def test_home_and_code_are_read_only_and_secrets_are_empty(functions, home, runtime):
    """For a forked process and for one that was started ahead; ``/tmp`` is the instance's own as ever."""
    image = function(functions, runtime)
    event = json.dumps([str(home), str(home / "secret")]).encode()

    first, second = await functions.calls(image, event, event, confined=(home, home / "secret"))

    assert (first.error_type, second.error_type) == (None, None), first.body
    assert json.loads(first.body) == {
        "home": REFUSED,
        "below": REFUSED,
        "code": REFUSED,
        "named": REFUSED,
        "tmp": "done",
        "remounted": False,
        "read": ["kept", ""],
        "servers": [],
    }
    assert sorted(path.name for path in home.iterdir()) == ["below", "kept", "secret"]
    assert sorted(path.name for path in image.code_dir.iterdir())[0].startswith("index.")


async def test_without_confinement_the_user_s_files_are_the_function_s(functions, home):
    """As is documented."""
    event = json.dumps([str(home), str(home / "secret")]).encode()

    found = json.loads((await functions.calls(function(functions, "python3"), event))[0].body)

    assert (found["home"], found["named"], found["read"]) == ("done", "done", ["kept", "secret"])
    assert found["code"] == REFUSED


async def test_home_folder_that_is_not_there_costs_no_namespaces(functions, home):
    """There is nothing to shut away then, and the rest is."""
    event = json.dumps([str(home), str(home / "secret")]).encode()
    image = function(functions, "python3")

    found = json.loads((await functions.calls(image, event, confined=(home / "none", home / "secret")))[0].body)

    assert (found["home"], found["named"], found["read"]) == ("done", REFUSED, ["kept", ""])


@pytest.mark.parametrize("start_method", ["fork", "exec"])
async def test_log_says_when_instances_cannot_be_confined(functions, home, caplog, start_method):
    """Where there are no namespaces; calls are served all the same."""
    image = functions.image("def handler(event, context): return 'fine'")

    results = await functions.calls(image, b"", confined=(home,), isolation="none", start_method=start_method)

    assert [result.body for result in results] == [b"fine"]
    assert "isolate: no effect here, instances can change what you can" in caplog.text


async def test_a_user_without_a_home_has_the_rest_confined(functions, home, caplog):
    """Code and secrets; the log names no folder that is not there."""
    caplog.set_level("INFO")
    image = function(functions, "python3")
    event = json.dumps([str(home), str(home / "secret")]).encode()

    found = json.loads((await functions.calls(image, event, confined=(Path(os.devnull), home / "secret")))[0].body)

    assert (found["home"], found["named"], found["read"]) == ("done", REFUSED, ["kept", ""])
    assert "isolate: instances can change nothing in their code" in caplog.text


async def test_log_says_what_cannot_be_changed(functions, home, caplog):
    """Where there are namespaces."""
    needs_namespaces()
    caplog.set_level("INFO")

    await functions.calls(functions.image("def handler(event, context): return 'fine'"), b"", confined=(home,))

    assert f"isolate: instances can change nothing in {home}" in caplog.text
