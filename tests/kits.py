"""`emulator.testing` in tests: what starts the program from this installation forks it.

A plugin too, for a pytest that is started as a user's is, with the variables of `commands.shared`.
"""

import sys

import pytest

from emulator.testing import kit, process
from tests import commands


def are_forked(patching):
    """Have the emulators and commands of kits in this process forked (`commands`); *patching* can undo it."""
    for each in (process, kit):
        patching.setattr(each, "subprocess", commands.Forking())


def pytest_configure(config):
    """Have them forked in a project, which may have modules of the name that these are in."""
    are_forked(pytest.MonkeyPatch())
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
