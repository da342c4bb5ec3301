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

ROOT = Path(__file__).resolve().parents[2]
PATCHES = Path(__file__).parent / "patches"
FORMS = "tests/unit/wire/schema/test_every_form.py"

NEWCOMERS = {"function": (2, 8), "queue": (3, 10), "role": (3, 8), "schedule": (3, 8), "subscription": (3, 10)}
"""By resource: the most files that its patch touches, and in how many forms the attribute is found at least."""


@pytest.mark.parametrize("resource", NEWCOMERS)
def test_a_new_attribute_is_in_every_form(resource, tmp_path):
    """Applying the patch is all there is to do."""
    files, forms = NEWCOMERS[resource]
    patch = PATCHES / f"{resource}.patch"
    for folder in ("emulator", "tests/unit/wire/schema"):
        shutil.copytree(ROOT / folder, tmp_path / folder)  # with what is compiled, as long as a file keeps its time

    applied = subprocess.run(["git", "apply", patch], cwd=tmp_path, capture_output=True, text=True, check=False)
    checked = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", tmp_path,
         "-k", "MaxReceives or maxReceives or come_back", FORMS],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert applied.returncode == 0, applied.stderr
    assert checked.returncode == 0, checked.stdout[-4000:]
    assert int(re.search(r"(\d+) passed", checked.stdout)[1]) - 5 >= forms
    assert patch.read_text(encoding="utf-8").count("diff --git") <= files
