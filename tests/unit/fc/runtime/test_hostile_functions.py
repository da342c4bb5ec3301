"""Functions that misbehave hurt themselves only: each is followed by a call that must work."""

import asyncio
import os
import re
import time
from pathlib import Path

import pytest

from tests.waiting import until


@pytest.mark.parametrize(
    "deed",
    [
        "os.closerange(0, 1024)",
        "os.closerange(0, resource.getrlimit(resource.RLIMIT_NOFILE)[1])",
        "os.closerange(0, os.sysconf('SC_OPEN_MAX'))",
        "sys.stdout.close(); sys.stderr.close()",
        "sys.stdout = sys.stderr = None",
        "sys.stdout = object()",
        "os.chdir('/')",
        "os.environ.clear()",
        "sys.path.clear(); sys.modules.pop('json'); sys.modules.pop('index')",
        "logging.getLogger().handlers.clear()",
        "logging.shutdown()",
        "socket.setdefaulttimeout(0.001)",
        "os.read = os.write = os.getpid = time.perf_counter = None",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
        "threading.Thread(target=time.sleep, args=(60,)).start()",
        "gc.disable(); gc.freeze()",
        "sys.setrecursionlimit(60)",
        "[sys.stdout.write('\\0' * 100) for _ in range(10)]",
        "subprocess.run(['sh', '-c', 'exec 0<&- 1>&- 2>&-; true'])",
        "subprocess.Popen(['sleep', '60'])",
        "os.setpgid(0, 0) if os.getpgid(0) != os.getpid() else None",
        "os.umask(0o777)",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))",
    ],
)
@pytest.mark.parametrize("method", ["fork", "exec"])
async def test_deed_in_a_handler_leaves_the_instance_usable(functions, deed, method):
    """The call that does it is answered, and so is the next one in the same instance."""
    image = functions.image(
        f"""
        import gc, logging, os, resource, signal, socket, subprocess, sys, threading, time
        def handler(event, context):
            if event == b"deed":
                {deed}
            return event
        """,
        timeout_s=10,
    )

    first, second = await functions.calls(image, b"deed", b"after", start_method=method)

    assert (first.error_type, first.body) == (None, b"deed")
    assert (second.error_type, second.body) == (None, b"after")
    assert first.instance_id == second.instance_id


@pytest.mark.usefixtures("zygote")
@pytest.mark.parametrize("isolation", ["auto", "none"])
async def test_signals_to_the_parent_do_not_reach_the_zygote(functions, isolation):
    """Only a closed control socket ends it; SIGKILL has a test of its own."""
    image = functions.image(
        """
        import os, signal
        def handler(event, context):
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
                os.kill(os.getppid(), number)
            return os.getppid()
        """
    )

    first, second = await functions.calls(image, b"", b"", isolation=isolation)

    assert first.body == second.body


async def test_forked_process_that_returns_from_the_handler_answers_nothing(functions):
    """Only the instance itself answers, once; the fork ends."""
    image = functions.image(
        """
        import os
        def handler(event, context):
            pid = os.fork() if event else 0
            return "%d %s" % (os.getpid(), "parent" if pid else "child")
        """
    )

    first, second = await functions.calls(image, b"x", b"")

    assert first.body.endswith(b"parent")
    assert second.body.split()[0] == first.body.split()[0]


@pytest.mark.usefixtures("zygote")
async def test_fork_bomb_is_ended(functions):
    """Growth in processes is noticed, everything is killed, and the next call works."""
    image = functions.image(
        """
        import os, time
        def handler(event, context):
            while event:
                os.fork()
                time.sleep(0.01)
            return "fine"
        """,
        timeout_s=20,
        memory_mb=3072,
    )

    others = children_of(os.getpid())  # of other tests that share this process

    async with functions.pool(max_processes=50) as pool:
        bombed = await pool.invoke(image, functions.invocation(b"x"))
        after, remaining = await pool.invoke(image, functions.invocation()), children_of(os.getpid()) - others

    assert b"Process exited unexpectedly" in bombed.body
    assert bombed.duration_ms < 15_000
    assert after.body == b"fine"
    assert remaining < 10


def children_of(pid):
    count = 0
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        count += 1 + children_of(int(child))
    return count


@pytest.mark.parametrize("method", ["auto", "exec"])
async def test_flood_of_output_is_bounded_and_keeps_its_end(functions, method):
    """Every byte passes by, the last ones are kept, and the loop stays responsive meanwhile."""
    image = functions.image(
        """
        import os, time
        def handler(event, context):
            end = time.monotonic() + 1
            line = b"x" * 1023 + b"\\n"
            while time.monotonic() < end:
                os.write(1, line * 32)
            print("the end")
        """,
        timeout_s=20,
    )

    async with functions.pool(start_method=method) as pool:
        late_s = 0.0
        call = asyncio.create_task(pool.invoke(image, functions.invocation()))
        while not call.done():
            before = time.monotonic()
            await asyncio.sleep(0.01)
            late_s = max(late_s, time.monotonic() - before - 0.01)
        result = await call

    assert len(result.log) <= 64 * 1024
    assert b"\nthe end\nFC Invoke End RequestId: request-1\n" in result.log
    assert len(functions.logged("request-1")) < 20 * 1024 * 1024
    assert late_s < 0.5


async def test_flood_from_one_of_several_calls_is_held_back(functions):
    """Output that travels in frames is limited like any other, and the other call is answered meanwhile."""
    image = functions.image(
        """
        import time
        def handler(event, context):
            if event:
                end = time.monotonic() + 1
                while time.monotonic() < end:
                    print("x" * 100000)
                print("the end")
            return "done"
        """,
        instance_concurrency=2,
        timeout_s=20,
        memory_mb=512,
    )

    async with functions.pool() as pool:
        flood = asyncio.create_task(pool.invoke(image, functions.invocation(b"x")))
        await until(lambda: functions.logged("request-1"))
        other, flood = await pool.invoke(image, functions.invocation()), await flood

    assert other.body == flood.body == b"done"
    assert b"\nthe end\nFC Invoke End RequestId: request-1\n" in flood.log
    assert len(functions.logged("request-1")) < 20 * 1024 * 1024


@pytest.mark.usefixtures("zygote")
async def test_instance_without_a_zygote_still_ends_in_time(functions):
    """A function that kills its zygote and never returns is killed directly, and so is what it started."""
    image = functions.image(
        """
        import os, signal, subprocess, time
        def handler(event, context):
            started = subprocess.Popen(["sleep", "300"])
            with open("pids", "w") as file:
                file.write("%d %d" % (os.getpid(), started.pid))
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.kill(os.getppid(), signal.SIGKILL)
            while True:
                time.sleep(1)
        """,
        timeout_s=1,
    )

    async with functions.pool(isolation="none") as pool:
        result = await pool.invoke(image, functions.invocation())
        pids = (image.code_dir / "pids").read_text().split()
        await until(lambda: not any(is_running(pid) for pid in pids))

    assert b"timed out after 1 seconds" in result.body
    assert 1000 <= result.duration_ms < 5000


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.usefixtures("zygote")
async def test_killed_spare_process_is_replaced(functions):
    """A function that kills its sibling, the process that waits to become the next instance, does no harm."""
    image = functions.image(
        """
        import os, signal
        from pathlib import Path
        def handler(event, context):
            parent = os.getppid()
            for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
                if int(child) != os.getpid():
                    os.kill(int(child), signal.SIGKILL)
            return parent
        """
    )
    other = functions.image("def handler(event, context): return 'fine'")

    async with functions.pool(isolation="none") as pool:
        first = await pool.invoke(image, functions.invocation())
        await until(lambda: children_of(int(first.body)) == 2)  # the instance, and the next process that waits
        killer = await pool.invoke(image, functions.invocation())
        after = await pool.invoke(other, functions.invocation())

    assert (killer.body, after.body) == (first.body, b"fine")


async def test_output_after_the_end_of_a_call_belongs_to_no_call(functions):
    """What a background thread prints goes out without a request id; the next call's log is its own."""
    image = functions.image(
        """
        import pathlib, threading, time
        def late():
            while not pathlib.Path("go").exists():
                time.sleep(0.002)
            print("from the background")
        def handler(event, context):
            if event:
                threading.Thread(target=late, daemon=True).start()
        """
    )

    async with functions.pool() as pool:
        first = await pool.invoke(image, functions.invocation(b"x"))
        (image.code_dir / "go").touch()
        await until(lambda: functions.logged(""))
        second = await pool.invoke(image, functions.invocation())

    assert functions.logged("") == b"from the background\n"
    assert b"background" not in first.log + second.log
    assert re.match(rb"FC Invoke Start RequestId: request-2\nFC Invoke End", second.log)


async def test_garbage_on_the_agents_socket_ends_that_instance_only(functions):
    """Code that writes to the channel itself is answered like a crash."""
    image = functions.image(
        """
        import os, stat
        def handler(event, context):
            if event:
                for number in range(3, 20000):
                    try:
                        if stat.S_ISSOCK(os.fstat(number).st_mode):
                            os.write(number, b"\\xff" * 64)
                    except OSError:
                        pass
            return "fine"
        """
    )

    broken, after = await functions.calls(image, b"x", b"")

    assert b"Process exited unexpectedly" in broken.body
    assert after.body == b"fine"


async def test_forged_answers_are_not_believed(functions):
    """A frame for a call that nobody made is passed over, one without sense ends the instance."""
    image = functions.image(
        """
        import json, os, stat, struct
        def handler(event, context):
            for number in range(1000, 20000):
                try:
                    if not stat.S_ISSOCK(os.fstat(number).st_mode):
                        continue
                except OSError:
                    continue
                for header in ({"done": "0" * 16, "ok": True, "ms": 1, "mem": 1}, {"began": 1}, {"what": "else"}):
                    head = json.dumps(header).encode()
                    os.write(number, struct.pack("!II", len(head), 0) + head)
            return "the truth"
        """
    )

    results = await functions.calls(image, b"", b"")

    assert [result.body for result in results] == [b"the truth"] * 2


async def test_daemon_that_holds_the_log_does_not_hold_up_the_answer(functions):
    """A grandchild keeps stdout open for long; calls go on without it."""
    image = functions.image(
        """
        import subprocess
        def handler(event, context):
            if event == b"x":
                subprocess.Popen("sleep 60 & sleep 60 &", shell=True)
            return event
        """
    )

    results = await functions.calls(image, b"x", b"1", b"2")

    assert [result.body for result in results] == [b"x", b"1", b"2"]
    assert all(result.duration_ms < 5000 for result in results)


async def test_exit_with_threads_still_running_ends_at_the_latest_with_the_time_out(functions):
    """The interpreter waits for threads that are not daemons, as any Python program does."""
    result = await functions.call(
        """
        import sys, threading, time
        def handler(event, context):
            threading.Thread(target=time.sleep, args=(60,)).start()
            sys.exit(0)
        """,
        timeout_s=1,
    )

    assert b"timed out after 1 seconds" in result.body
