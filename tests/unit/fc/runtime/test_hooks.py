"""Initializer, preFreeze and preStop."""

import asyncio
import json
import re

import pytest

from tests.waiting import until

COUNTING = """
    import pathlib, time
    def note(word):
        with open("notes", "a") as file:
            file.write(word + "\\n")
    def setup(context): note("setup")
    def freeze(context): note("freeze " + context.request_id)
    def stop(context): note("stop")
    def handler(event, context): note("handler"); return event
"""


def notes(image):
    return (image.code_dir / "notes").read_text().split("\n")[:-1]


async def test_initializer_runs_once_per_instance(functions):
    """Before the first call and never again."""
    image = functions.image(COUNTING, initializer="index.setup")

    await functions.calls(image, b"", b"")

    assert notes(image) == ["setup", "handler", "handler"]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("raise ValueError('boom')", r"boom"),
        ("time.sleep(30)", r"Function timed out after 1 seconds \(maxMemoryUsage: [\d.]+MB\)"),
        (
            "sys.exit(1)",
            r"Process exited unexpectedly before completing request \(duration: \d+ms, maxMemoryUsage: [\d.]+MB\)",
        ),
    ],
    ids=["raises", "hangs", "exits"],
)
async def test_failed_initializer_fails_the_call_and_discards_the_instance(functions, statement, message):
    """The error type says so, the handler does not run, and the next call initializes a new instance."""
    image = functions.image(
        f"""
        import os, sys, time
        def setup(context):
            if not os.path.exists("repaired"):
                {statement}
        def handler(event, context):
            return "ran"
        """,
        initializer="index.setup",
        initializer_timeout_s=1,
    )

    async with functions.pool() as pool:
        failed = await pool.invoke(image, functions.invocation())
        (image.code_dir / "repaired").touch()
        good = await pool.invoke(image, functions.invocation())

    assert failed.error_type == "InitializationError"
    assert re.fullmatch(message, json.loads(failed.body)["errorMessage"])
    assert re.search(rb"FC Initialize End RequestId: request-1, Error: .+\n\nDuration: ", failed.log)
    assert b"FC Invoke" not in failed.log
    assert (good.body, good.cold) == (b"ran", True)
    assert good.instance_id != failed.instance_id


async def test_load_error_in_the_initializer_is_an_initialization_error(functions):
    """The body has the shape of any load error."""
    result = await functions.call("x = 1", initializer="index.setup")

    assert result.error_type == "InitializationError"
    assert json.loads(result.body)["errorType"] == "HandlerNotFound"


async def test_pre_freeze_runs_after_each_call_and_pre_stop_at_the_end(functions):
    """The caller does not wait for either; both log between their markers."""
    image = functions.image(COUNTING, pre_freeze="index.freeze", pre_stop="index.stop")

    results = await functions.calls(image, b"1", b"2")

    assert notes(image) == ["handler", "freeze request-1", "handler", "freeze request-2", "stop"]
    assert results[0].instance_id == results[1].instance_id
    log = functions.logged("request-2")
    assert b"FC PreFreeze Start RequestId: request-2\nFC PreFreeze End RequestId: request-2\n" in log
    assert log.endswith(b"FC PreStop Start RequestId: request-2\nFC PreStop End RequestId: request-2\n")
    assert b"PreFreeze" not in results[1].log


async def test_failing_hooks_change_nothing(functions):
    """Their errors are logged, the instance goes on."""
    image = functions.image(
        """
        def freeze(context): raise ValueError("cold feet")
        def handler(event, context): return event
        """,
        pre_freeze="index.freeze",
        pre_stop="index.nowhere",
    )

    first, second = await functions.calls(image, b"1", b"2")

    assert (first.body, second.body) == (b"1", b"2")
    assert first.instance_id == second.instance_id
    assert b"cold feet" in functions.logged("request-1")
    assert b"FC PreFreeze End RequestId: request-1, Error: Unhandled function error\n" in functions.logged("request-1")


async def test_long_pre_freeze_does_not_hold_up_the_next_call(functions):
    """When the hook takes its time another instance is started."""
    image = functions.image(
        """
        import time
        def freeze(context): time.sleep(20)
        def handler(event, context): return event
        """,
        pre_freeze="index.freeze",
        pre_freeze_timeout_s=20,
    )

    first, second = await functions.calls(image, b"1", b"2")

    assert second.body == b"2"
    assert first.instance_id != second.instance_id


async def test_hook_beyond_its_time_ends_the_instance_only(functions):
    """The caller has had its answer long since."""
    image = functions.image(
        """
        import time
        def freeze(context): time.sleep(20)
        def handler(event, context): return event
        """,
        pre_freeze="index.freeze",
        pre_freeze_timeout_s=1,
    )

    async with functions.pool() as pool:
        result = await pool.invoke(image, functions.invocation(b"x"))
        await until(lambda: not pool.instances(image.family))
        assert result.body == b"x"
    assert b"FC PreFreeze End RequestId: request-1, Error: Function timed out after 1 seconds" in functions.logged(
        "request-1"
    )


async def test_client_that_gives_up_during_the_initializer_ends_the_instance(functions):
    """The initializer's end marker says so, and the next call starts anew."""
    image = functions.image(
        """
        import os, time
        def setup(context):
            if not os.path.exists("quick"):
                time.sleep(60)
        def handler(event, context):
            return "ran"
        """,
        initializer="index.setup",
        initializer_timeout_s=60,
    )

    async with functions.pool() as pool:
        call = asyncio.create_task(pool.invoke(image, functions.invocation()))
        await until(lambda: b"Initialize Start" in functions.logged("request-1"))
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        (image.code_dir / "quick").touch()
        await until(lambda: b"Duration: " in functions.logged("request-1"))
        after = await pool.invoke(image, functions.invocation())

    assert (after.body, after.cold) == (b"ran", True)
    assert b"FC Initialize End RequestId: request-1, Error: Invocation canceled by client" in functions.logged(
        "request-1"
    )
