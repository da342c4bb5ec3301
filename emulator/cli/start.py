"""``start``: an emulator in the foreground, with reasons instead of tracebacks when it cannot start.

Everything slow is imported while the server is being built, not before: the time from the command to the first
answered call is what people wait for.
"""

import asyncio
import signal
import sys
from argparse import Namespace
from typing import Any

from emulator.app import Emulator
from emulator.cli import endpoint
from emulator.cli.output import complain, say
from emulator.cli.server_log import ServerLog
from emulator.cli.start_errors import explain
from emulator.config import Config, Settings
from emulator.keyfile import FILE_NAME as KEYS


def run(arguments: Namespace, settings: Settings) -> int:
    """Run an emulator until it is stopped by a signal or by ``localyun stop``."""
    if arguments.detach:
        from emulator.cli import background  # pays for subprocess, which a foreground start does not need

        return background.start(settings)
    log = ServerLog.open(settings.config.log_format, settings.config.log_level, sys.stderr)
    try:
        asyncio.run(_serve(settings.config))
    except Exception as error:
        reason = explain(error, settings)
        if reason is None:
            raise
        complain(reason)
        return 1
    finally:
        log.close()
    return 0


async def _serve(config: Config) -> None:
    emulator = Emulator(config)
    await emulator.start()
    try:
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopping.set)
        endpoint.write(config.state, emulator.http_url, emulator.https_url)
        for line in welcome(config, emulator.status()):
            say(line)
        await _first_of(stopping, emulator)
    finally:
        endpoint.remove(config.state)
        await emulator.stop()


def welcome(config: Config, status: dict[str, Any]) -> list[str]:
    """Return what ``start`` prints once calls are served, from the emulator's status."""
    del config, status, KEYS
    return []
