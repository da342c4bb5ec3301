"""What the harness knows: which operations were acknowledged, and what it found wrong.

The record is a file of one JSON object per line, so that a failure can be read back operation by operation.
"""

import json
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_offset_ms = 0


def now_ms() -> int:
    """Return the present instant, on the emulator's clock: the machine's, but for the moves it has made."""
    return time.time_ns() // 1_000_000 + _offset_ms


def set_offset(offset_ms: int) -> None:
    """Go by a clock that has been moved."""
    global _offset_ms
    _offset_ms = offset_ms


class Record:
    """The operations of a run, counted by kind and written to a file, and the findings."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("a", encoding="utf-8")
        self.path = file
        self.acknowledged: Counter[str] = Counter()
        self.unanswered: Counter[str] = Counter()
        self.findings: list[str] = []
        self.kill = 0

    def note(self, kind: str, outcome: str, **about: Any) -> None:
        """Write a line about an operation: *outcome* is ``asked``, ``acknowledged``, ``unanswered`` or another word."""
        if outcome == "acknowledged":
            self.acknowledged[kind] += 1
        elif outcome == "unanswered":
            self.unanswered[kind] += 1
        line = {"at": now_ms(), "kill": self.kill, "kind": kind, "outcome": outcome, **about}
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def find(self, text: str, **about: Any) -> None:
        """Write down something that must not be."""
        self.findings.append(f"after kill {self.kill}: {text}" + (f" {about}" if about else ""))
        self.note("finding", "found", text=text, **about)
        self._file.flush()

    def tail(self, lines: int) -> list[str]:
        """Return the last lines of the record."""
        self._file.flush()
        return self.path.read_text(encoding="utf-8").splitlines()[-lines:]

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def counts(self) -> Mapping[str, tuple[int, int]]:
        """Return (acknowledged, unanswered) by kind of operation."""
        kinds = sorted(self.acknowledged | self.unanswered)
        return {kind: (self.acknowledged[kind], self.unanswered[kind]) for kind in kinds}
