import asyncio
import logging
import os
import sys
from contextlib import suppress

import pytest

from emulator.kernel.tasks import kill


async def _started(code: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(sys.executable, "-c", code)


async def test_a_running_process_is_killed() -> None:
    """It does not end by itself."""
    process = await _started("import time; time.sleep(60)")
    kill(process)
    assert await process.wait() != 0


@pytest.mark.skipif(os.name == "nt", reason="waits for the exit as POSIX has it")
async def test_one_that_has_just_ended_keeps_its_exit_status(caplog: pytest.LogCaptureFixture) -> None:
    """The loop has not heard of the end when the process is to be killed."""

    async def run() -> int:
        process = await _started("raise SystemExit(7)")
        with suppress(ChildProcessError):  # the loop's own watcher, where it is a thread, may have been quicker
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # ended, and its status is left where it is
        kill(process)
        return await process.wait()

    with caplog.at_level(logging.WARNING):
        status = await run()

    assert status == 7
    assert caplog.records == []


async def test_killing_twice_does_nothing() -> None:
    """The second call finds the end known."""
    process = await _started("import time; time.sleep(60)")
    kill(process)
    status = await process.wait()
    kill(process)

    assert process.returncode == status
