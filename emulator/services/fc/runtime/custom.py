"""Custom runtimes: a program of the user's that listens on a port and is called over HTTP.

Without containers a port can be used once on a machine, so each instance is told a free port of its own in
``FC_SERVER_PORT`` and ``FC_CUSTOM_LISTEN_PORT``. A program that listens on its configured port all the same works too,
but only one instance on that port at a time; whoever needs it next waits, or takes the place of an idle one.
"""

import asyncio
import re
from collections.abc import Iterable
from contextlib import AsyncExitStack

from emulator.http.client import HttpClient
from emulator.services.fc.runtime.command import PORT_VARIABLES, program_of
from emulator.services.fc.runtime.custom_process import CustomProcess
from emulator.services.fc.runtime.instance import (
    Credentials,
    FunctionImage,
    InstanceStartFailed,
    PortBusy,
)
from emulator.services.fc.runtime.launcher import InstanceProcess, Listener
from emulator.services.fc.runtime.listening import free_port, is_open
from emulator.services.fc.runtime.program import Forker
from emulator.services.fc.runtime.readiness import until_ready
from emulator.services.fc.runtime.settings import RuntimeSettings

_TAKEN = re.compile(r"in use|EADDRINUSE", re.IGNORECASE)

IDLE_S = 4.0
"""How long a connection is kept for the next call: less than the five seconds after which Node.js servers close one."""


class CustomLauncher:
    """A `Launcher` for programs that listen."""

    def __init__(self, settings: RuntimeSettings, forker: Forker) -> None:
        self._settings = settings
        self._forker = forker
        self._client = HttpClient(idle_s=IDLE_S, idle_per_host=200, idle_total=1000)
        self._given: set[int] = set()
        self._holders: dict[int, str] = {}
        self._insisting: set[str] = set()
        self._following: set[str] = set()
        self._learning: dict[int, asyncio.Lock] = {}

    def warm_up(self) -> None:
        """Do nothing: there is nothing to prepare."""

    async def launch(
        self, image: FunctionImage, instance_id: str, listener: Listener, credentials: Credentials | None = None
    ) -> InstanceProcess:
        """Start the program of *image* and wait until it listens; see `Launcher`.

        Raises: PortBusy, ProgramMissing; RuntimeUnavailable; InstanceStartFailed.
        """
        if image.key in self._following:
            return await self._start(image, instance_id, listener, credentials, ())
        # Which port it takes shows when it listens, so of those that may take the same one only one starts at a time.
        async with self._learning.setdefault(image.port, asyncio.Lock()):
            holder = self._holders.get(image.port)
            if holder is not None and image.key in self._insisting:
                raise PortBusy(image.port, holder)
            spare = () if holder is not None or await is_open(image.port) else (image.port,)
            try:
                process = await self._start(image, instance_id, listener, credentials, spare)
            except InstanceStartFailed as error:
                if holder is not None and _TAKEN.search(str(error)):
                    self._insisting.add(image.key)
                    raise PortBusy(image.port, holder) from error
                raise
            self._learn(image, instance_id, process)
            return process

    async def close(self) -> None:
        """Close the connections; the processes are ended by whoever has started them."""
        await self._client.close()

    async def _start(
        self,
        image: FunctionImage,
        instance_id: str,
        listener: Listener,
        credentials: Credentials | None,
        also: Iterable[int],
    ) -> CustomProcess:
        own = free_port({*self._given, *self._holders, image.port})
        command = image.command or ("/code/bootstrap",)
        variables = dict.fromkeys(PORT_VARIABLES, str(own))
        program = program_of(image, instance_id, self._settings, command, variables, credentials)
        process = CustomProcess(image, listener, self._settings, self._client)
        self._given.add(own)
        process.at_end(lambda: self._given.discard(own))
        async with AsyncExitStack() as undo:
            undo.callback(process.abandon)
            control, source = await self._forker.execute(program, image, instance_id, process, keep_channel=False)
            process.attach(control, source)
            await until_ready(image, process, [own, *also], self._settings.listen_timeout_s)
            undo.pop_all()
        return process

    def _learn(self, image: FunctionImage, instance_id: str, process: CustomProcess) -> None:
        if process.port != image.port:
            self._following.add(image.key)
            return
        self._insisting.add(image.key)
        self._holders[image.port] = instance_id
        process.at_end(lambda: self._holders.pop(image.port, None))
