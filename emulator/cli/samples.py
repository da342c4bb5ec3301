"""Where the example functions and applications are: in the wheel beside the code, else in the source tree."""

from pathlib import Path

import emulator
from emulator.cli.failures import CommandFailed
from emulator.kernel.frozen import frozen


@frozen
class Samples:
    """The folders ``functions`` and ``sample-apps``."""

    functions: Path
    apps: Path


def locate() -> Samples:
    """Return the folders of the examples.

    Raises: CommandFailed when they were left out of the installation.
    """
    package = Path(emulator.__file__).parent
    for root in (package / "_samples", package.parent):
        found = Samples(functions=root / "functions", apps=root / "sample-apps")
        if found.functions.is_dir() and found.apps.is_dir():
            return found
    raise CommandFailed(f"the example applications are missing from the installation in {package}")
