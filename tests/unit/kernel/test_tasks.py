"""Owned tasks."""

import asyncio

from emulator.kernel.tasks import TaskGroup


async def test_closing_a_group_cancels_and_awaits_every_task():
    """Nothing goes on after its owner has closed."""
    group = TaskGroup("test")
    ended = []

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    for number in range(3):
        group.spawn(work(), str(number))
    await asyncio.sleep(0)
    await group.close()
    assert (ended, len(group)) == ([True, True, True], 0)


async def test_a_failing_task_is_logged_with_its_name(caplog):
    """A failure is never lost."""
    group = TaskGroup("owner")

    async def fail():
        raise RuntimeError("broken on purpose")

    group.spawn(fail(), "job")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(group) == 0
    assert "owner:job" in caplog.text
    assert "broken on purpose" in caplog.text
