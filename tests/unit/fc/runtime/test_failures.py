"""Calls that end without an answer: time-outs, exits, crashes, too much memory, clients that leave."""

import asyncio
import json
import os
import re
import socket
from pathlib import Path
from unittest.mock import Mock

import pytest

from emulator.kernel import system
from emulator.kernel.ids import RandomIds
from emulator.kernel.turnstile import Turnstile
from emulator.services.fc.runtime.agent import AgentProcess
from emulator.services.fc.runtime.bootstrap.python.frames import encode
from emulator.services.fc.runtime.debugger import Deadline, DeadlineClock
from emulator.services.fc.runtime.model import InstanceStartFailed, ResponseTooLarge, RuntimeUnavailable
from emulator.services.fc.runtime.process import INVOKE, Channel
from emulator.services.fc.runtime.settings import RuntimeSettings
from tests.waiting import until

EXITED = (
    r'\{"errorMessage":"Process exited unexpectedly before completing request '
    r'\(duration: \d+ms, maxMemoryUsage: \d+(\.\d+)?MB\)"\}'
)


@pytest.mark.parametrize(
    "statement",
    [
        "sys.exit()",
        "exit(3)",
        "raise SystemExit('bye')",
        "os._exit(0)",
        "os.abort()",
        "os.kill(os.getpid(), signal.SIGKILL)",
        "ctypes.string_at(0)",
        "raise KeyboardInterrupt",
    ],
)
async def test_process_that_ends_answers_with_the_exit_body(functions, statement):
    """The caller gets the compact platform body, the log says the same, and the next call has a fresh instance."""
    image = functions.image(
        f"""
        import ctypes, os, signal, sys
        def handler(event, context):
            if event:
                print("last words")
                {statement}
            return "alive"
        """
    )

    before, ended, after = await functions.calls(image, b"", b"x", b"")

    assert ended.error_type == "UnhandledInvocationError"
    assert re.fullmatch(EXITED, ended.body.decode())
    message = json.loads(ended.body)["errorMessage"]
    assert b"last words\n" in ended.log
    assert f"FC Invoke End RequestId: request-2, Error: {message}\n\nDuration: ".encode() in ended.log
    assert (before.body, after.body) == (b"alive", b"alive")
    assert before.instance_id == ended.instance_id != after.instance_id
    assert ended.max_memory_mb > 1


async def test_exit_while_importing_is_an_exit(functions):
    """sys.exit at module level ends the process like anywhere."""
    result = await functions.call("import sys\nsys.exit(1)")

    assert re.fullmatch(EXITED, result.body.decode())


class FirstOfAll:
    """A schedule in which everything goes in its own order and nothing befalls it."""

    def varies(self, kind):
        return False

    def verdicts(self, kind):
        return ()

    def choose(self, kind, options, steps=()):
        return 0


@pytest.mark.usefixtures("zygote")
async def test_messages_measure_nothing_while_a_schedule_is_set(functions):
    """Histories have them, and are the same every time; the log's summary says what was measured."""
    turns = Turnstile()
    turns.open(FirstOfAll())
    late = functions.image("def handler(event, context):\n    import time\n    time.sleep(30)", timeout_s=1)
    gone = functions.image("def handler(event, context):\n    import os\n    os._exit(1)")

    async with functions.pool(turns=turns) as pool:
        results = [await pool.invoke(image, functions.invocation(b"")) for image in (late, gone)]

    assert [json.loads(result.body)["errorMessage"] for result in results] == [
        "Function timed out after 1 seconds (maxMemoryUsage: 0MB)",
        "Process exited unexpectedly before completing request (duration: 0ms, maxMemoryUsage: 0MB)",
    ]
    assert b"Max Memory Used: 0.00 MB" not in results[0].log


class Idle:
    """A process that is told to end."""

    def __init__(self):
        self.ended = asyncio.Event()

    def watch(self, on):
        pass

    def terminate(self):
        self.ended.set()

    def kill(self):
        pass


async def test_time_without_a_processor_does_not_count():
    """As often as the process has been ready to run and was not, the end is put off by that."""
    process, waited = Idle(), iter([5.0, 5.05, 5.1, 5.1])
    asked = []

    def unserved():
        asked.append(next(waited))
        return asked[-1]

    deadline = Deadline(process, 0.01, 10, DeadlineClock(), lambda: None, unserved)
    await asyncio.wait_for(process.ended.wait(), 20)
    deadline.cancel()

    assert asked == [5.0, 5.05, 5.1, 5.1]


async def test_an_answer_that_comes_with_the_end_is_taken():
    """Both are due in one turn of a loop that was late: the call has not taken too long."""
    process, answer = Idle(), asyncio.get_running_loop().create_future()
    asked = []

    def unserved():
        asked.append(0.0)
        if len(asked) == 2 and not answer.done():  # the end is being looked at
            answer.set_result(None)
        return 0.0

    deadline = Deadline(process, 0.01, 10, DeadlineClock(), lambda: None, unserved)
    await answer
    deadline.cancel()
    await asyncio.sleep(0)

    assert not deadline.passed
    assert not process.ended.is_set()


def test_a_process_says_how_long_it_got_no_processor():
    """Its own; one that is not there has waited for none."""
    assert system.unserved_s(os.getpid()) >= 0
    assert system.unserved_s(2**22 + 1) == 0


@pytest.mark.skipif(not (system.FORK or system.SESSIONS), reason="a process that is only ended writes nothing first")
async def test_time_out_answers_and_logs_what_the_function_was_doing(functions):
    """The body names the seconds; the stacks of all threads are in the log; the instance is gone."""
    image = functions.image(
        """
        import time
        def handler(event, context):
            if event:
                waiting_for_nothing()
            return "quick"
        def waiting_for_nothing():
            time.sleep(30)
        """,
        timeout_s=1,
    )

    late, after = await functions.calls(image, b"x", b"")

    message = json.loads(late.body)["errorMessage"]
    assert re.fullmatch(r"Function timed out after 1 seconds \(maxMemoryUsage: \d+(\.\d+)?MB\)", message)
    assert late.body == json.dumps({"errorMessage": message}, separators=(",", ":")).encode()
    assert late.error_type == "UnhandledInvocationError"
    assert b"[ERROR] Dumping stack trace after function timeout\n" in late.log
    assert b"waiting_for_nothing" in late.log
    assert f"FC Invoke End RequestId: request-1, Error: {message}\n".encode() in late.log
    assert after.body == b"quick"
    assert after.instance_id != late.instance_id


@pytest.mark.parametrize(
    ("obstinate", "loop"),
    [  # one that is busy; whether a signal is ignored does not depend on that
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", "pass"),
        ("signal.signal(signal.SIGTERM, lambda *_: None)", "time.sleep(1)"),
        ("signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))", "time.sleep(1)"),
    ],
)
async def test_function_that_ignores_the_signal_is_killed(functions, obstinate, loop):
    """An endless loop with SIGTERM out of the way ends shortly after its time."""
    result = await functions.call(
        f"""
        import signal, time
        def handler(event, context):
            {obstinate}
            while True:
                {loop}
        """,
        timeout_s=0.6,  # the message has whole seconds
    )

    assert b"timed out after 1 seconds" in result.body
    assert 600 <= result.duration_ms < 5000


@pytest.mark.usefixtures("zygote")
async def test_time_out_ends_everything_the_function_started(functions, tmp_path):
    """Subprocesses and daemons in sessions of their own do not outlive the instance."""
    image = functions.image(
        f"""
        import os, subprocess, time
        def handler(event, context):
            direct = subprocess.Popen(["sleep", "300"])
            elsewhere = subprocess.Popen(["sleep", "300"], start_new_session=True)
            reading, writing = os.pipe()
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    os.write(writing, str(os.getpid()).encode())
                    time.sleep(300)
                os._exit(0)
            daemon = os.read(reading, 20).decode()
            with open({str(tmp_path / "pids")!r}, "w") as file:
                file.write(f"{{direct.pid}} {{elsewhere.pid}} {{daemon}}")
            time.sleep(300)
        """,
        timeout_s=1,
    )

    async with functions.pool(isolation="none") as pool:
        await pool.invoke(image, functions.invocation())
        pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
        await until(lambda: not any(is_running(pid) for pid in pids))
        assert len(pids) == 3


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.usefixtures("zygote")
async def test_too_much_memory_ends_like_an_exit(functions):
    """A function that grows beyond its memory is killed while it runs, and small ones are not."""
    image = functions.image(
        """
        import time
        def handler(event, context):
            if event:
                ballast = [b'x' * (1024 * 1024) for _ in range(int(event))]
                time.sleep(20)
            return "fits"
        """
    )

    fits, killed = await functions.calls(image, b"", b"300")

    assert fits.body == b"fits"
    assert re.fullmatch(EXITED, killed.body.decode())
    assert killed.duration_ms < 10_000


async def test_short_peak_of_memory_is_noticed_at_the_end(functions):
    """A peak over the limit is seen in what the process has used at most, even when no look met it."""
    result = await functions.call("def handler(event, context): return len(b'x' * (300 * 1024 * 1024))")

    assert re.fullmatch(EXITED, result.body.decode())
    assert result.max_memory_mb > 128  # on a slow machine a look may end it before the peak


async def test_mapped_but_unused_memory_is_no_memory(functions):
    """Reserving address space, as allocators and threads do, does not fail a function."""
    result = await functions.call(
        """
        import mmap, threading
        def handler(event, context):
            space = mmap.mmap(-1, 2 * 1024**3, flags=mmap.MAP_PRIVATE | 0x4000)  # MAP_NORESERVE
            threads = [threading.Thread(target=lambda: None) for _ in range(50)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            return "fine"
        """
    )

    assert result.body == b"fine"


async def test_memory_of_a_small_function_is_its_own(functions):
    """The figure is that of the instance, not inherited from a bigger process that started it."""
    ballast = bytearray(b"x") * (200 * 1024 * 1024)

    forked = await functions.call("def handler(event, context): return 1")
    started = (
        await functions.calls(functions.image("def handler(event, context): return 1"), b"", start_method="exec")
    )[0]

    assert len(ballast) > 0
    assert 1 < forked.max_memory_mb < 60
    assert 1 < started.max_memory_mb < 60


async def test_client_that_gives_up_ends_the_instance_and_is_logged(functions):
    """Cancelling leaves the marker of a cancelled invocation in the log."""
    image = functions.image(
        """
        import time
        def handler(event, context):
            if event:
                print("begun", flush=True)
                time.sleep(60)
            return "ok"
        """,
        timeout_s=60,
    )

    async with functions.pool() as pool:
        first = await pool.invoke(image, functions.invocation())
        call = asyncio.create_task(pool.invoke(image, functions.invocation(b"x", request_id="left")))
        await until(lambda: b"begun" in functions.logged("left"))
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: b"Duration: " in functions.logged("left"))
        gone = all(info.instance_id != first.instance_id for info in pool.instances(image.family))
        after = await pool.invoke(image, functions.invocation())

    assert gone
    assert after.body == b"ok"
    assert re.search(
        rb"FC Invoke End RequestId: left, Error: Invocation canceled by client "
        rb"\(duration: \d+ms, maxMemoryUsage: [\d.]+MB\)\n\nDuration: ",
        functions.logged("left"),
    )


async def test_result_beyond_the_limit_is_a_platform_error(functions):
    """The body is not sent at all, and the instance goes on."""
    image = functions.image("def handler(event, context): return b'x' * int(event)")

    async with functions.pool(response_limit=1000) as pool:
        small = await pool.invoke(image, functions.invocation(b"1000"))
        with pytest.raises(ResponseTooLarge, match=r"payload size exceeds maximum allowed size \(1000 bytes\)"):
            await pool.invoke(image, functions.invocation(b"1001"))
        after = await pool.invoke(image, functions.invocation(b"10"))

    assert len(small.body) == 1000
    assert after.instance_id == small.instance_id


async def test_runtime_without_a_launcher_is_unavailable(functions):
    """A clear exception, no instance."""
    image = functions.image("", runtime="cobol")

    async with functions.pool() as pool:
        with pytest.raises(RuntimeUnavailable) as caught:
            await pool.invoke(image, functions.invocation())
        assert (caught.value.runtime, pool.instances(image.family)) == ("cobol", [])


@pytest.mark.parametrize("executable", ["/nowhere/python9", "/bin/false"])
@pytest.mark.parametrize("method", ["fork", "exec"])
async def test_interpreter_that_does_not_work_is_reported(functions, executable, method):
    """Whether it is missing or ends at once; calls on other interpreters go on."""
    image = functions.image("", runtime="python3.9")
    good = functions.image("def handler(event, context): return 'ok'")

    async with functions.pool(interpreters={"python3.9": executable}, start_method=method) as pool:
        for _ in range(2):
            with pytest.raises((RuntimeUnavailable, InstanceStartFailed)):
                await pool.invoke(image, functions.invocation())
        result = await pool.invoke(good, functions.invocation())

    assert result.body == b"ok"


@pytest.mark.parametrize("method", ["fork", "exec"])
async def test_missing_code_folder_fails_the_start(functions, method):
    """The exception says what is missing, and no instance is left."""
    image = functions.image("", code_dir=functions.folder / "nowhere")

    async with functions.pool(start_method=method) as pool:
        with pytest.raises(InstanceStartFailed, match="nowhere"):
            await pool.invoke(image, functions.invocation())
        await until(lambda: not pool.instances(image.family))


async def test_call_of_a_process_that_has_just_ended_is_told_why_it_could_not_start():
    """Its end may be known before its last frame has been read."""
    process = AgentProcess(Mock(), RuntimeSettings(), RandomIds())
    process.exited(1000)

    call = process.begin(INVOKE, Mock())
    process.channel.feed(encode({"fatal": "nowhere"}))
    outcome = await call

    assert (outcome.unread, outcome.fatal) == (True, "nowhere")


async def test_what_was_sent_before_the_end_is_read_when_a_write_finds_the_end():
    """Also where nothing has been read yet, since the write came first."""
    heard, lost = [], []
    ours, theirs = socket.socketpair()
    channel = Channel(lambda header, _payload: heard.append(header), lost.append, 1000)
    await asyncio.get_running_loop().create_connection(lambda: channel, sock=ours)
    theirs.sendall(encode({"fatal": "nowhere"}) + encode({"more": "x" * 20_000}))
    theirs.close()

    channel.send({"call": 1})
    await until(lambda: lost)

    assert heard == [{"fatal": "nowhere"}, {"more": "x" * 20_000}]
    assert isinstance(lost[0], ConnectionError)


@pytest.mark.parametrize("method", ["fork", "exec"])
async def test_instance_that_died_while_idle_costs_no_call(functions, method):
    """A call that the dead process never read is given to a fresh one."""
    image = functions.image("import os\ndef handler(event, context): return os.getpid()")

    async with functions.pool(start_method=method, isolation="none") as pool:
        first = await pool.invoke(image, functions.invocation())
        os.kill(int(first.body), 9)
        second = await pool.invoke(image, functions.invocation())

    assert second.error_type is None
    assert second.body != first.body
