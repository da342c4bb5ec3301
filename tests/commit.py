"""The commit that figures are of."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def commit(root: Path = ROOT) -> str:
    """Return the short name of the commit in *root*, with a plus when files have changed since.

    "unknown" without Git, or in a copy of the files.
    """
    command = ["git", "describe", "--always", "--abbrev=8", "--exclude=*", "--dirty=+"]
    try:
        return subprocess.run(command, cwd=root, check=True, capture_output=True, encoding="ascii").stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
