"""Tutorials started from pages, each ``localyun tutorial run`` in a process of its own, with its output."""

import os
import subprocess
from collections.abc import Callable, Mapping
from tempfile import TemporaryFile
from typing import IO

from emulator.kernel import system

_SHOWN = 20_000
"""Characters kept from the end of an output."""


class TutorialRun:
    """A run of a tutorial: its output, and whether it has ended."""

    def __init__(self, name: str, output: IO[bytes], process: "subprocess.Popen[bytes]") -> None:
        self.name = name
        self._output = output
        self._process = process

    @property
    def is_open(self) -> bool:
        """Whether the process is still running."""
        return self._process.poll() is None

    @property
    def state(self) -> str:
        """``running``, ``succeeded`` or ``failed``."""
        return "running" if self.is_open else "failed" if self._process.returncode else "succeeded"

    @property
    def output(self) -> str:
        """The end of the output."""
        self._output.seek(0)
        return self._output.read().decode("utf-8", "replace")[-_SHOWN:]

    def close(self) -> None:
        """End the process, if it is running, and delete its output."""
        if self.is_open:
            self._process.kill()
        self._process.wait()
        self._output.close()


class TutorialRuns:
    """The latest run of each tutorial. *surroundings* returns the variables that lead a command to this emulator."""

    def __init__(self, surroundings: Callable[[], Mapping[str, str]]) -> None:
        self._surroundings = surroundings
        self._runs: dict[str, TutorialRun] = {}

    def get(self, name: str) -> TutorialRun | None:
        """Return the latest run of a tutorial, None when it was not started."""
        return self._runs.get(name)

    def start(self, name: str) -> None:
        """Run a tutorial, keeping its flow afterwards; does nothing while it is running."""
        before = self._runs.get(name)
        if before is not None:
            if before.is_open:
                return
            before.close()
        output = TemporaryFile()  # noqa: SIM115 - closed with the run
        process = subprocess.Popen(  # noqa: S603 - this program itself, with a name out of a table
            system.own_command("tutorial", "run", name, "--keep", "--steps", "--json"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # the page shows executions and links itself
            stderr=output,
            env={**os.environ, **self._surroundings(), "PYTHONUNBUFFERED": "1"},
        )
        self._runs[name] = TutorialRun(name, output, process)

    def close(self) -> None:
        """End all runs."""
        while self._runs:
            self._runs.popitem()[1].close()
