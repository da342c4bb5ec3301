"""What instances see of each other, of the machine and of the zygote, with the kernel's namespaces and without."""

import asyncio
import functools
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from textwrap import dedent

import pytest

from emulator.kernel import system
from emulator.kernel.owned_folders import sweep
from emulator.services.fc.runtime import zygote
from emulator.services.fc.runtime.bootstrap.python import sandbox
from emulator.services.fc.runtime.launcher import Scratch
from emulator.services.fc.runtime.settings import RuntimeSettings
from emulator.services.fc.runtime.zygote import Zygote
from tests.waiting import until


@pytest.fixture(autouse=True)
def _zygotes_are_started(monkeypatch):
    """Each as an emulator starts it; those of other tests are forked (`tests.zygotes`)."""
    monkeypatch.setattr(zygote, "subprocess", subprocess)


@functools.cache
def namespaces():
    """Return whether this machine lets this user have them; asked in a process that has one thread."""
    if not system.FORK:  # it is the zygote that makes them
        return False
    folder = tempfile.mkdtemp()
    code = f"import sys; sys.path.insert(0, {str(Path(sandbox.__file__).parent)!r}); import sandbox; " + (
        f"print(sandbox.Probe({folder!r}).reason())"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return answer == "\n"


def needs_namespaces():
    if not namespaces():
        pytest.skip("this kernel gives this user no namespaces")


@pytest.fixture(params=["auto", "none"])
def isolation(request):
    """With namespaces, and as on a machine without."""
    if request.param == "auto":
        needs_namespaces()
    return request.param


TMP = """
    import os, tempfile
    def handler(event, context):
        folder = tempfile.gettempdir()
        before = sorted(os.listdir(folder))
        open(os.path.join(folder, event.decode()), "w").close()
        return [folder, before, os.environ["HOME"]]
"""


async def test_instances_do_not_see_each_others_files(functions, isolation):
    """Each begins with an empty folder for temporary files, which it keeps from call to call."""
    one, two = functions.image(TMP), functions.image(TMP)

    async with functions.pool(isolation=isolation) as pool:
        first, second, again = [
            json.loads((await pool.invoke(image, functions.invocation(name))).body)
            for image, name in ((one, b"a"), (two, b"b"), (one, b"c"))
        ]

    seen = [[name for name in before if len(name) == 1] for _, before, _ in (first, second, again)]
    assert seen == [[], [], ["a"]]
    assert first[0] == first[2]
    assert (first[0] == "/tmp") == (isolation == "auto")


async def test_folder_goes_with_its_instance(functions, isolation, tmp_path, monkeypatch):
    """With what the function wrote, also what it made unreadable; nothing is left when the emulator has ended."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    image = functions.image(
        """
        import os, tempfile
        def handler(event, context):
            os.makedirs(os.path.join(tempfile.gettempdir(), "a", "b"))
            os.chmod(os.path.join(tempfile.gettempdir(), "a"), 0)
        """
    )

    async with functions.pool(isolation=isolation) as pool:
        await pool.invoke(image, functions.invocation())
        written = list(tmp_path.glob("*/c-*/a"))
        pool.retire_family(image.family)
        await until(lambda: not list(tmp_path.glob("*/c-*")))
        assert len(written) == 1
    assert list(tmp_path.glob("localyun-instances-*")) == []


@pytest.mark.skipif(not system.LOCKS, reason="nothing is swept where nothing can be locked")
async def test_what_a_killed_emulator_left_is_removed_at_the_next_start(functions, tmp_path, monkeypatch):
    """What another one that still runs uses stays."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    running = Scratch()
    (running.folder / "c-1").mkdir()
    code = (
        f"import os, tempfile; tempfile.tempdir = {str(tmp_path)!r}\n"
        "from emulator.services.fc.runtime.launcher import Scratch\n"
        "scratch = Scratch(); scratch.create('c-2'); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    assert len(list(tmp_path.glob("localyun-instances-*"))) == 2

    async with functions.pool():
        await until(lambda: not list(tmp_path.glob("*/c-2")))

    assert list(tmp_path.glob("localyun-instances-*")) == [running.folder]
    await running.close()


@pytest.mark.skipif(not system.LOCKS, reason="nothing is swept where nothing can be locked")
async def test_a_folder_that_was_swept_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    """Of two emulators that start at once none loses the folder of its instances to the other."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lock, swept = system.lock, []

    def late(descriptor):
        if not swept:
            swept.extend(tmp_path.iterdir())
            sweep("localyun-instances-", tmp_path)
        return lock(descriptor)

    monkeypatch.setattr(system, "lock", late)
    scratch = Scratch()

    assert not swept[0].exists()
    assert list(tmp_path.iterdir()) == [scratch.folder]
    scratch.create("c-1")
    await scratch.close()
    assert list(tmp_path.iterdir()) == []


def test_zygote_ends_with_a_sentence_when_the_next_emulator_has_removed_its_folder(tmp_path):
    """Its own emulator was killed while it warmed up."""
    mine, other = socket.socketpair()
    program = Path(sandbox.__file__).parent
    with mine, other:
        ended = subprocess.run(
            [sys.executable, program, "zygote", str(other.fileno()), str(tmp_path / "gone" / "root"), "[]"],
            pass_fds=[other.fileno()], capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    assert "Traceback" not in ended.stderr
    assert ended.stderr.endswith("the next one has cleared up\n")
    assert ended.returncode == 1


async def test_machines_tmp_is_out_of_reach(functions, tmp_path):
    """``rm -rf /tmp/*`` in a function does nothing to the machine's files; the function's own code stays."""
    needs_namespaces()
    with tempfile.NamedTemporaryFile(dir="/tmp") as precious:
        image = functions.image(
            """
            import os, subprocess
            def handler(event, context):
                subprocess.run("rm -rf /tmp/[!p]* /var/tmp/[!p]*", shell=True)
                return [os.path.exists(event), os.listdir("/code"), open("/code/index.py").read() != "", os.getppid()]
            """,
            timeout_s=30,  # a program that lies below /tmp is there, and rm walks through it
        )

        result = (await functions.calls(image, precious.name.encode()))[0]

        assert json.loads(result.body) == [False, ["index.py"], True, 1]
        assert Path(precious.name).exists()


async def test_files_a_function_creates_belong_to_the_user(functions):
    """Whatever names the namespace gives to users."""
    image = functions.image(
        "import os\ndef handler(event, context):\n    open('made', 'w').close()\n    return os.getuid()\n"
    )

    result = (await functions.calls(image, b""))[0]

    assert int(result.body) == os.getuid()
    assert (image.code_dir / "made").stat().st_uid == os.getuid()


async def test_layers_are_in_opt(functions, tmp_path):
    """The first layer lies on top."""
    needs_namespaces()
    layers = []
    for name in ("upper", "lower"):
        layer = tmp_path / name
        (layer / "data").mkdir(parents=True)
        (layer / "data" / "both").write_text(name)
        (layer / "data" / name).write_text(name)
        layers.append(layer)
    image = functions.image(
        """
        from pathlib import Path
        def handler(event, context):
            return {path.name: path.read_text() for path in Path("/opt/data").iterdir()}
        """,
        layers=tuple(layers),
    )

    result = (await functions.calls(image, b""))[0]

    assert json.loads(result.body) == {"both": "upper", "upper": "upper", "lower": "lower"}


async def test_instance_sees_its_own_processes_only(functions):
    """And nothing in there can be stopped that others need."""
    needs_namespaces()
    image = functions.image(
        """
        import os, signal
        def handler(event, context):
            for number in (signal.SIGSTOP, signal.SIGKILL):
                os.kill(1, number)
            return sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
        """
    )
    other = functions.image("def handler(event, context): return 'fine'")

    async with functions.pool() as pool:
        first, second, third = [
            (await pool.invoke(each, functions.invocation())).body for each in (image, other, image)
        ]

    assert json.loads(first) == json.loads(third) == [1, 2]
    assert second == b"fine"


STOPPER = """
    import os, signal, time
    def handler(event, context):
        os.kill(os.getppid(), signal.SIGSTOP)
        open("stopped", "w").close()
        while event:
            time.sleep(1)
        return "stopped"
"""


@pytest.mark.usefixtures("zygote")
@pytest.mark.parametrize("event", [b"", b"x"], ids=["and returns", "and never returns"])
async def test_stopped_zygote_is_replaced(functions, event):
    """Calls that need a new instance wait for a moment, and the stopper itself ends with its time-out."""
    image = functions.image(STOPPER, timeout_s=1)
    other = functions.image("def handler(event, context): return 'fine'")

    async with functions.pool(isolation="none", zygote_silence_s=0.5) as pool:
        stopper = asyncio.create_task(pool.invoke(image, functions.invocation(event)))
        await until((image.code_dir / "stopped").exists)
        async with asyncio.timeout(10):
            after = [await pool.invoke(each, functions.invocation()) for each in (other, other)]
        stopper = await stopper

    assert (b"timed out" in stopper.body) == bool(event)
    assert [result.body for result in after] == [b"fine", b"fine"]


@pytest.mark.usefixtures("zygote")
async def test_stopped_zygote_does_not_keep_the_emulator_from_ending(functions):
    """And its instances end all the same."""
    image = functions.image("import os\nopen('pid', 'w').write(str(os.getpid()))\n" + dedent(STOPPER), timeout_s=60)
    pids = image.code_dir / "pid"

    async with functions.pool(isolation="none") as pool:
        task = asyncio.create_task(pool.invoke(image, functions.invocation(b"x")))
        await until((image.code_dir / "stopped").exists)
        task.cancel()
        await asyncio.wait([task])

    assert await until(lambda: not Path(f"/proc/{pids.read_text()}").exists())


DAEMON = """
    import os, subprocess, sys
    def handler(event, context):
        subprocess.Popen(
            ["/bin/sh", "-c", "sleep " + event.decode() + " & exec sleep " + event.decode()],
            env={}, start_new_session=True, close_fds=True, cwd="/",
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        return "left"
"""


def sleepers(seconds):
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if line.read_bytes() == b"sleep\0" + seconds + b"\0":
                found.append(line)
        except OSError:
            continue
    return found


@pytest.mark.usefixtures("zygote")
async def test_daemons_without_an_environment_do_not_outlive_the_emulator(functions, isolation):
    """Nothing marks them as an instance's; they are known as descendants of the zygote."""
    seconds = f"{300 + os.getpid()}.{time.monotonic_ns() % 1000}".encode()
    image = functions.image(DAEMON)

    async with functions.pool(isolation=isolation) as pool:
        result = await pool.invoke(image, functions.invocation(seconds))
        await until(lambda: len(sleepers(seconds)) == 2)
        assert result.body == b"left"
    assert sleepers(seconds) == []


@pytest.mark.usefixtures("zygote")
async def test_log_says_that_and_why_instances_share_tmp(functions, caplog, monkeypatch):
    """Where the kernel has no namespaces for this user; instances have folders of their own all the same."""
    image = functions.image(TMP)
    # A root folder that is a file: nothing can be mounted there.
    monkeypatch.setattr("emulator.services.fc.runtime.zygote.root_folder", _file_as_root)

    result = (await functions.calls(image, b"a"))[0]

    assert json.loads(result.body)[0] != "/tmp"
    assert "instances share /tmp and see all processes of this machine: [Errno" in caplog.text


def _file_as_root(settings):
    (settings.scratch / "root").touch()
    return str(settings.scratch / "root")


async def test_zygote_that_became_ready_while_the_loop_was_away_is_used(functions):
    """A loop that a busy machine held up looks before it takes the zygote for a silent one."""
    zygote = Zygote(sys.executable, RuntimeSettings(), lambda _: None)
    deadline = time.monotonic() + 60

    while not zygote.has_become_ready() and time.monotonic() < deadline:
        time.sleep(0.01)

    assert zygote.ready.done()
    assert zygote.has_become_ready()
    await zygote.close()
