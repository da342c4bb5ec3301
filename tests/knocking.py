"""A plugin for a pytest of its own: the emulators and commands that `emulator.testing` starts there are forked.

The variable TYPED holds what `tests.commands.typed` returns (`tests.own_pytest.forking`).
"""

import os
import shlex

from emulator.kernel import system


def _forked(*words: str) -> list[str]:
    return [*shlex.split(os.environ["TYPED"]), *words]


system.own_command = _forked
