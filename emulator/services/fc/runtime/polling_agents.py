"""What an instance runs that polls for its calls: the program of a Go function, or an agent of ours in Java or PHP.

The agents are in ``bootstrap/java`` and ``bootstrap/php``. They speak the interface that the libraries of the vendor
speak, so one launcher serves all of these runtimes.
"""

import asyncio
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from emulator.kernel.frozen import frozen
from emulator.services.fc.runtime.model import FunctionImage, RuntimeUnavailable

_BOOTSTRAP = Path(__file__).parent / "bootstrap"

_NO_DOTNET = (
    "the agent of the .NET runtimes is not part of the emulator; install the .NET SDK, publish the code as a program"
    " that listens on FC_SERVER_PORT and run it on custom.debian10 or later, with customRuntimeConfig.command"
)
_INTERFACES = "com/aliyun/fc/runtime/fc-java-core"


@frozen
class PollingProgram:
    """A command line and what it adds to its environment."""

    command: tuple[str, ...]
    variables: Mapping[str, str]


def polls(runtime: str) -> bool:
    """Whether functions on *runtime* poll for their calls."""
    return runtime.startswith(("go", "java", "php", "dotnet"))


async def polling_program(image: FunctionImage, interpreters: Mapping[str, str]) -> PollingProgram:
    """Return what runs the instances of *image*.

    Raises: RuntimeUnavailable, which says what to install.
    """
    runtime = image.runtime
    if runtime.startswith("go"):
        return PollingProgram(command=(f"/code/{image.handler}",), variables={})
    if runtime.startswith("php"):
        return _php(runtime, interpreters)
    if runtime.startswith("java"):
        return await asyncio.to_thread(_java, image, interpreters)
    raise RuntimeUnavailable(runtime, _NO_DOTNET)


def _php(runtime: str, interpreters: Mapping[str, str]) -> PollingProgram:
    php = interpreters.get(runtime) or shutil.which("php")
    if php is None:
        reason = (
            "there is no php on the PATH; install it (Debian: php-cli), or name one under runtimes: in localyun.yaml"
        )
        raise RuntimeUnavailable(runtime, reason)
    options = ("-d", "display_errors=stderr", "-d", "html_errors=0", "-d", "implicit_flush=1")
    return PollingProgram(command=(php, *options, str(_BOOTSTRAP / "php" / "agent.php")), variables={})


def _java(image: FunctionImage, interpreters: Mapping[str, str]) -> PollingProgram:
    """Return a virtual machine with the agent, the code, and the platform's interfaces where the code has none.

    Source: Function Compute, Java runtimes: a package is a jar, or an archive with class files and ``lib``.
    """
    from emulator.kernel.java import JavaMissing, built_jar, java_program  # most installations run no Java

    folder = _BOOTSTRAP / "java"
    try:
        java = interpreters.get(image.runtime) or java_program()
        agent = built_jar(java, folder / "localyun", folder / "declarations")
    except (JavaMissing, OSError) as error:
        raise RuntimeUnavailable(image.runtime, str(error)) from error
    code = image.code_dir
    layers = [place for layer in image.layers for place in (f"{layer}/java/lib/*", f"{layer}/java/lib")]
    places = [str(agent), str(code), f"{code}/*", f"{code}/lib/*", *layers, *_interfaces()]
    heap = f"-Xmx{max(image.memory_mb * 3 // 4, 32)}m"
    options = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", heap)
    return PollingProgram(command=(java, *options, "localyun.Agent"), variables={"CLASSPATH": os.pathsep.join(places)})


def _interfaces() -> list[str]:
    """Return the newest ``fc-java-core`` that Maven has brought to this machine, for packages that leave it out."""
    jars = list((Path.home() / ".m2" / "repository" / _INTERFACES).glob("*/*.jar"))
    return [str(max(jars, key=_version_of))] if jars else []


def _version_of(jar: Path) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", jar.parent.name)]
