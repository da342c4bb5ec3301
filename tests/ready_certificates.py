"""Certificates that are made once: emulators whose own are not under test do not each make them again."""

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

from emulator.http.certificates import COMMON, REGIONS
from emulator.kernel.clock import SystemClock


def give(state: Path) -> None:
    """Put an authority and its leaves into the folder of a new state, as a start has made them a moment later."""
    if not (state / "ca").exists():
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.copytree(_made(), state / "ca")


@functools.cache
def _made() -> Path:
    from emulator.http import minting  # loads a library that forked commands shall not have before they ask for it

    folder = Path(tempfile.mkdtemp(prefix="localyun-certificates-"))
    atexit.register(shutil.rmtree, folder)
    minting.main([str(folder), str(SystemClock().now()), COMMON, *REGIONS])
    return folder
