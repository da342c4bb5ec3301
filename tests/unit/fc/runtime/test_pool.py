"""Which instance serves a call, and how long instances live."""

import asyncio
import json
import os
import shutil
import sys

import pytest

from emulator.kernel.clock import Millis, VirtualClock
from emulator.kernel.ids import RandomIds
from emulator.services.fc.runtime.instance import Instance
from emulator.services.fc.runtime.model import Credentials, InstancesExhausted, InstanceStartFailed
from emulator.services.fc.runtime.outcome import CallNotRead
from emulator.services.fc.runtime.zygote import Zygote
from tests.waiting import until

SLOW = """
    import os, time
    def handler(event, context):
        open("begun-" + context.request_id, "w").close()
        while event and not os.path.exists("go"):
            time.sleep(0.005)
        return os.environ["FC_INSTANCE_ID"]
"""


async def begin(functions, pool, image):
    """Start a call and return its task once the handler runs."""
    invocation = functions.invocation(b"wait")
    task = asyncio.create_task(pool.invoke(image, invocation))
    await until(lambda: (image.code_dir / f"begun-{invocation.request_id}").exists() or task.done())
    return task


async def test_busy_instance_is_not_shared(functions):
    """A second call at the same time gets an instance of its own."""
    image = functions.image(SLOW, timeout_s=30)

    async with functions.pool() as pool:
        tasks = [await begin(functions, pool, image) for _ in range(3)]
        states = [info.state for info in pool.instances(image.family)]
        (image.code_dir / "go").touch()
        results = await asyncio.gather(*tasks)
        busy, idle = states, [info.state for info in pool.instances(image.family)]

    assert busy == ["busy"] * 3
    assert len({result.body for result in results}) == 3
    assert all(result.cold for result in results)
    assert idle == ["idle"] * 3


@pytest.mark.usefixtures("zygote")
async def test_process_that_forks_instances_is_started_when_calls_are_expected(functions, monkeypatch):
    """Once and not before, since many emulators have no function; the first call finds it there."""
    started = []
    made = Zygote.__init__
    monkeypatch.setattr(Zygote, "__init__", lambda self, *given: started.append(given[0]) or made(self, *given))

    async with functions.pool() as pool:
        before = len(started)
        pool.expect_calls()
        pool.expect_calls()
        result = await pool.invoke(functions.image("def handler(event, context): return 1"), functions.invocation())

    assert (before, started, result.body) == (0, [sys.executable], b"1")


async def test_instance_whose_id_comes_again_waits_for_the_former_one(functions, monkeypatch):
    """As after a restore with a seed; what the former one has written may still be on its way out."""
    image = functions.image("""
        import os, tempfile
        def handler(event, context):
            file = os.path.join(tempfile.gettempdir(), "left")
            there = os.path.exists(file)
            open(file, "w").close()
            return there
    """)
    monkeypatch.setattr(RandomIds, "hex", lambda ids, digits: "0" * digits)
    clock = VirtualClock(Millis(1_700_000_000_000))

    async with functions.pool(clock) as pool:
        results = [await pool.invoke(image, functions.invocation())]
        for _ in range(10):
            pool.end_all()
            results.append(await pool.invoke(image, functions.invocation()))
        numbers = pool.instances(image.family)

    assert {result.instance_id for result in results} == {f"c-6553f100-{'0' * 20}"}
    assert [(result.cold, result.body) for result in results] == [(True, b"false")] * 11
    assert len(numbers) == 1


async def test_a_call_that_was_not_read_when_all_instances_were_ended_is_not_made_again(functions, monkeypatch):
    """As in a restore: the function may be another one by then. One whose instance has ended by itself is."""
    image = functions.image("def handler(event, context): return 1")
    invoke, ends = Instance.invoke, []

    async def ended_before(self, invocation, *, cold):
        if ends:
            ends.pop()()
            raise CallNotRead("")
        return await invoke(self, invocation, cold=cold)

    monkeypatch.setattr(Instance, "invoke", ended_before)
    async with functions.pool() as pool:
        ends.append(lambda: None)
        result = await pool.invoke(image, functions.invocation())
        ends.append(pool.end_all)
        with pytest.raises(InstanceStartFailed):
            await pool.invoke(image, functions.invocation())

    assert result.body == b"1"


async def test_instance_id_tells_the_second_of_the_start(functions):
    """In hexadecimal digits, as the cloud's ids do; the rest is random."""
    image = functions.image("def handler(event, context): return context.request_id")

    result = await functions.invoke(image, functions.invocation(), clock=VirtualClock(Millis(0x62D919BC * 1000)))

    prefix, second, rest = result.instance_id.split("-")
    assert (prefix, second, len(rest)) == ("c", "62d919bc", 20)


async def test_most_recently_used_instance_is_taken_first(functions):
    """The one that finished last serves the next call, so that the others can be reaped."""
    image = functions.image(SLOW, timeout_s=30)

    async with functions.pool() as pool:
        first = await begin(functions, pool, image)
        last = await pool.invoke(image, functions.invocation())
        (image.code_dir / "go").touch()
        finished = await first
        taken = await pool.invoke(image, functions.invocation())

    assert last.instance_id != finished.instance_id
    assert taken.instance_id == finished.instance_id


async def test_images_with_different_keys_share_nothing(functions):
    """A change of code or configuration makes a new key, and a new key a new instance."""
    image = functions.image("def handler(event, context): return 1")
    changed = functions.image("def handler(event, context): return 2")

    async with functions.pool() as pool:
        assert [(await pool.invoke(each, functions.invocation())).body for each in (image, changed, image)] == [
            b"1",
            b"2",
            b"1",
        ]


async def test_retired_family_ends_idle_instances_now_and_busy_ones_after_their_call(functions):
    """The call under way finishes; the next one starts anew."""
    image = functions.image(SLOW, timeout_s=30)
    other = functions.image(SLOW, family="another")

    async with functions.pool() as pool:
        busy = await begin(functions, pool, image)
        await pool.invoke(image, functions.invocation())
        kept = await pool.invoke(other, functions.invocation())
        pool.retire_family(image.family)
        await until(lambda: len(pool.instances(image.family)) == 1)
        (image.code_dir / "go").touch()
        finished = await busy
        after = await pool.invoke(image, functions.invocation())
        still = await pool.invoke(other, functions.invocation())

    assert finished.error_type is None
    assert after.cold
    assert after.instance_id != finished.instance_id
    assert still.instance_id == kept.instance_id


async def test_functions_say_how_long_their_instances_may_be_idle(functions):
    """A shorter time and a longer one than usual, side by side with one that says nothing."""
    clock = VirtualClock()
    spans = {"short": 100, "usual": 0, "long": 1000}
    images = [
        functions.image("def handler(event, context): return 1", family=name, idle_s=idle_s)
        for name, idle_s in spans.items()
    ]
    left = []

    async with functions.pool(clock=clock) as pool:

        def living():
            return [name for name in spans if pool.instances(name)]

        for image in reversed(images):
            await pool.invoke(image, functions.invocation())
        for seconds, gone in ((99, 0), (1, 1), (199, 1), (1, 2), (699, 2), (1, 3)):
            clock.move_to(clock.now() + seconds * 1000)
            pool.clock_moved()
            await until(lambda gone=gone: len(living()) <= len(spans) - gone)
            left.append(living())

    assert left == [
        ["short", "usual", "long"], ["usual", "long"], ["usual", "long"], ["long"], ["long"], [],
    ]  # fmt: skip


async def test_idle_instances_are_reaped_by_the_emulators_clock(functions):
    """Idle time is measured on the clock that was given, which may stand still; provisioned instances stay."""
    clock = VirtualClock()
    image = functions.image("def handler(event, context): return 1")
    provisioned = functions.image("def handler(event, context): return 2", family="kept")

    async with functions.pool(clock=clock) as pool:
        await pool.invoke(image, functions.invocation())
        await pool.provision(provisioned, 1)
        clock.move_to(clock.now() + 299_000)
        pool.clock_moved()
        await pool.invoke(provisioned, functions.invocation())
        before = pool.instances(image.family)
        clock.move_to(clock.now() + 1_000)
        pool.clock_moved()
        await until(lambda: not pool.instances(image.family))
        kept = pool.instances("kept")

    assert [info.state for info in before] == ["idle"]
    assert [info.state for info in kept] == ["idle"]


async def test_number_of_instances_is_bounded(functions):
    """An idle instance makes room, a busy one does not."""
    image = functions.image(SLOW, timeout_s=30)
    other = functions.image("def handler(event, context): return 1", family="other")

    async with functions.pool(max_instances=2) as pool:
        await pool.invoke(other, functions.invocation())
        tasks = [await begin(functions, pool, image) for _ in range(2)]
        with pytest.raises(InstancesExhausted) as caught:
            await pool.invoke(other, functions.invocation())
        await until(lambda: pool.instances("other") == [])  # it made room
        (image.code_dir / "go").touch()
        await asyncio.gather(*tasks)
        limit, after = caught.value.limit, await pool.invoke(other, functions.invocation())

    assert limit == 2
    assert after.body == b"1"


async def test_provisioned_instances_are_started_initialized_and_not_cold(functions):
    """The initializer has run with the role's keys before the first call, under a request id of its own."""
    image = functions.image(
        """
        keys = None
        def setup(context):
            global keys
            keys = context.credentials.access_key_id
        def handler(event, context):
            return keys
        """,
        initializer="index.setup",
    )
    role = Credentials(access_key_id="STS.role", access_key_secret="s", security_token="t")

    async with functions.pool() as pool:
        count = await pool.provision(image, 2, role)
        instances = pool.instances(image.family)
        result = await pool.invoke(image, functions.invocation())

    assert count == 2
    assert [info.state for info in instances] == ["idle", "idle"]
    assert (result.body, result.cold) == (b"STS.role", False)
    assert b"FC Initialize" not in result.log
    assert b"FC Initialize Start" in b"".join(data for request, data in functions.log if request != "request-1")


async def test_provisioned_count_can_be_lowered(functions):
    """Surplus instances end at once; none are kept at zero."""
    image = functions.image("def handler(event, context): return 1")

    async with functions.pool() as pool:
        counts = [await pool.provision(image, 3), await pool.provision(image, 1)]
        await until(lambda: len(pool.instances(image.family)) == 1)
        counts.append(await pool.provision(image, 0))
        await until(lambda: not pool.instances(image.family))
        assert counts == [3, 1, 0]


async def test_surplus_instance_ends_after_the_call_it_is_in(functions):
    """Whether it serves a client or has just been initialized: nothing keeps it ready any more."""
    image = functions.image("import time\ndef handler(event, context):\n    time.sleep(0.3)\n    return 'done'\n")

    async with functions.pool() as pool:
        await pool.provision(image, 1)
        call = asyncio.ensure_future(pool.invoke(image, functions.invocation()))
        await until(lambda: pool.numbers().busy == 1)
        await pool.provision(image, 0)
        busy = pool.numbers().all
        result = await call
        await until(lambda: not pool.instances(image.family))

    assert busy == 1
    assert (result.body, result.cold) == (b"done", False)


async def test_provisioned_instance_that_dies_is_replaced(functions):
    """The number asked for is kept up."""
    image = functions.image("import os\ndef handler(event, context): os._exit(1)")

    async with functions.pool() as pool:
        await pool.provision(image, 1)
        old = pool.instances(image.family)[0].instance_id
        result = await pool.invoke(image, functions.invocation())
        await until(lambda: [i for i in pool.instances(image.family) if i.instance_id != old and i.state == "idle"])
        assert result.error_type == "UnhandledInvocationError"


async def test_concurrent_calls_share_an_instance_up_to_its_concurrency(functions):
    """With an instance concurrency of three, three calls at once need one instance and a fourth another."""
    image = functions.image(SLOW, timeout_s=30, instance_concurrency=3)

    async with functions.pool() as pool:
        tasks = [await begin(functions, pool, image) for _ in range(4)]
        (image.code_dir / "go").touch()
        bodies = [result.body for result in await asyncio.gather(*tasks)]

    assert bodies[0] == bodies[1] == bodies[2] != bodies[3]


async def test_concurrent_calls_keep_their_logs_and_contexts_apart(functions):
    """Printed and logged lines carry to the call whose thread wrote them."""
    image = functions.image(
        """
        import logging, sys, threading
        barrier = threading.Barrier(3)
        def handler(event, context):
            for number in range(20):
                print("printed", context.request_id)
                sys.stdout.write("partial " + context.request_id)
                barrier.wait()
                sys.stdout.write(" rest\\n")
                context.logger.info("logged by %s", context.request_id)
                logging.info("root by %s", context.request_id)
            return context.request_id
        """,
        instance_concurrency=3,
        timeout_s=20,
    )

    async with functions.pool() as pool:
        calls = [functions.invocation() for _ in range(3)]
        results = await asyncio.gather(*(pool.invoke(image, call) for call in calls))

    requests = [call.request_id for call in calls]
    for request_id, result in zip(requests, results, strict=True):
        text = result.log.decode()
        assert result.body.decode() == request_id
        assert text.count(f"printed {request_id}\n") == 20
        assert text.count(f"partial {request_id} rest\n") == 20
        assert text.count(f" {request_id} [INFO] logged by {request_id}\n") == 20
        assert text.count(f" {request_id} [INFO] root by {request_id}\n") == 20
        assert not any(other in text for other in requests if other != request_id)


async def test_initializer_of_a_shared_instance_runs_once(functions):
    """Calls that arrive meanwhile wait for it."""
    image = functions.image(
        """
        import time
        count = 0
        def setup(context):
            global count
            time.sleep(0.1)
            count += 1
        def handler(event, context):
            return count
        """,
        initializer="index.setup",
        instance_concurrency=10,
    )

    async with functions.pool() as pool:
        first = asyncio.create_task(pool.invoke(image, functions.invocation()))
        await until(lambda: b"Initialize Start" in functions.logged("request-1"))
        results = [await first, *await asyncio.gather(*(pool.invoke(image, functions.invocation()) for _ in range(4)))]

    assert [result.body for result in results] == [b"1"] * 5
    assert len({result.instance_id for result in results}) == 1


async def test_exit_in_one_of_several_calls_ends_them_all(functions):
    """They share the process; each is told that it ended."""
    image = functions.image(
        """
        import sys, threading
        barrier = threading.Barrier(2)
        def handler(event, context):
            barrier.wait()
            if event:
                sys.exit(1)
            threading.Event().wait(30)
        """,
        instance_concurrency=2,
        timeout_s=20,
    )

    async with functions.pool() as pool:
        results = await asyncio.gather(*(pool.invoke(image, functions.invocation(event)) for event in (b"x", b"")))

    assert all(b"Process exited unexpectedly" in result.body for result in results)


@pytest.mark.usefixtures("zygote")
async def test_zygote_that_dies_is_replaced(functions):
    """A function that kills its parent does no harm: its call is answered and later ones are as well."""
    image = functions.image(
        """
        import os, signal
        def handler(event, context):
            if event:
                os.kill(os.getppid(), signal.SIGKILL)
            return os.getppid()
        """
    )
    other = functions.image("def handler(event, context): return 'fine'")

    async with functions.pool(isolation="none") as pool:
        killer = await pool.invoke(image, functions.invocation(b"x"))
        again = await pool.invoke(other, functions.invocation())
        warm = await pool.invoke(image, functions.invocation())

    assert killer.error_type is None
    assert again.body == b"fine"
    assert warm.instance_id == killer.instance_id


@pytest.mark.usefixtures("zygote")
async def test_closing_the_pool_leaves_no_process(functions):
    """Idle, busy and provisioned instances and the zygote are gone."""
    image = functions.image(SLOW, timeout_s=60)
    pid = functions.image("import os\ndef handler(event, context): return [os.getpid(), os.getppid()]")

    async with functions.pool(isolation="none") as pool:
        await begin(functions, pool, image)
        await pool.provision(pid, 1)
        own, parent = json.loads((await pool.invoke(pid, functions.invocation())).body)

    for process in (own, parent):
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


LOADED = {
    "python3": ("index.py", "import os\nopen('loaded', 'x').close()\ndef handler(event, context):\n    return 'ok'\n"),
    "nodejs18": (
        "index.js",
        "require('fs').writeFileSync('loaded', '', { flag: 'wx' });\nexports.handler = async () => 'ok';\n",
    ),
}


@pytest.mark.parametrize("runtime", LOADED)
async def test_an_instance_kept_ready_has_loaded_its_code(functions, runtime):
    """The import is over before the first call, with or without an initializer, and happens once."""
    if runtime.startswith("nodejs") and shutil.which("node") is None:
        pytest.skip("there is no node on the PATH")
    name, code = LOADED[runtime]
    image = functions.image("", runtime=runtime)
    (image.code_dir / name).write_text(code)

    async with functions.pool() as pool:
        kept = await pool.provision(image, 1)
        loaded = (image.code_dir / "loaded").exists()
        result = await pool.invoke(image, functions.invocation())

    assert (kept, loaded) == (1, True)
    assert (result.body, result.provisioned) == (b"ok", True)


async def test_code_that_cannot_be_loaded_is_told_by_the_first_call(functions):
    """An instance is kept ready all the same: only its callers can be told."""
    image = functions.image("import nothing_of_that_name\n")

    async with functions.pool() as pool:
        kept, result = await pool.provision(image, 1), await pool.invoke(image, functions.invocation())

    assert kept == 1
    assert b"Unable to import module 'index'" in result.body
    assert result.provisioned
