"""Calls of tasks: each attempt is made once, and once more where the state has been replaced."""

import asyncio
from types import SimpleNamespace

from emulator.kernel.turnstile import Turnstile
from emulator.services.workflow.engine.calls import Calls
from emulator.services.workflow.engine.language import Replied, Result
from tests.waiting import until

RUN = SimpleNamespace(id=1, key=lambda entry, attempt: f"{entry}-{attempt}", facts=SimpleNamespace(execution_name="e"))
CALL = SimpleNamespace(entry=7, attempt=2, step=SimpleNamespace(name="pay"))


async def test_attempt_is_made_again_for_the_state_that_follows():
    """A restore may ask for an attempt that is being called off; the end of that one leaves the new one alone."""
    made, posted, may_end = [], [], asyncio.Event()

    async def perform(run, call):
        made.append(len(made))
        try:
            await may_end.wait()
        finally:
            await asyncio.sleep(0)  # ends a moment after it was called off
        return Result(output={})

    calls = Calls(perform, lambda execution, arrival: posted.append((execution, arrival)), Turnstile())
    calls.make(RUN, CALL)
    calls.make(RUN, CALL)
    await asyncio.sleep(0)
    calls.cancel_all()

    assert not calls.is_making(1, CALL)
    calls.make(RUN, CALL)
    await until(lambda: made == [0, 1] and len(calls.tasks) == 1)
    assert calls.is_making(1, CALL)

    may_end.set()
    await until(lambda: posted)
    assert posted == [(1, Replied(7, 2, Result(output={})))]
    assert not calls.is_making(1, CALL)
    await calls.close()


TASK = """
version: v1
type: flow
steps:
  - {type: wait, name: rest, duration: 5}
  - {type: task, name: pay, resourceArn: 'acs:fc:::services/s/functions/f'}
"""


async def test_a_call_that_has_been_decided_is_not_made_for_an_execution_that_is_forgotten_then(workflow):
    """A reset comes before the commit; the next execution may have the same number, and would get the reply."""
    async with workflow() as bench:
        bench.functions.on("f", lambda given: given)
        await bench.flow(TASK)
        await bench.begin()

        bench.timers.advance(5_000)
        bench.service._engine._slice()
        bench.service.reset()
        await bench.settle()

        assert bench.functions.calls == []


async def test_nothing_is_decided_while_the_tables_are_being_replaced(workflow):
    """A wake-up that has just become due is left to what goes on from the tables afterwards."""
    async with workflow() as bench:
        bench.functions.on("f", lambda given: given)
        await bench.flow(TASK)
        await bench.begin()

        bench.timers.advance(5_000)
        await bench.service.suspend()
        for _ in range(10):
            await asyncio.sleep(0)
        meanwhile = len(bench.functions.calls)
        await bench.service.resume()
        await bench.settle()

        assert (meanwhile, len(bench.functions.calls)) == (0, 1)
        assert (await bench.describe())["Status"] == "Succeeded"


async def test_calls_have_ended_when_all_is_suspended(workflow):
    """One that takes its time to end, and makes something of that, does so before the tables are replaced."""
    async with workflow() as bench:
        begun, ended = asyncio.Event(), []

        async def slow_to_end():
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                for _ in range(100):
                    await asyncio.sleep(0)
                ended.append(True)

        bench.functions.on("f", lambda _: asyncio.ensure_future(slow_to_end()))
        await bench.flow(TASK)
        await bench.begin()
        bench.timers.advance(5_000)
        await begun.wait()

        await bench.service.suspend()

        assert ended == [True]
        await bench.service.resume()
