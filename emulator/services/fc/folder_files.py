"""The files of a functions folder: listings, fingerprints, YAML. What cannot be read is not there.

Only a system that has no means left to read anything raises OSError: a function must not seem to be gone, or broken,
because there was no file descriptor to look at it.

`os` functions on plain texts, not `pathlib`: all of this runs for every function twice a second.
"""

import errno
import json
import os
import stat
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

_CODE_SUFFIXES = frozenset({".py", ".js", ".mjs", ".cjs", ".php", ".jar", ".class", ".dll", ".so", ".go", ".rb", ".sh"})
_CODE_NAMES = frozenset({"bootstrap", "main"})
SKIPPED = frozenset({"__pycache__", "node_modules"})
"""Folders whose files never count as a function's own."""

_NOT_NOW = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR, errno.EAGAIN, errno.EIO})
"""Errors that say nothing about a file."""

_DEEPEST = 12
_MOST_FILES = 5000
"""Beyond this many files of one function edits are noticed by its folders only, to keep watching cheap."""


class YamlFile(NamedTuple):
    """A YAML file that was read: its fields, or what is wrong with it (then there are no fields)."""

    stamp: tuple[int, int]
    content: Mapping[str, Any]
    problem: str


class YamlFiles:
    """Reads YAML files; one that has not changed is not parsed again."""

    def __init__(self) -> None:
        self._parsed: dict[str, YamlFile] = {}

    def read(self, path: str, name: str) -> YamlFile | None:
        """Return ``name.yml`` (or ``name.yaml``) in the folder *path*, None when there is neither."""
        file = yaml_path(path, name)
        try:
            status = os.stat(file)  # noqa: PTH116 - see above
        except OSError:
            return None
        stamp = (status.st_mtime_ns, status.st_size)
        known = self._parsed.get(file)
        if known is None or known.stamp != stamp:
            known = self._parsed[file] = _parse(file, stamp)
        return known


def _parse(file: str, stamp: tuple[int, int]) -> YamlFile:
    from emulator.wire.yaml import UnreadableYaml, read_yaml  # only a folder with a yml file pays for it

    try:
        content = read_yaml(Path(file).read_bytes())
    except UnreadableYaml as error:
        return YamlFile(stamp, {}, f"{file}:{error.line}:{error.column}: {error.problem}")
    except OSError as error:
        if error.errno in _NOT_NOW:
            raise
        return YamlFile(stamp, {}, f"{file}: {error}")
    if content is None:
        return YamlFile(stamp, {}, "")
    if not isinstance(content, dict):
        return YamlFile(stamp, {}, f"{file}: it must hold fields with values")
    try:  # what goes into the store is JSON: dates become texts, keys too, and nothing contains itself
        content = json.loads(json.dumps(content, default=str))
    except (ValueError, TypeError, RecursionError) as error:
        return YamlFile(stamp, {}, f"{file}: {error}")
    return YamlFile(stamp, content, "")


def yaml_path(path: str, name: str) -> str:
    """Return the path of ``name.yml`` in the folder *path*, or of ``name.yaml`` when only that is there."""
    file = f"{path}{os.sep}{name}.yml"
    if not os.path.exists(file) and os.path.exists(file[:-3] + "yaml"):  # noqa: PTH110 - see above
        return file[:-3] + "yaml"
    return file


def entries(path: str | Path) -> list[os.DirEntry[str]]:
    """Return the visible entries of a folder by name, none when it cannot be read.

    Raises: OSError when nothing can be read at present.
    """
    try:
        with os.scandir(path) as listing:
            return sorted((entry for entry in listing if entry.name[0] != "."), key=lambda entry: entry.name)
    except OSError as error:
        if error.errno in _NOT_NOW:
            raise
        return []


def folders(path: str | Path) -> Iterator[os.DirEntry[str]]:
    """Return the folders in a folder by name."""
    return (entry for entry in entries(path) if entry.name != "__pycache__" and _is_folder(entry))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def is_function(path: str) -> bool:
    """Tell whether a folder is a function: it has a function.yml, or code and no service.yml."""
    names = {entry.name for entry in entries(path) if not _is_folder(entry)}
    if names & {"function.yml", "function.yaml"}:
        return True
    if names & {"service.yml", "service.yaml"}:
        return False
    return any(name in _CODE_NAMES or os.path.splitext(name)[1] in _CODE_SUFFIXES for name in names)  # noqa: PTH122 - see above


def fingerprint(path: str, skipped: frozenset[str]) -> tuple[str, int]:
    """Return a text that changes with every edit below *path*, shaped like a code checksum, and the size of the files.

    Names, sizes and times stand for the content. Folders in *skipped* (caches, installed modules, the versions beside
    a 3.0 function's code) are not followed.
    """
    seen: list[str] = []
    size = 0
    followed: set[int] = set()  # a link may lead back up
    pending = [(path, "", 0)]
    while pending:
        folder, prefix, depth = pending.pop()
        for entry in entries(folder):
            try:
                status = entry.stat()
            except OSError:
                continue  # gone since it was listed, or a dangling link
            relative = prefix + entry.name
            if stat.S_ISDIR(status.st_mode):
                if entry.name in skipped:
                    if entry.name == "node_modules":
                        seen.append(f"{relative} {status.st_mtime_ns}")
                elif depth < _DEEPEST and len(seen) < _MOST_FILES and status.st_ino not in followed:
                    followed |= {status.st_ino} - {0}  # 0 where the system does not tell
                    pending.append((entry.path, relative + "/", depth + 1))
                continue
            size += status.st_size
            seen.append(f"{relative} {status.st_size} {status.st_mtime_ns} {status.st_mode & 0o111}")
    digest = sha256("\n".join(sorted(seen)).encode("utf-8", "surrogateescape")).digest()
    return str(int.from_bytes(digest[:8], "big")), size
