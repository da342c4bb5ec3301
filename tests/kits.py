"""`emulator.testing` in tests: what starts the program from this installation forks it."""

from emulator.testing import kit, process
from tests import commands


def are_forked(patching):
    """Have the emulators and commands of kits in this process forked (`commands`); *patching* can undo it."""
    for each in (process, kit):
        patching.setattr(each, "subprocess", commands.Forking())
