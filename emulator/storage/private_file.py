"""Files that only their owner can read; commands write such files too, and need nothing else of the storage."""

import os
from pathlib import Path


def write_private(path: Path, content: bytes) -> None:
    """Write *content* to *path* so that only the owner can read it, whole or not at all."""
    draft = path.with_name(path.name + ".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    draft.replace(path)
