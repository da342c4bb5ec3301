"""Custom containers, where a Docker engine answers: the docker command runs as a child, as a program that listens.

Its standard output is the container's. The port the server in the container listens on is published on a free loopback
port, and the container is removed when the command has ended, however that came about.
"""

import asyncio
import logging
import os
import shutil
from pathlib import Path

from emulator.http.client import HttpClient
from emulator.services.fc.runtime.custom import IDLE_S, CustomProcess
from emulator.services.fc.runtime.listening import free_port, is_served
from emulator.services.fc.runtime.model import Credentials, RuntimeUnavailable
from emulator.services.fc.runtime.process import Forker, InstanceProcess, Launcher, Listener, Program
from emulator.services.fc.runtime.program import PORT_VARIABLES
from emulator.services.fc.runtime.settings import RuntimeSettings, function_environment, key_variables

_log = logging.getLogger(__name__)

RUNTIME = "custom-container"
_COMMAND_S = 10.0


class ContainerLauncher(Launcher):
    """A `Launcher` for custom containers."""

    def __init__(self, settings: RuntimeSettings, forker: Forker) -> None:
        self._settings = settings
        self._forker = forker
        self._client = HttpClient(idle_s=IDLE_S, idle_per_host=200, idle_total=1000)
        self._removals: set[asyncio.Task[None]] = set()
        self._answered = False

    async def launch(self, listener: Listener, credentials: Credentials | None = None) -> InstanceProcess:
        """Run the image of the function and wait until it listens; see `Launcher`.

        Raises: RuntimeUnavailable, without an engine; InstanceStartFailed.
        """
        docker = await self._docker()
        name = f"localyun-{listener.instance_id}"
        port = free_port(())
        program = run_command(docker, name, port, listener, credentials)
        process = CustomProcess(listener, self._settings, self._client, [port], is_served, measured=False)
        process.at_end(lambda: self._remove_later(docker, name))
        await process.start_listening(self._forker, program, self._settings.listen_timeout_s)
        return process

    async def close(self) -> None:
        """Wait until the containers that have ended are removed."""
        if self._removals:
            await asyncio.wait(self._removals)
        await self._client.close()

    async def _docker(self) -> str:
        """Return the docker command, once an engine has answered it.

        Raises: RuntimeUnavailable.
        """
        docker = self._settings.interpreters.get(RUNTIME) or shutil.which("docker")
        if docker is None:
            raise RuntimeUnavailable(RUNTIME, "it needs a Docker engine, and there is no docker on the PATH")
        if not self._answered:
            status, output_line = await _run(docker, "version", "--format", "{{.Server.Version}}")
            if status != 0:
                raise RuntimeUnavailable(RUNTIME, f"it needs a Docker engine, and none answers: {output_line}")
            self._answered = True
        return docker

    def _remove_later(self, docker: str, name: str) -> None:
        self._removals.add(task := asyncio.get_running_loop().create_task(self._remove(docker, name)))
        task.add_done_callback(self._removals.discard)

    async def _remove(self, docker: str, name: str) -> None:
        status, output_line = await _run(docker, "rm", "--force", name)
        if status != 0 and "No such container" not in output_line:
            _log.warning("the container %s is not removed: %s", name, output_line)


def run_command(docker: str, name: str, port: int, instance: Listener, credentials: Credentials | None) -> Program:
    """Return the docker command line that runs a function's container with its port published on *port*.

    Variables are handed over by name, so that keys are in no list of processes.

    Raises: RuntimeUnavailable for a container that is no server.
    """
    image = instance.image
    container = image.container
    if container is None:
        raise RuntimeUnavailable(RUNTIME, "the function names no image")
    if not container.web_server:
        raise RuntimeUnavailable(RUNTIME, "containers without a web server (webServerMode false) are not run here")
    own = os.environ | {"DOCKER_CLI_HINTS": "false"}
    variables = function_environment(image, instance.instance_id)
    variables |= dict.fromkeys(PORT_VARIABLES, str(image.port))
    variables |= key_variables(image, credentials)
    command = [docker, "run", "--rm", "--name", name, "--label", "localyun", "--memory", f"{image.memory_mb}m"]
    command += ["--publish", f"127.0.0.1:{port}:{image.port}", "--add-host", "host.docker.internal:host-gateway"]
    for variable, value in variables.items():
        command += ["--env", variable if variable not in own else f"{variable}={value}"]
    if container.entrypoint:
        command += ["--entrypoint", container.entrypoint[0]]
    command += [container.image, *container.entrypoint[1:], *container.command]
    return Program(command=tuple(command), folder=Path(), environment=variables | own)


async def _run(*command: str) -> tuple[int, str]:
    """Run a command to its end and return its status and the last line it has written."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
    except OSError as error:
        return 127, str(error)
    try:
        async with asyncio.timeout(_COMMAND_S):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return 124, f"no answer within {_COMMAND_S:g} s"
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return process.returncode or 0, lines[-1] if lines else ""
