"""Taking files out of archives that tests have had made, on every Python."""

import tarfile
from pathlib import Path


def unpack(archive: tarfile.TarFile, folder: Path, *names: str) -> None:
    """Put the members *names*, or all, into *folder*."""
    safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # from Python 3.11.4 on
    archive.extractall(folder, [archive.getmember(name) for name in names] or None, **safe)
