"""An earlier version of the program, checked out for the time of a run, to be measured beside today's."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@contextmanager
def checked_out(commit: str) -> Iterator[Path | None]:
    """Check out *commit* for a while; None where that cannot be done."""
    folder = Path(tempfile.mkdtemp(prefix="localyun-bench-before-")) / "localyun"
    git = shutil.which("git") or "git"
    try:
        subprocess.run(
            [git, "worktree", "add", "--detach", str(folder), commit], cwd=ROOT, check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError):
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run([git, "worktree", "remove", "--force", str(folder)], cwd=ROOT, check=True, capture_output=True)
        folder.parent.rmdir()
