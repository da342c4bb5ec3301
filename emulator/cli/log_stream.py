"""The file that the server's log goes to with ``--log-file``: it is set aside before it outgrows a bound.

::

    server.log      what is written now         server.log.1    what came before the last change

So a log takes twice the bound at most, however long the emulator runs and whatever it is asked.
"""

import os
import sys
from pathlib import Path
from typing import Final, Protocol

LOG_BYTES: Final = 16 * 1024 * 1024


class LogStream(Protocol):
    """Where the log goes."""

    def write(self, text: str, /) -> object:
        """Append *text*."""
        ...

    def flush(self) -> object:
        """See to it that what was written arrives."""
        ...


class LogFile:
    """Appends text to *path*; used by one thread.

    Raises: OSError when the file cannot be opened.
    """

    def __init__(self, path: Path, limit_bytes: int = LOG_BYTES) -> None:
        self._path = path
        self._limit_bytes = limit_bytes
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)

    def write(self, text: str) -> None:
        """Append *text*, in a new file when it would make this one too large."""
        content = text.encode("utf-8", "backslashreplace")
        size = self._file.seek(0, os.SEEK_END)  # others may write here too: the interpreter's last words
        if size and size + len(content) > self._limit_bytes:
            self._set_aside()
        self._file.write(content)

    def flush(self) -> None:
        """Do nothing: what is written is with the system already."""

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _set_aside(self) -> None:
        """Go on in a new file, and take the standard streams along if they lead here, as with ``start -d``."""
        old = self._file
        self._path.replace(self._path.with_name(self._path.name + ".1"))
        self._file = self._path.open("ab", buffering=0)
        for stream in (1, 2):
            try:
                leads_here = os.path.sameopenfile(stream, old.fileno())
            except OSError:
                continue  # that stream is closed
            if leads_here:
                os.dup2(self._file.fileno(), stream, inheritable=True)
        old.close()


def stream_for(path: Path | None) -> LogStream:
    """Return where the log goes: the file at *path*, or standard error.

    Raises: OSError.
    """
    return sys.stderr if path is None else LogFile(path)
