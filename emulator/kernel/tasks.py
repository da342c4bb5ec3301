"""Tasks with an owner that starts, watches and ends them; child processes."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

_log = logging.getLogger(__name__)

T = TypeVar("T")


async def in_turns(items: Iterable[T], at_once: int = 100) -> AsyncIterator[T]:
    """Yield *items*, letting the loop do other work after each *at_once* of them."""
    for number, item in enumerate(items, 1):
        yield item
        if number % at_once == 0:
            await asyncio.sleep(0)


class TaskGroup:
    """A set of running tasks. A task that fails is logged with its traceback; none is forgotten."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Start *work* and keep it until it ends."""
        task = asyncio.get_running_loop().create_task(work, name=f"{self._name}:{name}")
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def close(self) -> None:
        """Cancel every task and wait until all have ended."""
        while self._tasks:
            pending = list(self._tasks)
            for task in pending:
                task.cancel()
            await asyncio.wait(pending)

    def __len__(self) -> int:
        return len(self._tasks)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("task %s failed", task.get_name(), exc_info=error)


async def start_module(name: str, *arguments: str, stdin: int, stdout: int) -> asyncio.subprocess.Process:
    """Run a module of this program as a child; its standard error is a pipe.

    Raises: OSError.
    """
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    # -P: a file in the working directory must not be imported as a module of the same name
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", name, *arguments),
        stdin=stdin,
        stdout=stdout,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )


def kill(process: asyncio.subprocess.Process) -> None:
    """Kill *process* unless the loop knows of its end; its `wait` returns its exit status afterwards.

    `Process.kill` first polls the process. When it has just ended, the poll takes the exit status, and the loop, which
    comes later, warns of an unknown child.
    """
    if process.returncode is not None:
        return
    if os.name == "nt":
        process.kill()
    else:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
