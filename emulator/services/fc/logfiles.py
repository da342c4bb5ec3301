"""Bounded log files on disk: append, rotate, read the end."""

from collections import deque
from pathlib import Path

_BLOCK = 64 * 1024
_OPEN_FILES = 16


class LogFiles:
    """Appends to files, rotates them and reads their ends; a few stay open. Used by one thread."""

    def __init__(self, file_bytes: int) -> None:
        self._file_bytes = file_bytes
        self._open: dict[Path, _Appender] = {}

    def append(self, path: Path, text: bytes) -> None:
        """Append *text*, moving a file that would grow over its bound to ``.1`` first.

        Raises: OSError.
        """
        file = self._open.pop(path, None)
        if file is None:
            while len(self._open) >= _OPEN_FILES:
                self._open.pop(next(iter(self._open))).close()
            file = _Appender(path)
        self._open[path] = file  # last used last
        if file.size and file.size + len(text) > self._file_bytes:
            file.close()
            path.replace(path.with_name(path.name + ".1"))
            file = self._open[path] = _Appender(path)
        file.append(text)

    def tail(self, path: Path, lines: int) -> bytes:
        """Return the last *lines* lines, reaching back over the last rotation.

        Raises: OSError.
        """
        found = _last_lines(path, lines)
        missing = lines - found.count(b"\n")
        if missing > 0:
            found = _last_lines(path.with_name(path.name + ".1"), missing) + found
        return found

    def close(self) -> None:
        """Close what is open; the next `append` opens it again."""
        for file in self._open.values():
            file.close()
        self._open.clear()


class _Appender:
    """One file open for appending, and its size."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)
        self.size = self._file.tell()

    def append(self, text: bytes) -> None:
        self._file.write(text)
        self.size += len(text)

    def close(self) -> None:
        self._file.close()


def _last_lines(path: Path, lines: int) -> bytes:
    """Return the last *lines* lines of a file, reading no more of it than needed."""
    if lines <= 0:
        return b""
    try:
        with path.open("rb") as file:
            at = file.seek(0, 2)
            blocks: deque[bytes] = deque()
            newlines = 0
            while at and newlines <= lines:
                step = min(_BLOCK, at)
                at -= step
                file.seek(at)
                block = file.read(step)
                newlines += block.count(b"\n")
                blocks.appendleft(block)
    except FileNotFoundError:
        return b""
    text = b"".join(blocks)
    at = len(text) - text.endswith(b"\n")
    for _ in range(lines):  # a line ends with a line feed and nothing else: progress bars write carriage returns
        at = text.rfind(b"\n", 0, at)
        if at < 0:
            return text
    return text[at + 1 :]
