"""The programs of instances that poll for their calls: a Go function's own, or the emulator's agent in Java, PHP or C#.

The agents are in ``bootstrap/java``, ``bootstrap/php`` and ``bootstrap/dotnet``. They speak the interface that the
libraries of the vendor speak, so one launcher serves all of these runtimes.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from emulator.kernel import system
from emulator.kernel.frozen import frozen
from emulator.services.fc.runtime.model import FunctionImage, RuntimeUnavailable

_BOOTSTRAP = Path(__file__).parent / "bootstrap"

_INTERFACES = "com/aliyun/fc/runtime/fc-java-core"


@frozen
class PollingProgram:
    """A command line and its additional environment variables."""

    command: tuple[str, ...]
    variables: Mapping[str, str]


async def polling_program(image: FunctionImage, interpreters: Mapping[str, str]) -> PollingProgram:
    """Return the program of the instances of *image*.

    Raises: RuntimeUnavailable, which says what to install.
    """
    runtime = image.runtime
    if runtime.startswith("go"):
        return PollingProgram(command=(str(image.code_dir / image.handler),), variables={})
    if runtime.startswith("php"):
        return _php(runtime, interpreters)
    if runtime.startswith("java"):
        return await asyncio.to_thread(_java, image, interpreters)
    return await asyncio.to_thread(_dotnet, image, interpreters)


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
    from emulator.kernel.compiled import CompilerMissing, built_jar, java_program  # most installations run no Java

    folder = _BOOTSTRAP / "java"
    try:
        java = interpreters.get(image.runtime) or java_program()
        agent = built_jar(java, folder / "localyun", folder / "declarations")
    except (CompilerMissing, OSError) as error:
        raise RuntimeUnavailable(image.runtime, str(error)) from error
    code = image.code_dir
    layers = [place for layer in image.layers for place in (f"{layer}/java/lib/*", f"{layer}/java/lib")]
    places = [str(agent), str(code), f"{code}/*", f"{code}/lib/*", *layers, *_interfaces()]
    heap = f"-Xmx{max(image.memory_mb * 3 // 4, 32)}m"
    options = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", heap)
    return PollingProgram(command=(java, *options, "localyun.Agent"), variables={"CLASSPATH": os.pathsep.join(places)})


def _interfaces() -> list[str]:
    """Return the newest ``fc-java-core`` that Maven has brought to this machine, for packages that leave it out."""
    home = system.home()
    jars = list((home / ".m2" / "repository" / _INTERFACES).glob("*/*.jar")) if home is not None else []
    return [str(max(jars, key=_version_of))] if jars else []


def _version_of(jar: Path) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", jar.parent.name)]


def _dotnet(image: FunctionImage, interpreters: Mapping[str, str]) -> PollingProgram:
    """Return a .NET host with the agent, on the framework that the published code asks for or a newer one.

    Source: Function Compute, C# runtimes: a package is what ``dotnet publish`` has written.
    """
    from emulator.kernel.compiled import (
        WITHOUT_CULTURES,
        CompilerMissing,
        built_assembly,
        dotnet_program,
        finds_cultures,
    )

    try:
        dotnet = interpreters.get(image.runtime) or dotnet_program()
        agent = built_assembly(dotnet, _BOOTSTRAP / "dotnet")
        command = (dotnet, "exec", "--roll-forward", "Major", *_published_options(image, agent), str(agent))
        cultures = {} if finds_cultures((*command, "check")) else WITHOUT_CULTURES
    except (CompilerMissing, OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeUnavailable(image.runtime, str(error)) from error
    heap = max(image.memory_mb * 3 // 4, 32) * 1024 * 1024
    variables = {"COMPlus_GCHeapHardLimit": f"{heap:x}", "COMPlus_gcConcurrent": "0", "COMPlus_EnableDiagnostics": "0"}
    return PollingProgram(command=command, variables={**variables, **cultures})


def _published_options(image: FunctionImage, agent: Path) -> list[str]:
    """Return the options for the host: which framework to take and where the assemblies of the package are.

    A library does not say what it runs on, a program without framework brings a runtime, which is not used.
    Assemblies that no list names are found in the folder by the agent.
    """
    published = str(image.code_dir / image.handler.partition("::")[0])
    settings, listed = Path(f"{published}.runtimeconfig.json"), Path(f"{published}.deps.json")
    own = _names_framework(settings)
    options = ["--runtimeconfig", str(settings if own else agent.with_suffix(".runtimeconfig.json"))]
    if listed.is_file() and (own or not settings.is_file()):
        options += ["--depsfile", str(listed)]
    return options


def _names_framework(settings: Path) -> bool:
    try:
        options = json.loads(settings.read_text(encoding="utf-8-sig"))["runtimeOptions"]
        return "framework" in options or "frameworks" in options
    except (OSError, ValueError, KeyError, TypeError):
        return False
