"""Ending child processes of the event loop."""

import asyncio
import os
import signal
from contextlib import suppress


def kill(process: asyncio.subprocess.Process) -> None:
    """Kill *process* unless the loop knows of its end; its `wait` tells afterwards how it ended.

    `Process.kill` looks first whether the process lives. When it has just ended, that look takes the exit status, and
    the loop, which comes later, warns of an unknown child.
    """
    if process.returncode is not None:
        return
    if os.name == "nt":
        process.kill()
    else:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
