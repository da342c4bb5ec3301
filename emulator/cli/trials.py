"""Test calls of small functions, one per runtime, made as by an emulator, so that `doctor` reports what really works.

Their code is in the state folder, like uploaded code, because functions often fail to run because of where files are.
"""

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from emulator.config import Config
from emulator.kernel.clock import SystemClock
from emulator.kernel.ids import RandomIds
from emulator.services.fc.runtime.model import FunctionImage, Invocation, RuntimeFailure
from emulator.services.fc.runtime.pool import InstancePool
from emulator.services.fc.runtime.settings import RuntimeSettings

LIMIT_S = 20.0
_START_S = 10.0
_ANSWER = b"tried"

_SAMPLES: Mapping[str, tuple[str, str]] = {
    "python": ("index.py", "import json\ndef handler(event, context):\n    return event.decode()\n"),
    "nodejs": ("index.js", "exports.handler = (event, context, callback) => callback(null, event.toString());\n"),
    "php": ("index.php", "<?php\nfunction handler($event, $context) {\n    return $event;\n}\n"),
}
"""A function that returns its event, by family of runtimes in which nothing has to be compiled: file and code."""


def can_try(runtime: str) -> bool:
    """Whether there is a test function for *runtime*."""
    return runtime.startswith(tuple(_SAMPLES))


def attempt(runtime: str, executable: str, config: Config) -> str:
    """Call a function of *runtime* with *executable*; return the problem, "" when it has answered."""
    name, code = next(sample for family, sample in _SAMPLES.items() if runtime.startswith(family))
    try:
        with tempfile.TemporaryDirectory(prefix="localyun-trial-", dir=_folder(config.state)) as folder:
            (Path(folder) / name).write_text(code, encoding="utf-8")
            return asyncio.run(_called(runtime, executable, Path(folder)))
    except (RuntimeFailure, OSError) as error:  # TimeoutError is an OSError
        return str(error) or type(error).__name__


def _folder(state: Path) -> str | None:
    """Return the folder for the code: the state folder or its nearest existing parent; None if not writable."""
    there = next(each for each in (state.absolute(), *state.absolute().parents) if each.is_dir())
    return str(there) if os.access(there, os.W_OK | os.X_OK) else None


async def _called(runtime: str, executable: str, folder: Path) -> str:
    image = FunctionImage(
        key="trial", family="trial", generation="3.0", account="0", region="trial", service=None, function="trial",
        version="LATEST", runtime=runtime, handler="index.handler", code_dir=folder, timeout_s=int(LIMIT_S),
    )  # fmt: skip
    settings = RuntimeSettings(interpreters={runtime: executable}, start_timeout_s=_START_S)
    written: list[bytes] = []
    async with contextlib.AsyncExitStack() as closing:
        pool = InstancePool(SystemClock(), RandomIds(), settings, lambda _, __, data: written.append(data))
        closing.push_async_callback(pool.close)
        await pool.start()
        async with asyncio.timeout(LIMIT_S):
            result = await pool.invoke(image, Invocation(request_id="trial", event=_ANSWER))
    if result.error_type is None and result.body.strip(b'"') == _ANSWER:
        return ""
    return b"".join((result.body, b" ", *written)).decode("utf-8", "replace").strip()
