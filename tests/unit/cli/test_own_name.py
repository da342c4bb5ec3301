"""A project that has a module of the name of this program's package, ``emulator``."""

import json
import os
import subprocess
import sys

from tests.unit.cli.conftest import DEADLINE_S, ROOT

OTHER = "THEIRS = True\n"
COMMAND = [sys.executable, "-c", "import sys; from localyun import main; sys.exit(main())"]
"""What the installed command does; the working directory comes first in its search path."""

HANDLER = """\
import emulator

def handler(event, context):
    return str(emulator.THEIRS)
"""


def test_command_and_functions_work_beside_it(program):
    """In the working directory, on PYTHONPATH, and beside a function's handler, which sees its own."""
    function = program.folder / "functions" / "hello"
    (function / "emulator").mkdir(parents=True)
    for path in (program.folder / "emulator.py", function / "emulator" / "__init__.py"):
        path.write_text(OTHER)
    (function / "index.py").write_text(HANDLER)
    program.command = COMMAND
    program.env["PYTHONPATH"] = os.pathsep.join(map(str, (program.folder, ROOT / "emulator" / "alias")))

    started = program.run("start", "-d")
    called = program.run("invoke", "hello")
    ended = program.run("stop")

    assert started.returncode == 0, started.stderr
    assert (called.returncode, called.stdout.strip()) == (0, "True")
    assert ended.returncode == 0


def test_package_of_the_distributions_name_gives_the_names_for_tests(tmp_path):
    """All of them, from this installation, although the search path has another ``emulator`` first."""
    (tmp_path / "emulator.py").write_text(OTHER)
    program = """
import json
from localyun.testing import *
import emulator
print(json.dumps([Queue.__module__, set(emulator.testing.__all__) <= set(dir())]))
"""

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "emulator" / "alias")},
        capture_output=True, text=True, timeout=DEADLINE_S,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["emulator.testing.resources", True]


def test_module_imported_before_is_named(tmp_path):
    """Nothing can be done about it then; the message says which file it is."""
    (tmp_path / "emulator.py").write_text(OTHER)

    done = subprocess.run(
        [sys.executable, "-c", "import emulator, localyun.testing as kit; kit.Queue"], cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "emulator" / "alias")},
        capture_output=True, text=True, timeout=DEADLINE_S,
    )  # fmt: skip

    assert done.returncode == 1
    assert f"a module that is imported already ({tmp_path / 'emulator.py'}): rename that one" in done.stderr
