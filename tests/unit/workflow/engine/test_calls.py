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
