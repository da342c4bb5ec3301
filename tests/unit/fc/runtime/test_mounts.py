"""What instances find again in the folders that they have of their own."""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from emulator.services.fc.runtime import mounts
from emulator.services.fc.runtime.model import InstanceStartFailed
from emulator.services.fc.runtime.settings import RuntimeSettings
from tests.unit.fc.runtime.test_isolation import needs_namespaces


class Instance:
    """As much of an instance as its mounts are made for."""

    instance_id = "c-1"

    def __init__(self, image):
        self.image = image


@pytest.fixture(params=["/tmp", "/var/tmp", "/dev/shm"])
def covered(request):
    """A new folder below each of those that instances do not see."""
    needs_namespaces()
    folder = Path(tempfile.mkdtemp(dir=request.param, prefix="localyun test-ü-"))
    yield folder
    shutil.rmtree(folder)


LOOK = """
import os
def handler(event, context):
    return {name: os.path.exists(name) for name in event.decode().split("|")}
"""


async def test_uploaded_code_runs_wherever_the_state_is(functions, covered):
    """In any of the folders, for Python and for Node.js; what lies beside it is not seen."""
    (covered / "beside").touch()
    python, node = covered / "python", covered / "node"
    for folder in (python, node):
        folder.mkdir()
    (python / "index.py").write_text(LOOK)
    (node / "index.js").write_text(
        "const fs = require('fs');\n"
        "exports.handler = (event, context, callback) => callback(null, JSON.stringify("
        "Object.fromEntries(event.toString().split('|').map((name) => [name, fs.existsSync(name)]))))"
    )
    names = [str(python / "index.py"), str(node / "index.js"), str(covered / "beside")]
    event = "|".join(names).encode()

    image = functions.image(LOOK, code_dir=python)
    assert json.loads((await functions.calls(image, event))[0].body) == dict(
        zip(names, (True, False, False), strict=True)
    )
    if shutil.which("node"):
        image = functions.image(LOOK, code_dir=node, runtime="nodejs20", timeout_s=20)
        first, second = await functions.calls(image, event, event)
        expected = dict(zip(names, (False, True, False), strict=True))
        assert [json.loads(each.body) for each in (first, second)] == [expected] * 2


async def test_project_is_seen_and_cannot_be_changed(functions, covered):
    """As far as code used in place shares files with it; code stays the user's, and secrets are not shown."""
    project = covered / "project"
    code = project / "functions" / "one"
    code.mkdir(parents=True)
    for name in ("shared", "secret"):
        (project / name).write_text(name)
    (code / "index.py").write_text(
        "import os\n"
        "def handler(event, context):\n"
        "    project = os.path.abspath('../..')\n"
        "    open('mine', 'w').close()\n"
        "    try:\n"
        "        open(project + '/new', 'w')\n"
        "    except OSError as error:\n"
        "        return [error.strerror, open(project + '/shared').read(), open(project + '/secret').read()]\n"
    )
    image = functions.image("", code_dir=code)

    plain = (await functions.calls(image, b"", project=project))[0]
    assert json.loads(plain.body) == ["Read-only file system", "shared", "secret"]
    assert (code / "mine").exists()

    (code / "index.py").write_text((code / "index.py").read_text().replace("open('mine', 'w').close()", "pass"))
    confined = (covered / "none", project / "secret")
    again = functions.image("", code_dir=code)
    isolated = (await functions.calls(again, b"", project=project, confined=confined))[0]
    assert json.loads(isolated.body) == ["Read-only file system", "shared", ""]


async def test_a_whole_interpreter_comes_with_the_program_that_is_named(functions, covered):
    """Also with a space in its name, and when `bin` is on the path: libraries lie beside that folder."""
    (covered / "kit" / "bin").mkdir(parents=True)
    (covered / "kit" / "lib").mkdir()
    (covered / "kit" / "lib" / "word").write_text("found")
    program = covered / "kit" / "bin" / "program"
    program.write_text('#!/bin/sh\ncat "$(dirname "$0")/../lib/word"\n')
    program.chmod(0o755)
    image = functions.image("def handler(event, context): return 'unused'", runtime="custom", command=(str(program),))

    with pytest.raises(InstanceStartFailed, match="found"):  # it has read its library, and listens to nothing
        await functions.calls(image, b"")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{0}/a b/c:{0}/d", ["{0}/a b/c", "{0}/d"]),
        ("--require '{0}/a b/c' -x={0}/d", ["{0}/a b/c", "{0}/d"]),
        ("{0}/none:{0}/d/*", ["{0}/d/"]),
        ("/usr{0}/d", []),
    ],
    ids=["path list", "quoted and after a sign", "missing and with a star", "elsewhere"],
)
def test_names_in_variables(tmp_path, text, found):
    """The longest name that exists, with whatever letters."""
    folder = tempfile.mkdtemp(dir="/tmp")
    try:
        (Path(folder) / "a b").mkdir()
        (Path(folder) / "a b" / "c").touch()
        (Path(folder) / "d").mkdir()

        assert list(mounts._named_in(text.format(folder))) == [name.format(folder) for name in found]
    finally:
        shutil.rmtree(folder)


async def test_interpreter_is_whole_when_its_programs_are_on_the_path(functions, covered, monkeypatch):
    """An activated environment below such a folder: what is installed in it can be imported."""
    environment = covered / "environment"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(sys._base_executable)
    (environment / "pyvenv.cfg").write_text(f"home = {Path(sys._base_executable).parent}\n")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = environment / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    (packages / "installed_beside.py").write_text("WORD = 'beside'\n")
    monkeypatch.setenv("PATH", f"{environment}/bin", prepend=":")
    image = functions.image(
        "def handler(event, context):\n    import installed_beside\n    return installed_beside.WORD\n",
        runtime="python3.9",
    )

    result = (await functions.calls(image, b"", interpreters={"python3.9": str(environment / "bin" / "python")}))[0]

    assert result.body == b"beside"


async def test_shell_reads_code_in_a_folder_with_a_space(functions, covered):
    """`/code` in its text stays what it is, where the instance has it."""
    (covered / "word").write_text("found")
    command = ("sh", "-c", "cat /code/word; exit 1")

    with pytest.raises(InstanceStartFailed, match="found"):
        await functions.calls(functions.image("", runtime="custom", command=command, code_dir=covered), b"")


@pytest.mark.parametrize("needed", ["code", "project", "program", "nothing"])
async def test_the_machines_code_folder_stays_where_something_in_it_is_needed(functions, tmp_path, monkeypatch, needed):
    """Also when it is a link; otherwise the instance finds its own code there."""
    real, linked, other = tmp_path / "real", tmp_path / "linked", tmp_path / "other"
    for folder in (real / "functions" / "one", other / "functions" / "one"):
        folder.mkdir(parents=True)
    linked.symlink_to(real)
    monkeypatch.setattr(mounts, "CODE", str(linked))
    code = (real if needed in ("code", "project") else other) / "functions" / "one"
    if needed == "program":
        monkeypatch.setattr(mounts, "_EMULATOR", str(real))
    settings = RuntimeSettings(scratch=tmp_path, project=code.parents[1] if needed == "project" else None)
    instance = Instance(functions.image("", code_dir=code))

    found = mounts.mounts_of(instance, settings, {"command": [], "environment": {}})["mounts"]

    assert (str(linked) in [target for _, target, _ in found]) == (needed == "nothing")
