"""Templates of the console that are compiled once: an emulator takes what another one of the run has compiled.

Compiling takes longer than making the page. What is kept is found by its source.
"""

import atexit
import contextlib
import functools
import os
import shutil
import tempfile
from pathlib import Path

VARIABLE = "LOCALYUN_TESTS_TEMPLATES"
"""Where a process finds the folder."""


@functools.cache
def kept() -> Path:
    """Return the folder for them, which is removed when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="localyun-templates-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def use() -> None:
    """Have consoles of this process look into the folder first."""
    from flask import Flask  # here, because tests themselves make no pages
    from jinja2 import FileSystemBytecodeCache

    class Kept(FileSystemBytecodeCache):
        def dump_bytecode(self, bucket):
            with contextlib.suppress(OSError):  # an emulator may still run when the folder is gone
                super().dump_bytecode(bucket)

    Flask.jinja_options = {"bytecode_cache": Kept(os.environ[VARIABLE])}
