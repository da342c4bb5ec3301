"""Instances end with the emulator, run on mapped interpreters, and log listeners cannot harm them."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from emulator.kernel.clock import SystemClock
from emulator.kernel.ids import RandomIds
from emulator.services.fc.runtime.agent import bootstrap_command
from emulator.services.fc.runtime.pool import InstancePool
from emulator.services.fc.runtime.settings import RuntimeSettings
from tests.waiting import eventually

SERVER = """
    import asyncio, pathlib, sys
    from emulator.kernel.clock import SystemClock
    from emulator.kernel.ids import RandomIds
    from emulator.services.fc.runtime.model import FunctionImage, Invocation
    from emulator.services.fc.runtime.pool import InstancePool
    from emulator.services.fc.runtime.settings import RuntimeSettings

    async def main():
        pool = InstancePool(SystemClock(), RandomIds(), RuntimeSettings(isolation="none"), lambda *log: None)
        await pool.start()
        image = FunctionImage(
            key="k", family="f", generation="2.0", account="1", region="r", service="s", function="f",
            version="LATEST", runtime="python3", handler="index.handler", timeout_s=60,
            code_dir=pathlib.Path(sys.argv[1]),
        )
        print((await pool.invoke(image, Invocation(request_id="1", event=b""))).body.decode(), flush=True)
        await pool.invoke(image, Invocation(request_id="2", event=b"x"))

    asyncio.run(main())
"""


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.usefixtures("zygote")
def test_nothing_outlives_an_emulator_that_was_killed(tmp_path):
    """After kill -9 the zygote ends its busy instances, what they started, and itself."""
    (tmp_path / "index.py").write_text(
        textwrap.dedent(
            """
            import os, subprocess, time
            started = subprocess.Popen(["sleep", "300"])
            def handler(event, context):
                while event:
                    time.sleep(1)
                return "%d %d %d" % (os.getpid(), os.getppid(), started.pid)
            """
        )
    )
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[4])}
    command = [sys.executable, "-c", textwrap.dedent(SERVER), str(tmp_path)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as server:
        pids = [int(pid) for pid in server.stdout.readline().split()]
        server.send_signal(signal.SIGKILL)
    assert len(pids) == 3

    eventually(lambda: not [pid for pid in pids if is_running(pid)])


def test_zygote_ends_quietly_when_its_server_died_before_reading():
    """News nobody has read makes the socket end with an error; the zygote ends its instances all the same."""
    ours, theirs = socket.socketpair()
    command = bootstrap_command(sys.executable, "zygote", str(theirs.fileno()), "", "[]", hook=None)
    with subprocess.Popen(command, pass_fds=[theirs.fileno()], stderr=subprocess.PIPE, text=True) as zygote:
        theirs.close()
        ours.settimeout(30)
        ours.recv(1, socket.MSG_PEEK)  # it is ready, and the news stays unread
        ours.close()
        complaint = zygote.communicate(timeout=30)[1]

    assert (zygote.returncode, complaint) == (0, "")


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="needs a second interpreter, the one under the virtualenv")
@pytest.mark.parametrize("method", ["fork", "exec"])
async def test_runtime_can_be_mapped_to_an_interpreter(functions, method):
    """Each interpreter has a zygote of its own; other runtimes stay on the emulator's."""
    other = str(Path(sys.base_prefix) / "bin" / "python3")
    code = "import sys\ndef handler(event, context): return sys.prefix"
    mapped = functions.image(code, runtime="python2.7")
    usual = functions.image(code)

    async with functions.pool(interpreters={"python2.7": other}, start_method=method) as pool:
        results = [await pool.invoke(image, functions.invocation()) for image in (mapped, usual)]
        prefixes, log = [result.body.decode() for result in results], results[0].log

    assert prefixes == [sys.base_prefix, sys.prefix]
    assert b"WARNING" not in log


async def test_failing_log_listener_does_not_fail_the_call(functions, caplog):
    """Its exception is logged by the emulator, and the function's answer arrives."""
    image = functions.image("def handler(event, context): print('x'); return 'fine'")

    def broken(image, request_id, data):
        raise OSError("disk full")

    async def main():
        pool = InstancePool(SystemClock(), RandomIds(), RuntimeSettings(), broken)
        await pool.start()
        try:
            return await pool.invoke(image, functions.invocation())
        finally:
            await pool.close()

    result = await main()

    assert result.body == b"fine"
    assert b"\nx\n" in result.log
    assert "is not kept" in caplog.text
