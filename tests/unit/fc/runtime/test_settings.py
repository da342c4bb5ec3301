"""What programs see of a clock that was moved."""

import os
import subprocess
import sys

import pytest

from emulator.services.fc.runtime.settings import FunctionTime, faketime_library

WAIT = """
import ctypes, time
library = ctypes.CDLL(None, use_errno=True)
kind, mutex, condition = (ctypes.create_string_buffer(64) for _ in range(3))
library.pthread_condattr_init(kind)
library.pthread_condattr_setclock(kind, time.CLOCK_MONOTONIC)
library.pthread_cond_init(condition, kind)
library.pthread_mutex_lock(mutex)
due = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + 50_000_000
library.pthread_cond_timedwait(condition, mutex, (ctypes.c_long * 2)(*divmod(due, 1_000_000_000)))
print(time.clock_gettime_ns(time.CLOCK_MONOTONIC) >= due)
"""


@pytest.mark.skipif(not faketime_library(), reason="libfaketime is not installed")
@pytest.mark.parametrize("shift", [(241_000, None), (0, 1_795_399_764_000)], ids=["moved", "frozen"])
def test_waits_by_the_monotonic_clock_last_as_long_as_they_should(shift):
    """As those of Java's `Object.wait` and libuv do."""
    time = FunctionTime()
    time.shift = shift

    done = subprocess.run(
        [sys.executable, "-c", WAIT], env={**os.environ, **time.variables()}, check=True, capture_output=True, text=True
    )

    assert done.stdout == "True\n"
