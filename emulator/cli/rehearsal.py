"""The emulator for the rehearsal of a plan: with the same account and region, in this process, while it is needed.

It stores resources but does not act: no timer fires, no message is pushed, no function is run.
"""

import asyncio
import logging
import tempfile
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from emulator.app import Emulator
from emulator.cli.client import Client
from emulator.cli.deploy_client import DeployClient
from emulator.cli.endpoint import Endpoint
from emulator.cli.output import CommandFailed
from emulator.config import Config
from emulator.keyfile import InstallationKeys

T = TypeVar("T")


class Stage:
    """An idle emulator in a thread of its own; ``client`` and ``api`` call it. Use as a context manager."""

    def __init__(self, keys: InstallationKeys) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="localyun-rehearsal-")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="rehearsal", daemon=True)
        self._thread.start()
        config = Config(
            port=0, https_port=0, state=Path(self._folder.name), ephemeral=True, console=False,
            access_key_id=keys.access_key_id, access_key_secret=keys.access_key_secret,
            account_id=keys.account_id, region=keys.region,
        )  # fmt: skip
        self._emulator = Emulator(config)
        try:
            self._run(self._start())
        except BaseException:
            self._end()
            raise
        self.client = Client(
            Endpoint(http=self._emulator.http_url, source="rehearsal"), self._emulator.keys, config.state
        )
        self.api = DeployClient(self.client)

    def clear(self) -> None:
        """Delete all state, and stop all work again."""
        self._run(self._clear())

    def stand_at(self, now: str) -> None:
        """Move the emulator's clock forward to *now*, an ISO 8601 time, and freeze it there."""
        self.client.admin("POST", "clock", {"to": now})
        self.client.admin("POST", "clock", {"freeze": True})

    def __enter__(self) -> "Stage":
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._run(self._emulator.stop())
        finally:
            self._end()

    async def _start(self) -> None:
        await self._emulator.start()
        await self._emulator.services.rest()

    async def _clear(self) -> None:
        await self._emulator.reset({})
        await self._emulator.services.rest()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._folder.cleanup()


@contextmanager
def stage_like(client: Client) -> Iterator[Stage]:
    """Start an empty emulator with account, region and time of *client*'s; its log is discarded."""
    log = logging.getLogger("emulator")
    silent, propagates = logging.NullHandler(), log.propagate
    log.addHandler(silent)
    log.propagate = False
    try:
        with Stage(client.keys) as stage, stage.client.kept_alive():
            with suppress(CommandFailed):  # an emulator on another machine may refuse to show its clock
                stage.stand_at(client.admin("GET", "clock")["now"])
            yield stage
    finally:
        log.removeHandler(silent)
        log.propagate = propagates
