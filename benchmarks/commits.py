"""What it costs to keep one row for good when nothing shares the commit, beside writing as many bytes to a file."""

import asyncio
import os
import tempfile
import time
from pathlib import Path

from benchmarks.floors import commit_us
from benchmarks.harness import Row
from emulator.storage.database import Database

COMMITS = 1000

_TABLE = "CREATE TABLE kept (id INTEGER PRIMARY KEY, content TEXT NOT NULL)"
_INSERT = "INSERT INTO kept (content) VALUES (?)"
_ROW = ("x" * 300,)


class Commits:
    """The row, around one state file."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="localyun-bench-commits-")
        self._path = Path(self._folder.name) / "state.db"
        self._database = Database(self._path)
        self._database.write(_TABLE)
        self._database.commit()
        self._database.checkpoint_elsewhere(lambda: None)  # as in a running emulator: a commit only appends
        self._bytes = 0

    def close(self) -> None:
        """Remove the file."""
        self._database.close()
        self._folder.cleanup()

    def rows(self) -> list[Row]:
        """Return the row."""
        return [
            Row(
                name="a durable commit of one row, processor time",
                unit="us",
                measure=lambda: asyncio.run(self._commit_us()),
                reference=lambda: asyncio.run(self._write_us()),
                reference_name="one write of the same bytes, and the loop's turn",
                goal=2,
                floor=lambda: commit_us(Path(self._folder.name), _TABLE, _INSERT, _ROW, COMMITS),
            )
        ]

    async def _commit_us(self) -> float:
        self._database.file.copy_log()
        started = time.process_time()
        for _ in range(COMMITS):
            self._database.write(_INSERT, _ROW)
            await self._database.committed()
        return (time.process_time() - started) / COMMITS * 1e6

    async def _write_us(self) -> float:
        content = b"x" * self._bytes_of_one()
        with (Path(self._folder.name) / "plain").open("wb", buffering=0) as file:
            started = time.process_time()
            for _ in range(COMMITS):
                os.write(file.fileno(), content)
                await asyncio.sleep(0)
            return (time.process_time() - started) / COMMITS * 1e6

    def _bytes_of_one(self) -> int:
        """Return how much a commit of one row adds to the write-ahead log."""
        if not self._bytes:
            before = self._database.file.sizes().log_bytes
            for _ in range(COMMITS):
                self._database.write(_INSERT, _ROW)
                self._database.commit()
            self._bytes = (self._database.file.sizes().log_bytes - before) // COMMITS
        return self._bytes
