"""Custom runtimes: a program of the user's that listens on a port and is called over HTTP.

Without containers a port can be used once on a machine, so each instance is told a free port of its own in
``FC_SERVER_PORT`` and ``FC_CUSTOM_LISTEN_PORT``. A program that listens on its configured port all the same works too,
but only one instance on that port at a time; whoever needs it next waits, or takes the place of an idle one.
"""

import asyncio
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from emulator.http.client import HttpClient
from emulator.services.fc.runtime.custom_process import CustomProcess
from emulator.services.fc.runtime.environment import instance_environment
from emulator.services.fc.runtime.health import wait_until_well
from emulator.services.fc.runtime.instance import (
    Credentials,
    FunctionImage,
    InstanceStartFailed,
    PortBusy,
    ProgramMissing,
)
from emulator.services.fc.runtime.launcher import InstanceProcess, Listener
from emulator.services.fc.runtime.listening import free_port, is_open, wait_until_open
from emulator.services.fc.runtime.program import Forker, Program
from emulator.services.fc.runtime.settings import RuntimeSettings

PORT_VARIABLES = ("FC_SERVER_PORT", "FC_CUSTOM_LISTEN_PORT")
_KEY_VARIABLES = (
    ("ALIBABA_CLOUD_ACCESS_KEY_ID", "accessKeyID"),
    ("ALIBABA_CLOUD_ACCESS_KEY_SECRET", "accessKeySecret"),
    ("ALIBABA_CLOUD_SECURITY_TOKEN", "securityToken"),
)
_CODE = re.compile(r"""(?<![^\s=:,;'"(])/code(?=$|[/\s:,;'")&|])""")
_TAKEN = re.compile(r"in use|EADDRINUSE", re.IGNORECASE)

_IDLE_S = 4.0
"""How long a connection is kept for the next call: less than the five seconds after which Node.js servers close one."""


class CustomLauncher:
    """A `Launcher` for programs that listen."""

    def __init__(self, settings: RuntimeSettings, forker: Forker) -> None:
        self._settings = settings
        self._forker = forker
        self._client = HttpClient(idle_s=_IDLE_S, idle_per_host=200, idle_total=1000)
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
            await self._until_ready(image, process, [own, *also])
            undo.pop_all()
        return process

    async def _until_ready(self, image: FunctionImage, process: CustomProcess, ports: list[int]) -> None:
        """Wait until the program listens and is well.

        Raises: InstanceStartFailed.
        """

        async def ready() -> None:
            process.port = await wait_until_open(ports)
            if image.health_check is not None:
                await wait_until_well(image.health_check, process.probe)

        waiting = asyncio.create_task(ready())
        limit_s = self._settings.listen_timeout_s
        try:
            await asyncio.wait({waiting, process.gone}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if process.gone.done():
            raise InstanceStartFailed(process.failure(" ".join(image.command) or "/code/bootstrap"))
        if not waiting.done() or waiting.cancelled():
            raise InstanceStartFailed(
                f"Function instance health check failed on port {image.port} in {limit_s:g} seconds. It did not listen"
                f" on {ports[0]}, the value of FC_SERVER_PORT, either.\nLogs:\n{process.said()}"
            )
        waiting.result()
        process.look_after()

    def _learn(self, image: FunctionImage, instance_id: str, process: CustomProcess) -> None:
        if process.port != image.port:
            self._following.add(image.key)
            return
        self._insisting.add(image.key)
        self._holders[image.port] = instance_id
        process.at_end(lambda: self._holders.pop(image.port, None))


def program_of(
    image: FunctionImage,
    instance_id: str,
    settings: RuntimeSettings,
    words: Sequence[str],
    variables: Mapping[str, str],
    credentials: Credentials | None,
) -> Program:
    """Return the program of an instance: the command line *words*, with *variables* of its family.

    ``/code`` in the command is the folder of the code, wherever that is.

    Raises: ProgramMissing.
    """
    folder = image.code_dir
    command = [_CODE.sub(lambda _: str(folder), word) for word in words]
    environment = settings.add_hooks(instance_environment(image, instance_id, settings)) | dict(variables)
    if credentials is not None:
        keys = (credentials.access_key_id, credentials.access_key_secret, credentials.security_token)
        for names, value in zip(_KEY_VARIABLES, keys, strict=True):
            environment |= dict.fromkeys(names, value)
    command[0] = _found(command[0], folder, environment["PATH"], image.runtime)
    return Program(command=tuple(command), folder=folder, environment=environment)


def _found(name: str, folder: Path, search_path: str, runtime: str) -> str:
    """Return the path of the program *name*: in the code, or of the search path when it is a bare name.

    Raises: ProgramMissing.
    """
    in_code = folder / name
    if os.sep not in name and not in_code.is_file() and (found := shutil.which(name, path=search_path)) is not None:
        return found
    if not in_code.is_file():
        raise ProgramMissing(runtime, str(in_code))
    return str(in_code)
