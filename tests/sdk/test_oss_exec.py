"""`localyun exec`: clients of the object store at the cloud's own addresses reach the emulator, unchanged."""

import json
import os
import shutil
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from tests import commands

pytest.importorskip("oss2")
pytest.importorskip("moto.s3.models")

pytestmark = pytest.mark.sdk

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(__file__).parent / "scripts"
_numbers = count()


def execute(emulator, *command):
    """Run a command under `exec` to its end and return the JSON it prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCALYUN_")}
    environment["PYTHONPATH"] = str(ROOT)
    words = ["exec", "--state", str(emulator.state), "--", *command]
    done = commands.run(words, cwd=ROOT, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def new_name():
    return f"exec-{os.getpid()}-{next(_numbers)}"


@pytest.mark.parametrize("auth", ["v1", "v2", "v4"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_oss2_at_the_cloud_s_address(emulator, scheme, auth):
    """Bucket names in host names, certificates, signatures and signed URLs all come out right."""
    name = new_name()

    told = execute(emulator, sys.executable, str(SCRIPTS / "objects.py"), scheme, auth, name)

    assert told == {
        "host": f"{name}.oss-cn-hangzhou.aliyuncs.com",
        "content": "at home",
        "by url": "at home",
        "keys": ["a b/é", "m"],
        "buckets": [name],
        "location": "oss-cn-hangzhou",
    }


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
@pytest.mark.parametrize("secure", ["false", "true"], ids=["http", "https"])
def test_ali_oss_at_the_cloud_s_address(emulator, secure):
    """The same from Node.js."""
    if subprocess.run(["node", "-e", "require.resolve('ali-oss')"], capture_output=True, check=False).returncode:
        pytest.skip("needs ali-oss (python3 dev.py clients)")
    name = new_name()

    told = execute(emulator, "node", str(SCRIPTS / "objects.js"), secure, name)

    assert told == {
        "host": f"{name}.oss-cn-hangzhou.aliyuncs.com",
        "content": "at home",
        "by url": "at home",
        "keys": ["a b/é"],
        "buckets": [name],
        "location": "oss-cn-hangzhou",
    }
