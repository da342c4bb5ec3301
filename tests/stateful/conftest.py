"""Where the files of what is compared with models lie."""

import os
import tempfile
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")


@pytest.fixture(scope="module", autouse=True)
def _files_in_memory():
    """Restarts and kills leave the machine running, so that files in memory outlive them; nobody waits for a disk."""
    with pytest.MonkeyPatch.context() as patching:
        if os.access(MEMORY, os.W_OK):
            patching.setattr(tempfile, "tempdir", str(MEMORY))
        yield
