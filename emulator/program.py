"""The command ``localyun`` as a child process of this program."""

import sys
from pathlib import Path


def own_command(*words: str) -> list[str]:
    """Return the command line of ``localyun`` with these *words*, run by this interpreter from this installation.

    The working directory is left out of the search path, and its other folders come after this one: each may have an
    ``emulator`` of its own.
    """
    root = str(Path(__file__).parent.parent)
    claim = f"import sys; sys.path.insert(0, {root!r}); import emulator; sys.path.remove({root!r})"
    program = f"{claim}; from emulator.cli.main import main; sys.exit(main())"
    return [sys.executable, "-P", "-c", program, *words]
