"""Packages of code as files: a folder where packing it again gives the same, else the archive itself."""

import stat
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path, PurePosixPath
from zipfile import BadZipFile, ZipFile

from emulator.deploy.files import LARGEST_PACKAGE, is_left_out

Content = Mapping[str, tuple[bytes, bool]]
"""Files of a package by name: their bytes, and whether they can be run."""


def content(package: bytes) -> Content:
    """Return the files of a zip; of what is none or is too large, nothing."""
    try:
        with ZipFile(BytesIO(package)) as archive:
            rows = [row for row in archive.infolist() if not row.is_dir()]
            if sum(row.file_size for row in rows) > LARGEST_PACKAGE:
                return {}
            return {row.filename: (archive.read(row), bool(row.external_attr >> 16 & stat.S_IXUSR)) for row in rows}
    except (BadZipFile, OSError, ValueError, RuntimeError, NotImplementedError, EOFError):
        return {}


def same_code(one: bytes | None, other: bytes | None) -> bool:
    """Whether two packages hold the same files, whatever packed them."""
    if one is None or other is None or one == other:
        return one == other
    mine = content(one)
    return bool(mine) and mine == content(other)


def write(package: bytes, folder: Path, name: str) -> str:
    """Write a package as ``folder/name`` or ``folder/name.zip`` and return which."""
    files = content(package)
    if not files or not all(map(_is_plain, files)) or _has_links(package):
        (folder / f"{name}.zip").write_bytes(package)
        return f"{name}.zip"
    for path, (text, runnable) in files.items():
        target = folder / name / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text)
        target.chmod(0o755 if runnable else 0o644)
    return name


def _is_plain(name: str) -> bool:
    """Whether a file may be written below a folder and is not left out when that is packed."""
    path = PurePosixPath(name)
    safe = (
        not path.is_absolute() and ".." not in path.parts and "\\" not in name and ":" not in name and "\0" not in name
    )
    return safe and str(path) == name and not is_left_out(path)


def _has_links(package: bytes) -> bool:
    with ZipFile(BytesIO(package)) as archive:
        return any(stat.S_ISLNK(row.external_attr >> 16) for row in archive.infolist())
