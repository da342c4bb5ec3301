""".NET programs of the emulator's own, built from their sources at first use.

Nothing compiled is shipped: an assembly is made by a compiler of the machine, that of the .NET SDK or Mono's ``mcs``,
and kept in the user's cache, under a name that its sources and the framework it is built for decide.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

_FRAMEWORK = "Microsoft.NETCore.App"
_OLDEST = (3, 1)
_LISTED = re.compile(r"^(?:(\S+) )?((\d+)\.(\d+)\.\S+) \[(.+)\]$", re.MULTILINE)
WITHOUT_CULTURES = MappingProxyType({"DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"})
"""What a .NET program needs in its environment to run where the cultures' data is not found."""

_BUILD_S = 120
_QUESTION_S = 30


class DotnetMissing(Exception):
    """No .NET of that kind is on this machine; the text says what to install."""


def dotnet_program(environ: Mapping[str, str] = os.environ) -> str:
    """Return the ``dotnet`` of ``DOTNET_ROOT``, else of the search path.

    Raises: DotnetMissing.
    """
    root = environ.get("DOTNET_ROOT")
    candidate = shutil.which("dotnet", path=root) if root else None
    program = candidate or shutil.which("dotnet", path=environ.get("PATH"))
    if program is None:
        raise DotnetMissing("there is no dotnet on the PATH; install the .NET SDK, 3.1 or newer")
    return program


@lru_cache
def finds_cultures(command: tuple[str, ...]) -> bool:
    """Whether *command*, a .NET program that ends at once, finds the data of the cultures (ICU); else it is aborted.

    Blocks for a moment the first time it is asked about a command.
    """
    return _ask(command, _QUESTION_S).returncode == 0


def built_assembly(dotnet: str, sources: Path) -> Path:
    """Return a program of the C# files in *sources*, built once; its ``.runtimeconfig.json`` lies beside it.

    It is built for the oldest framework installed, and so runs on each. Blocks for some seconds when it builds: not for
    the event loop.

    Raises: DotnetMissing; OSError.
    """
    framework = _framework(dotnet)
    files = sorted(sources.glob("*.cs"))
    digest = hashlib.sha256(framework.name.encode())
    for path in files:
        digest.update(path.read_bytes())
    folder = _cache() / f"{sources.name}-{digest.hexdigest()[:16]}"
    program = folder / "agent.dll"
    if not program.is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as draft:
            compile_assembly(dotnet, files, Path(draft) / program.name, program=True)
            wanted = {"name": _FRAMEWORK, "version": framework.name}
            settings = json.dumps({"runtimeOptions": {"framework": wanted}})
            (Path(draft) / "agent.runtimeconfig.json").write_text(settings, encoding="utf-8")
            folder.mkdir(exist_ok=True)
            for path in (program.with_suffix(".runtimeconfig.json"), program):  # the program last: it is looked for
                (Path(draft) / path.name).replace(path)
    return program


def compile_assembly(
    dotnet: str, files: Iterable[Path], target: Path, references: Iterable[Path] = (), *, program: bool = False
) -> None:
    """Compile C# *files* to *target*, a library or a program, for the oldest framework installed.

    Raises: DotnetMissing; OSError with what the compiler has printed.
    """
    libraries = [path for path in sorted(_framework(dotnet).glob("*.dll")) if _is_managed(path.name)]
    form = "exe" if program else "library"
    options = ["-nologo", "-nostdlib", "-noconfig", "-langversion:7", f"-target:{form}", f"-out:{target}"]
    options += [f"-r:{path}" for path in (*libraries, *references)]
    command = [*_compiler(dotnet), *options, *map(str, files)]
    done = _ask(command, _BUILD_S, WITHOUT_CULTURES)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command[:3])}: {(done.stdout + done.stderr).strip()}")


def _is_managed(name: str) -> bool:
    return name.startswith(("System.", "netstandard.", "mscorlib.")) and ".Native." not in name


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "localyun" / "dotnet"


@lru_cache
def _framework(dotnet: str) -> Path:
    """Return the folder of the oldest framework that the agent can be built for."""
    installed = _installed(dotnet, "--list-runtimes")
    usable = [(version, path) for name, version, path in installed if name == _FRAMEWORK and version >= _OLDEST]
    if not usable:
        raise DotnetMissing(f"{dotnet} has no {_FRAMEWORK}; install the .NET SDK, 3.1 or newer")
    return min(usable)[1]


@lru_cache
def _compiler(dotnet: str) -> Sequence[str]:
    """Return the start of the command line that compiles: the newest SDK's compiler, else Mono's."""
    for _, _, folder in sorted(_installed(dotnet, "--list-sdks"), reverse=True):
        compiler = folder / "Roslyn" / "bincore" / "csc.dll"
        if compiler.is_file():
            return (dotnet, "exec", str(compiler))
    mono = shutil.which("mcs")
    if mono is None:
        reason = f"{dotnet} is a runtime without SDK and there is no mcs on the PATH"
        raise DotnetMissing(f"{reason}; install the .NET SDK (or Mono's compiler, Debian: mono-mcs)")
    return (mono,)


def _installed(dotnet: str, question: str) -> list[tuple[str, tuple[int, int], Path]]:
    """Return names, versions (major, minor) and folders of frameworks or SDKs."""
    listed = _LISTED.findall(_ask([dotnet, question], _QUESTION_S, WITHOUT_CULTURES).stdout)
    return [(name, (int(major), int(minor)), Path(folder) / text) for name, text, major, minor, folder in listed]


def _ask(
    command: Sequence[str], limit_s: float, variables: Mapping[str, str] = MappingProxyType({})
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # noqa: S603 - programs of the user's own .NET
        command, capture_output=True, text=True, errors="replace", timeout=limit_s, check=False,
        stdin=subprocess.DEVNULL, env={**os.environ, **variables},
    )  # fmt: skip
