"""What an instance runs with cannot take its own view of the machine apart, whoever the emulator's user is."""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from emulator.services.fc.runtime.model import ShellCommand
from tests.unit.fc.runtime.test_isolation import needs_namespaces
from tests.waiting import until

PROBE = """
import ctypes, json, os, subprocess, sys

libc = ctypes.CDLL(None, use_errno=True)

def answer(result):
    return "done" if result == 0 else os.strerror(ctypes.get_errno())

def attempt(action, *arguments):
    try:
        action(*arguments)
    except OSError as error:
        return error.strerror
    return "done"

def in_a_namespace_of_users(command):
    return subprocess.run(["unshare", "-Urm", *command], capture_output=True).returncode

def probe(precious, package):
    detached = [answer(libc.umount2(place, 2)) for place in (b"/tmp", b"/code", b"/.host")]
    remount = answer(libc.mount(None, b"/code", None, 32 | 4096, None))
    nested = [
        in_a_namespace_of_users(["umount", "-l", "/tmp"]),
        in_a_namespace_of_users(["mount", "-o", "remount,rw,bind", "/code"]),
        in_a_namespace_of_users(["sh", "-c", "mount --bind / /opt && ls /opt/tmp/" + os.path.basename(precious)]),
    ]
    status = open("/proc/self/status").read()
    rights = {line.split()[0]: int(line.split()[1], 16) for line in status.splitlines() if line.startswith("Cap")}
    return {
        "detached": detached,
        "remounted": remount,
        "nested": [code == 0 for code in nested],
        "sees": [os.path.exists(precious), os.listdir("/.host")],
        "code": attempt(open, "/code/index.py", "a"),
        "package": attempt(open, package, "a"),
        "mounting": [name for name, bits in rights.items() if bits >> 21 & 1],
    }

def handler(event, context):
    return probe(*json.loads(event))

if __name__ == "__main__":
    print(json.dumps(probe(*sys.argv[1:])))
"""
LOCKED = {
    "detached": ["Operation not permitted"] * 3,
    "remounted": "Operation not permitted",
    "nested": [False] * 3,
    "sees": [False, []],
    "code": "Read-only file system",
    "package": "Read-only file system",
    "mounting": [],
}
"""What `PROBE` finds; 21 is the capability to mount."""


@pytest.fixture
def packages():
    """A folder of uploaded code outside of the folders that instances have of their own."""
    needs_namespaces()
    folder = Path(tempfile.mkdtemp(dir=Path.home(), prefix=".localyun-test-"))
    (folder / "other").mkdir()
    (folder / "other" / "index.py").write_text("unchanged")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def precious():
    """A file in the machine's folder for temporary files."""
    with tempfile.NamedTemporaryFile(dir="/tmp") as file:
        yield file.name


@pytest.mark.parametrize("runtime", ["python3", "nodejs20"])
async def test_no_instance_undoes_its_mounts_or_changes_uploaded_code(functions, packages, precious, runtime):
    """A forked process, one started ahead, and what either starts in a namespace of users of its own."""
    image = functions.image(PROBE, runtime=runtime, timeout_s=20, memory_mb=512)
    if runtime == "nodejs20":
        if shutil.which("node") is None:
            pytest.skip("there is no node on the PATH")
        (image.code_dir / "index.js").write_text(
            "exports.handler = (event, context, callback) => callback(null, require('child_process').execFileSync("
            f"{json.dumps(sys.executable)}, ['/code/index.py', ...JSON.parse(event)]))"
        )
    event = json.dumps([precious, str(packages / "other" / "index.py")]).encode()

    results = await functions.calls(image, event, event, packages=packages)

    assert [result.error_type for result in results] == [None, None], results[0].body
    assert [json.loads(result.body) for result in results] == [LOCKED, LOCKED]
    assert (packages / "other" / "index.py").read_text() == "unchanged"
    assert Path(precious).exists()


@pytest.mark.parametrize("place", ["home", "temporary"])
async def test_uploaded_code_is_read_only_under_its_own_name(functions, packages, tmp_path, place):
    """The next instance runs what was uploaded, wherever the state folder lies."""
    folder = packages if place == "home" else tmp_path
    image = functions.image(
        """
        import os
        def handler(event, context):
            try:
                open(os.environ["FC_FUNC_CODE_PATH"] + "/index.py", "a")
            except OSError as error:
                return error.strerror
        """
    )
    moved = folder / "digest"
    shutil.copytree(image.code_dir, moved)

    result = await functions.calls(functions.image("", code_dir=moved), b"", packages=folder)

    assert result[0].body == b"Read-only file system"


async def test_command_beside_an_instance_has_no_more_rights(functions, precious):
    """A shell in an instance is as locked in as the instance."""
    needs_namespaces()
    image = functions.image("def handler(event, context): return 'fine'")
    words = f"umount -l /tmp; [ -e {precious} ] && echo seen; echo > /code/index.py; echo over"
    written, ended = [], []

    async with functions.pool() as pool:
        await pool.provision(image, 1)
        instance = pool.instances(image.family)[0].instance_id
        pool.shell(
            instance, ShellCommand(command=("sh", "-c", words)),
            lambda channel, data: written.append(data), lambda: ended.append(True),
        )  # fmt: skip
        await until(lambda: bool(ended))

    assert b"seen" not in b"".join(written)
    assert b"over" in b"".join(written)
    assert b"Read-only file system" in b"".join(written)
    assert (image.code_dir / "index.py").read_text() != "\n"
