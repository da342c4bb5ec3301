"""``start``: an emulator in the foreground, with reasons instead of tracebacks when it cannot start."""

import asyncio
import contextlib
import signal
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from emulator.app import Emulator
from emulator.cli import endpoint, welcome
from emulator.cli.log_stream import stream_for
from emulator.cli.loop_errors import LoopErrors
from emulator.cli.output import complain, say
from emulator.cli.server_log import ServerLog
from emulator.config import Config, Settings
from emulator.kernel.clock import SystemClock
from emulator.kernel.garbage import collection_put_off, keep_for_good


def run(arguments: Namespace, settings: Settings) -> int:
    """Run an emulator until it is stopped by a signal or by ``localyun stop``."""
    if arguments.detach:
        from emulator.cli import background  # pays for subprocess, which a foreground start does not need

        return background.start(settings)
    config = settings.config
    try:
        stream = stream_for(config.log_file)
    except OSError as error:
        complain(f"{config.log_file}: {error.strerror}")
        return 1
    log = ServerLog.open(config.log_format, config.log_level, stream)
    try:
        asyncio.run(_serve(config))
    except Exception as error:
        from emulator.cli.start_errors import explain  # only a start that fails needs it

        reason = explain(error, settings)
        if reason is None:
            raise
        log.close()  # first what led to it, then the reason
        complain(reason)
        return 1
    finally:
        log.close()
    return 0


async def _serve(config: Config) -> None:
    emulator = Emulator(config)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(LoopErrors(SystemClock()))
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows: Ctrl-C interrupts asyncio.run instead
            loop.add_signal_handler(number, emulator.stopped.set)
    with collection_put_off():
        await emulator.start()
        keep_for_good()
    try:
        # In a thread, because it waits for the disk: calls that have waited for the services come first.
        await asyncio.to_thread(_announce, config, emulator.http_url, emulator.https_url, emulator.status())
        await emulator.stopped.wait()
    finally:
        endpoint.remove(config.state)
        await emulator.stop()


def _announce(config: Config, http: str, https: str, status: Mapping[str, Any]) -> None:
    """Tell other commands, and the person at the terminal, where the emulator is."""
    endpoint.write(config.state, http, https)
    say("\n".join(welcome.lines(config, status)))
