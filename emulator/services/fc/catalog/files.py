"""Files of a functions folder: YAML with the places of its values, which files are code, fingerprints of folders.

A file that cannot be read counts as empty, or its problem is returned; an OSError is raised only for transient errors
such as a lack of file descriptors. YAML is imported when the first file needs it.
"""

import errno
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from emulator.services.fc.catalog.watching import Unwatched
from emulator.services.fc.errors import InvalidArgument

_CODE_SUFFIXES = frozenset({".py", ".js", ".mjs", ".cjs", ".php", ".jar", ".class", ".dll", ".so", ".go", ".rb", ".sh"})
_CODE_NAMES = frozenset({"bootstrap", "main"})
SKIPPED = frozenset({"__pycache__", "node_modules"})
"""Folders whose files never count as a function's own."""

_JAVASCRIPT = re.compile(rb"^(?:module\.)?exports\.handler\s*=|^export .*\bhandler\b", re.MULTILINE)
_HANDLERS = {
    ".py": re.compile(rb"^(?:async )?def handler\(", re.MULTILINE),
    **dict.fromkeys((".js", ".mjs", ".cjs"), _JAVASCRIPT),
}
"""The definition of a handler, by which a file is known as a function's code; shared modules beside it have none."""
_LARGEST_READ = 1024 * 1024

_NOT_NOW = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR, errno.EAGAIN, errno.EIO})
"""Transient errors of the system, which say nothing about the file."""

_DEEPEST = 40
_MOST_FILES = 50_000
"""Folders of a function beyond this many files and levels are left out: a link may lead anywhere."""


class YamlFile(NamedTuple):
    """A YAML file that was read: its fields and their places, or what is wrong with it (then there are no fields).

    ``stamp`` is its time and size, None where there is no such file.
    """

    file: str
    stamp: tuple[int, int] | None
    content: Mapping[str, Any] = {}
    problem: str = ""
    marks: Mapping[tuple[str, ...], tuple[int, int]] = {}

    def place(self, *path: str) -> str:
        """Return where the value at *path* stands, as ``file:line:column``; the file where there is no such value."""
        mark = self.marks.get(path)
        return f"{self.file}:{mark[0]}:{mark[1]}" if mark else self.file

    def placed(self, error: InvalidArgument) -> str:
        """Return an error that begins with the name of a field, with its place."""
        name = re.split(r"[ .\[]", error.message, maxsplit=1)[0].lower()
        field = next((key for key in self.content if key.lower() == name), "")
        return f"{self.place(field)}: {error.message}"


class YamlFiles:
    """Reads YAML files; one that has not changed is not parsed again."""

    def __init__(self) -> None:
        self._parsed: dict[str, YamlFile] = {}

    def read(self, path: str, name: str, *, anew: bool) -> YamlFile:
        """Return ``name.yml``, or ``name.yaml`` when only that is there, of the folder *path*.

        With *anew* it is parsed even when its time and size are as they were: a clock's tick has room for two writes.
        """
        for file in (f"{path}{os.sep}{name}.yml", f"{path}{os.sep}{name}.yaml"):
            try:
                status = os.stat(file)  # noqa: PTH116 - see above
            except OSError:
                continue
            stamp = (status.st_mtime_ns, status.st_size)
            known = self._parsed.get(file)
            if known is None or anew or known.stamp != stamp:
                known = self._parsed[file] = _parse(file, stamp)
            return known
        return YamlFile(f"{path}{os.sep}{name}.yml", None)


def _parse(file: str, stamp: tuple[int, int]) -> YamlFile:
    from emulator.wire.yaml import UnreadableYaml, read_document  # only a folder with a yml file pays for it

    try:
        content, marks = read_document(Path(file).read_bytes())
        if content is not None and not isinstance(content, dict):
            return YamlFile(file, stamp, problem=f"{file}: it must hold fields with values")
        # what goes into the store is JSON: dates become texts, keys too, and nothing contains itself
        content = json.loads(json.dumps(content or {}, default=str))
    except UnreadableYaml as error:
        return YamlFile(file, stamp, problem=f"{file}:{error.line}:{error.column}: {error.problem}")
    except (OSError, ValueError, TypeError, RecursionError) as error:
        if isinstance(error, OSError) and error.errno in _NOT_NOW:
            raise
        return YamlFile(file, stamp, problem=f"{file}: {error}")
    return YamlFile(file, stamp, content, marks=marks)


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


Follow = Callable[["os.DirEntry[str]"], bool]
"""Whether an entry is followed when it is a link."""


def folders(path: str | Path, follow: Follow) -> Iterator[os.DirEntry[str]]:
    """Return the folders in a folder by name."""
    return (entry for entry in entries(path) if entry.name != "__pycache__" and _is_folder(entry) and follow(entry))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def is_function(path: str) -> bool:
    """Whether a folder is a function: it has a function.yml, or code and no service.yml."""
    names = {entry.name for entry in entries(path) if not _is_folder(entry)}
    if names & {"function.yml", "function.yaml"}:
        return True
    if names & {"service.yml", "service.yaml"}:
        return False
    return any(name in _CODE_NAMES or os.path.splitext(name)[1] in _CODE_SUFFIXES for name in names)  # noqa: PTH122 - see above


def lone_handler(entry: os.DirEntry[str]) -> str:
    """Return ``index`` with the suffix of a file that defines the usual handler; empty for other files."""
    suffix = Path(entry.name).suffix
    handler = _HANDLERS.get(suffix)
    try:
        if handler is not None and entry.is_file() and entry.stat().st_size <= _LARGEST_READ:
            return f"index{suffix}" if handler.search(Path(entry.path).read_bytes()) else ""
    except OSError:
        pass
    return ""


def fingerprint(path: str, skipped: frozenset[str], follow: Follow, watches: Unwatched) -> tuple[str, int]:
    """Return a text that changes with every edit below *path*, shaped like a code checksum, and the size of the files.

    Names, sizes and times stand for the content. Folders in *skipped* (caches, installed modules, the versions beside
    a 3.0 function's code) are not followed, nor are links that *follow* is against. Every folder is given to *watches*
    before it is listed.
    """
    seen: list[str] = []
    size = 0
    followed: set[int] = set()  # a link may lead back up
    pending = [(path, "", 0)]
    while pending:
        folder, prefix, depth = pending.pop()
        watches.folder(folder, path)
        for entry in entries(folder):
            if entry.name not in skipped and not follow(entry):
                continue
            if entry.is_symlink():
                watches.folder(os.path.dirname(os.path.realpath(entry.path)), path)  # noqa: PTH120 - see above
            try:
                status = entry.stat()
            except OSError:
                continue  # gone since it was listed, or a dangling link
            relative = prefix + entry.name
            if stat.S_ISDIR(status.st_mode):
                if entry.name in skipped:
                    if entry.name == "node_modules":
                        watches.modules(entry.path, path)
                        seen.append(f"{relative} {status.st_mtime_ns}")
                elif depth < _DEEPEST and len(seen) < _MOST_FILES and status.st_ino not in followed:
                    followed |= {status.st_ino} - {0}  # 0 where the system has no such number
                    pending.append((entry.path, relative + "/", depth + 1))
                continue
            size += status.st_size
            seen.append(f"{relative} {status.st_size} {status.st_mtime_ns} {status.st_mode & 0o111}")
    digest = sha256("\n".join(sorted(seen)).encode("utf-8", "surrogateescape")).digest()
    return str(int.from_bytes(digest[:8], "big")), size
