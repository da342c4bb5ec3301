"""Instances of sessions, and of functions whose requests are isolated: their hooks, and what ends them."""

import asyncio
import contextlib
import os
import signal

import pytest

from emulator.services.fc.runtime.model import InstanceStartFailed, SeatBusy
from emulator.services.fc.runtime.seating import Seat
from tests.waiting import until

HOOKED = """
    import os, time
    calls = 0
    def handler(event, context):
        global calls
        calls += 1
        open("begun-%d" % calls, "w").close()
        while event and not os.path.exists("go"):
            time.sleep(0.005)
        return "%s %d" % (os.environ["FC_INSTANCE_ID"], calls)
    def freeze(context):
        open("freezing", "w").close()
        while os.path.exists("hold"):
            time.sleep(0.005)
        print("froze")
    def stop(context):
        print("stopped")
"""
BOUND = {"sessions": 1, "timeout_s": 30, "pre_stop": "index.stop"}


def said(result):
    """Return instance and number of calls."""
    instance, calls = result.body.decode().split()
    return instance, int(calls)


def printed(functions, word):
    return sum(word in data for _, data in functions.log)


async def test_instance_of_one_session_runs_its_hook_when_the_session_leaves(functions):
    """Not before, however many calls the session makes; a second session has one of its own."""
    image = functions.image(HOOKED, exclusive=True, **BOUND)
    mine, other = Seat("mine"), Seat("other")

    async with functions.pool() as pool:
        first, again = [said(await pool.invoke(image, functions.invocation(), mine)) for _ in range(2)]
        apart = said(await pool.invoke(image, functions.invocation(), other))
        before = printed(functions, b"stopped")
        pool.vacate(mine)
        await until(lambda: len(pool.instances(image.family)) == 1)
        after = printed(functions, b"stopped")

    assert (first[0], [first[1], again[1]]) == (again[0], [1, 2])
    assert apart[0] != first[0]
    assert (before, after) == (0, 1)


async def test_session_that_is_deleted_in_a_call_ends_its_own_instance_at_once(functions):
    """The call fails and no hook runs: there is nobody left to wait for."""
    image = functions.image(HOOKED, exclusive=True, **BOUND)
    seat = Seat("mine")

    async with functions.pool() as pool:
        call = asyncio.create_task(pool.invoke(image, functions.invocation(b"wait"), seat))
        await until((image.code_dir / "begun-1").exists)
        pool.vacate(seat, now=True)
        result = await call

    assert result.error_type == "UnhandledInvocationError"
    assert printed(functions, b"stopped") == 0


async def test_call_of_a_session_that_has_ended_takes_no_other_instance(functions):
    """Nobody would give that one back: a call that its instance has not read is not made again."""
    image = functions.image(HOOKED, exclusive=True, **BOUND)
    seat = Seat("mine")

    async with functions.pool() as pool:
        call = asyncio.create_task(pool.invoke(image, functions.invocation(), seat))
        await until(lambda: seat.instance is not None)
        pool.vacate(seat, now=True)
        with contextlib.suppress(InstanceStartFailed):
            await call
        with pytest.raises(InstanceStartFailed, match="'mine' has ended"):
            await pool.invoke(image, functions.invocation(), seat)
        await until(lambda: not pool.instances(image.family))

    assert seat.instance is None


async def test_session_waits_for_the_hook_that_its_last_call_has_left(functions):
    """It is not moved, and is not told that its instance is busy."""
    image = functions.image(HOOKED, pre_freeze="index.freeze", pre_freeze_timeout_s=30, **BOUND)
    seat = Seat("mine")
    (image.code_dir / "hold").touch()

    async with functions.pool() as pool:
        first = said(await pool.invoke(image, functions.invocation(), seat))
        await until((image.code_dir / "freezing").exists)
        call = asyncio.create_task(pool.invoke(image, functions.invocation(), seat))
        (image.code_dir / "hold").unlink()
        second = said(await call)
        await until(lambda: printed(functions, b"froze") == 2)

    assert second == (first[0], 2)


async def test_second_call_of_a_full_instance_is_refused_and_a_second_session_is_not(functions):
    """The one stays where it is, the other gets an instance."""
    image = functions.image(HOOKED, **BOUND)
    seat, other = Seat("mine"), Seat("other")

    async with functions.pool() as pool:
        call = asyncio.create_task(pool.invoke(image, functions.invocation(b"wait"), seat))
        await until((image.code_dir / "begun-1").exists)
        with pytest.raises(SeatBusy):
            await pool.invoke(image, functions.invocation(), seat)
        apart = said(await pool.invoke(image, functions.invocation(), other))
        (image.code_dir / "go").touch()
        mine = said(await call)

    assert apart[0] != mine[0]


async def test_session_of_a_killed_process_goes_on_in_another(functions):
    """It keeps its name and loses what the process held."""
    image = functions.image(HOOKED, **BOUND)
    seat, other = Seat("mine"), Seat("other")

    async with functions.pool() as pool:
        mine = said(await pool.invoke(image, functions.invocation(), seat))
        theirs = said(await pool.invoke(image, functions.invocation(), other))
        os.kill(seat.instance._process.control.pid, signal.SIGKILL)
        await until(lambda: len(pool.instances(image.family)) == 1)
        moved = said(await pool.invoke(image, functions.invocation(), seat))
        stayed = said(await pool.invoke(image, functions.invocation(), other))

    assert (moved[0] not in {mine[0], theirs[0]}, moved[1]) == (True, 1)
    assert stayed == (theirs[0], 2)


async def test_isolated_request_has_an_instance_that_ends_with_it(functions):
    """Its hook runs; one that was kept ready is used once and replaced."""
    image = functions.image(HOOKED, once=True, timeout_s=30, pre_stop="index.stop")

    async with functions.pool() as pool:
        cold = [await pool.invoke(image, functions.invocation()) for _ in range(2)]
        await until(lambda: not pool.instances(image.family))
        hooks = printed(functions, b"stopped")
        await pool.provision(image, 1)
        (ready,) = pool.instances(image.family)
        warm = await pool.invoke(image, functions.invocation())
        await until(lambda: ready.instance_id not in {each.instance_id for each in pool.instances(image.family)})
        await until(lambda: any(each.provisioned for each in pool.instances(image.family)))

    assert len({said(each)[0] for each in cold}) == 2
    assert [said(each)[1] for each in (*cold, warm)] == [1, 1, 1]
    assert hooks == 2
    assert (warm.instance_id, warm.provisioned, warm.cold) == (ready.instance_id, True, False)
