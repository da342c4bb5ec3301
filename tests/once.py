"""What is the same for all processes of a run is made by the first of them that asks."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

try:
    import fcntl
except ImportError:  # no locks of this kind here: each process makes its own
    fcntl = None  # type: ignore[assignment]


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[], Any]) -> Any:
    """Return what *make* returns, in JSON's terms; processes that ask meanwhile wait for it.

    *name* is a file's, and what is made once under it; what *make* raises the next one that asks meets itself.
    """
    folder = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    kept = folder / f"{name}.json"
    with (folder / f"{name}.lock").open("w") as lock:
        if fcntl is None:
            return make()
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            kept.write_text(json.dumps(make()), encoding="utf-8")
        return json.loads(kept.read_text(encoding="utf-8"))
