"""What functions with an agent of ours see of a clock that was moved, and when it is turned."""

import asyncio
import json
import shutil

import pytest

from emulator.services.fc.runtime.settings import FunctionTime

HOUR_MS = 3_600_000

SLOW_IMPORT = """
import sys
import time


class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "time_machine":
            time.sleep(1.5)
        return None


def install():
    sys.meta_path.insert(0, Slow())
"""

PYTHON = (
    "import sys, time\ndef handler(event, context):\n    return [round(time.time() / 3600), 'pytest' in sys.modules]"
)
NODE = "exports.handler = (event, context, callback) => callback(null, [Math.round(Date.now() / 3600000)]);"


@pytest.fixture
def turned():
    """Hours since the epoch, of a clock that stands still."""
    time = FunctionTime()
    time.shift = (0, 100 * HOUR_MS)
    return time


async def test_clock_is_turned_before_the_time_of_a_call_begins(functions, tmp_path, turned):
    """What it takes to load what turns it is no part of a function's timeout; pytest is not loaded along."""
    hook = tmp_path / "hook.py"
    hook.write_text(SLOW_IMPORT)

    result = await functions.invoke(
        functions.image(PYTHON, timeout_s=1), functions.invocation(), time=turned, redirect_hook=hook
    )

    assert result.error_type is None
    assert json.loads(result.body) == [100, False]


@pytest.mark.parametrize(
    ("runtime", "file", "code"),
    [
        ("python3", "index.py", PYTHON),
        pytest.param(
            "nodejs18", "index.js", NODE, marks=pytest.mark.skipif(not shutil.which("node"), reason="there is no node")
        ),
    ],
)
async def test_warm_instance_sees_each_move(functions, turned, runtime, file, code):
    """Also the one back to the time of the machine."""
    image = functions.image("", runtime=runtime)
    (image.code_dir / file).write_text(code)
    hours = []

    async with functions.pool(time=turned) as pool:
        for shift in [(0, 100 * HOUR_MS), (0, 102 * HOUR_MS), None]:
            turned.shift = shift
            result = await pool.invoke(image, functions.invocation())
            hours.append((json.loads(result.body)[0], result.cold))

    assert hours[:2] == [(100, True), (102, False)]
    assert hours[2][0] > 1000
    assert not hours[2][1]


async def test_calls_side_by_side_all_see_the_move(functions, turned):
    """Of an instance that they share: each waits until its clock is turned."""
    image = functions.image(PYTHON, instance_concurrency=4, generation="3.0")

    async with functions.pool(time=turned) as pool:
        await pool.invoke(image, functions.invocation())
        turned.shift = (0, 101 * HOUR_MS)
        results = await asyncio.gather(*(pool.invoke(image, functions.invocation()) for _ in range(4)))

    assert [json.loads(result.body)[0] for result in results] == [101] * 4
