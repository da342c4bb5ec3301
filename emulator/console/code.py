"""The code of a function as its page shows it. Read in the console's thread, never on the loop."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

FILES = 50
"""So many files are listed."""

_SHOWN = frozenset(
    (".py", ".js", ".mjs", ".ts", ".go", ".php", ".sh", ".json", ".yml", ".yaml", ".toml", ".txt", ".md")
)
_NAMES = frozenset({"bootstrap", "Dockerfile"})
_LARGEST = 100_000
_DEPTH = 4


def files_of(folder: Path | None) -> list[dict[str, Any]]:
    """Return the files: ``name``, ``size``, and ``text`` and ``lines`` of those that are text and not large."""
    if folder is None or not folder.is_dir():
        return []
    return [_file(path, folder) for path in islice(_walk(folder, _DEPTH), FILES)]


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir(), key=lambda each: (each.is_dir(), each.name))
    except OSError:
        return
    for each in entries:
        if each.is_symlink() or each.name.startswith(".") or each.name in {"__pycache__", "node_modules"}:
            continue
        if each.is_file():
            yield each
        elif depth and each.is_dir():
            yield from _walk(each, depth - 1)


def _file(path: Path, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"name": str(path.relative_to(folder)), "size": 0, "text": None}
    try:
        found["size"] = path.stat().st_size
        if (path.suffix in _SHOWN or path.name in _NAMES) and found["size"] <= _LARGEST:
            found["text"] = path.read_bytes().decode("utf-8", "replace")
            found["lines"] = len(found["text"].splitlines())
    except OSError:
        pass
    return found
