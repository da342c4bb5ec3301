"""What a newcomer's attribute costs: patches that add ``MaxReceives`` (1 to 1000, 100) where somebody would add it.

Each touches the row with its member, the rule that uses it and one migration, and nothing else; applied to a copy of
the program, the attribute is stored, shown, set and documented in every form, as the cases of `test_every_form` find.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.once import once

ROOT = Path(__file__).resolve().parents[2]
PATCHES = Path(__file__).parent / "patches"
FORMS = "tests/unit/wire/schema/test_every_form.py"

NEWCOMERS = {"function": (2, 8), "queue": (3, 10), "role": (3, 8), "schedule": (3, 8), "subscription": (3, 10)}
"""By resource: the most files that its patch touches, and in how many forms the attribute is found at least."""
DIALECTS = r"function|20\d\d-\d\d-\d\d"
"""What cases of functions are named after."""


SPARED = ("cacheprovider", "hypothesispytest", "localyun", "randomly", "asyncio", "anyio", "xdist")
"""Plugins that the forms' cases do without; to load them takes as long as to run the cases."""


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    """The cases that have found an attribute, by name, in a copy of the program with all patches.

    The newcomers are of five resources: no patch sees another, but for the number of the next migration.
    """
    return once(tmp_path_factory, "newcomers", lambda: applied(tmp_path_factory.mktemp("program")))


def applied(folder):
    for name in ("emulator", "tests/unit/wire/schema"):
        shutil.copytree(ROOT / name, folder / name)  # with what is compiled, as long as a file keeps its time
    patches = [PATCHES / f"{resource}.patch" for resource in NEWCOMERS]

    patched = subprocess.run(["git", "apply", *patches], cwd=folder, capture_output=True, text=True, check=False)
    checked = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rp", *(word for name in SPARED for word in ("-p", f"no:{name}")),
         "-c", os.devnull, "--rootdir", folder, "-k", "MaxReceives or maxReceives or come_back", FORMS],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert patched.returncode == 0, patched.stderr
    assert checked.returncode == 0, checked.stdout[-4000:]
    return re.findall(r"^PASSED \S+::(.*)", checked.stdout, re.MULTILINE)


def test_settings_with_newcomers_come_back(forms):
    """Those of each resource that has a row of settings are read as they were written."""
    assert len([name for name in forms if "come_back" in name]) == 5


@pytest.mark.parametrize("resource", NEWCOMERS)
def test_a_new_attribute_is_in_every_form(forms, resource):
    """Applying the patch is all there is to do."""
    files, least = NEWCOMERS[resource]
    patch = (PATCHES / f"{resource}.patch").read_text(encoding="utf-8")
    of_resource = DIALECTS if resource == "function" else re.escape(resource)

    assert len([name for name in forms if re.search(rf"\[.*({of_resource}).* [mM]axReceives", name)]) >= least
    assert patch.count("diff --git") <= files
