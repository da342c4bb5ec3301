"""The trace of what runs: inherited by tasks, not by shared callbacks."""

import asyncio
import logging

from emulator.kernel.clock import SystemClock
from emulator.kernel.timers import LoopTimers
from emulator.kernel.tracing import begin, current_trace, fields_of, shared_context, trace_of
from emulator.storage.database import Database


def record(message, *args):
    return logging.LogRecord("x", logging.INFO, "", 0, message, args, None)


async def test_a_task_inherits_the_trace_and_keeps_its_own():
    """Two requests side by side do not take each other's."""

    async def served(name):
        begin(name)
        await asyncio.sleep(0)
        return current_trace()

    assert (await asyncio.gather(served("a"), served("b")), current_trace()) == (["a", "b"], "")


async def test_what_a_commit_releases_is_on_nobodys_account():
    """The commit of a tick serves every request of it, whichever wrote first."""
    database, seen = Database(None), []
    begin("first writer")
    database.write("CREATE TABLE t (n)")
    database.after_commit(lambda failure: seen.append(current_trace()))
    await database.committed()
    database.close()
    assert seen == [""]


async def test_timers_are_on_nobodys_account():
    """All timers share one wake-up of the loop, armed by whoever came last."""
    clock, seen = SystemClock(), asyncio.get_running_loop().create_future()
    timers = LoopTimers(clock, asyncio.get_running_loop())
    begin("who armed it")
    timers.call_at(clock.now(), "key", lambda: seen.set_result(current_trace()))
    found = await seen
    timers.close()
    assert found == ""


def test_a_line_says_by_name_what_it_was_given_in_a_mapping():
    """Other lines say nothing by name."""
    assert fields_of(record("%(queue)s is full", {"queue": "q"})) == {"queue": "q"}
    assert fields_of(record("%s is full", "q")) == {}


def test_the_trace_of_a_line_is_the_one_it_names_then_the_present_one_then_its_request():
    """Lines written on behalf of several requests name theirs."""

    def with_present():
        begin("present")
        return trace_of({"trace": "named", "request": "r"}), trace_of({"request": "r"})

    assert shared_context().run(with_present) == ("named", "present")
    assert shared_context().run(trace_of, {"request": "r"}) == "r"
    assert shared_context().run(trace_of, {}) == ""
