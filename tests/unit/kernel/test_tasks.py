"""Owned tasks."""

import asyncio

from emulator.kernel.tasks import TaskGroup, in_turns


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


async def test_items_are_taken_some_in_each_turn_of_the_loop():
    """Whoever else is ready runs after each portion."""
    seen = []

    async def other():
        for _ in range(3):
            seen.append("other")
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    async for item in in_turns(range(5), 2):
        seen.append(item)  # noqa: PERF401 - the other appends in between
    await task

    assert seen == [0, 1, "other", 2, 3, "other", 4, "other"]
