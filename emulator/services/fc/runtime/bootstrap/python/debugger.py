"""The debugger inside an instance: debugpy, which is imported for an instance that is to be debugged and for no other.

debugpy belongs to the emulator's environment. An interpreter mapped to another version gets it from there as well, but
only this package: the folder it lies in is on the import path during the import alone.
"""

from __future__ import annotations

import importlib
import os
import sys

_waited: list[bool] = []


def listen(folder: str) -> int:
    """Listen on a free port of the loopback interface and return it; *folder* is where debugpy lies.

    Raises: ImportError without debugpy; RuntimeError when it does not come up.
    """
    # The interpreter's own frozen modules need no breakpoints, and a warning about them would be in the function's log.
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    sys.path.insert(0, folder)
    try:
        debugpy = importlib.import_module("debugpy")
    finally:
        sys.path.remove(folder)
    port: int = debugpy.listen(("127.0.0.1", 0))[1]
    return port


def wait_for_client() -> None:
    """Wait until a debugger is attached and has set its breakpoints; does not wait a second time."""
    if not _waited:
        _waited.append(True)
        importlib.import_module("debugpy").wait_for_client()
