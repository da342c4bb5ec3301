"""Certificates that are made once: emulators whose own are not under test do not each make them again."""

import atexit
import functools
import os
import shutil
import tempfile
from pathlib import Path

from emulator.http.certificate_files import times
from emulator.http.certificates import COMMON, REGIONS, authority_path
from emulator.kernel.clock import SystemClock

VARIABLE = "LOCALYUN_TESTS_CERTIFICATES"
"""Where a process finds those that another one has made."""


def give(state: Path) -> None:
    """Put an authority and its leaves into the folder of a new state, as a start has made them a moment later."""
    if not (state / "ca").exists():
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.copytree(made(), state / "ca")


def authority(usual):
    """Return the class *usual* of authorities, each of which begins with those certificates unless it has its own."""

    class Ready(usual):
        def __init__(self, folder, **how):
            if not authority_path(folder).exists():
                shutil.copytree(ready, folder, copy_function=shutil.copy, dirs_exist_ok=True)
            super().__init__(folder, **how)

    ready = made()
    return Ready


@functools.cache
def made() -> Path:
    """Return the folder with an authority and its leaves, made where no other process has made them for this one."""
    if VARIABLE in os.environ:
        return Path(os.environ[VARIABLE])
    from emulator.http import minting  # loads a library that forked commands shall not have before they ask for it

    folder = Path(tempfile.mkdtemp(prefix="localyun-certificates-"))
    atexit.register(shutil.rmtree, folder)
    minting.main([str(folder), *map(str, times(SystemClock())), COMMON, *REGIONS])
    return folder
