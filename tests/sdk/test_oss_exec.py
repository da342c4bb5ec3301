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


def execute(emulator, program, ways):
    """Run a program under `exec` for ways of use, each with a bucket of its own; return name and answer of each.

    It loads its library once: that takes longer than what it does with it.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCALYUN_")}
    environment["PYTHONPATH"] = str(ROOT)
    names = [f"exec-{os.getpid()}-{next(_numbers)}" for _ in ways]
    asked = [word for way, name in zip(ways, names, strict=True) for word in (*way, name)]
    done = commands.run(
        ["exec", "--state", str(emulator.state), "--", *program, *asked], cwd=ROOT, env=environment, timeout=60
    )
    assert done.returncode == 0, done.stderr
    told = zip(names, map(json.loads, done.stdout.splitlines()), strict=True)
    return dict(zip(ways, told, strict=True))


OSS2 = [(scheme, auth) for scheme in ("http", "https") for auth in ("v1", "v2", "v4")]


@pytest.fixture(scope="module")
def of_oss2(emulator):
    """What oss2 was told."""
    return execute(emulator, [sys.executable, str(SCRIPTS / "objects.py")], OSS2)


@pytest.mark.parametrize(("scheme", "auth"), OSS2)
def test_oss2_at_the_cloud_s_address(of_oss2, scheme, auth):
    """Bucket names in host names, certificates, signatures and signed URLs all come out right."""
    name, told = of_oss2[scheme, auth]

    assert told == {
        "host": f"{name}.oss-cn-hangzhou.aliyuncs.com",
        "content": "at home",
        "by url": "at home",
        "keys": ["a b/é", "m"],
        "buckets": [name],
        "location": "oss-cn-hangzhou",
    }


ALI_OSS = [("false",), ("true",)]


@pytest.fixture(scope="module")
def of_ali_oss(emulator):
    """What ali-oss was told."""
    if shutil.which("node") is None:
        pytest.skip("needs Node.js")
    if subprocess.run(["node", "-e", "require.resolve('ali-oss')"], capture_output=True, check=False).returncode:
        pytest.skip("needs ali-oss (python3 dev.py clients)")
    return execute(emulator, ["node", str(SCRIPTS / "objects.js")], ALI_OSS)


@pytest.mark.parametrize("way", ALI_OSS, ids=["http", "https"])
def test_ali_oss_at_the_cloud_s_address(of_ali_oss, way):
    """The same from Node.js."""
    name, told = of_ali_oss[way]

    assert told == {
        "host": f"{name}.oss-cn-hangzhou.aliyuncs.com",
        "content": "at home",
        "by url": "at home",
        "keys": ["a b/é"],
        "buckets": [name],
        "location": "oss-cn-hangzhou",
    }
