"""Templates can be read: short lines, short files, each part of a page in a file of its own."""

from pathlib import Path

import pytest

import emulator.console

FOLDER = Path(emulator.console.__file__).parent / "templates"
TEMPLATES = sorted(FOLDER.rglob("*.html"))
WIDEST = 120
LONGEST = 100
MACROS = {"parts.html"}
"""Files of macros, which are read one by one."""


@pytest.mark.parametrize("path", TEMPLATES, ids=[str(each.relative_to(FOLDER)) for each in TEMPLATES])
def test_template_has_lines_that_can_be_read(path):
    """As wide as lines of code are."""
    lines = path.read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if len(line) > WIDEST] == []
    assert len(lines) <= LONGEST or path.name in MACROS
