"""Programs of the emulator's own in Java, .NET and C, built from their sources at first use.

Nothing compiled is shipped: it is made by a compiler of the machine (``javac``; that of the .NET SDK, or Mono's
``mcs``; ``cc``) and kept in the user's cache, under a name that its sources and options decide. Class files are for
Java 8 and assemblies for the oldest framework installed, so that any newer virtual machine or framework runs them.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from emulator.kernel import system
from emulator.kernel.owned_folders import OwnedFolder, sweep

_RELEASE = "8"
_JDK = "a JDK (Debian: default-jdk-headless)"
_FRAMEWORK = "Microsoft.NETCore.App"
_OLDEST = (3, 1)
_LISTED = re.compile(r"^(?:(\S+) )?((\d+)\.(\d+)\.\S+) \[(.+)\]$", re.MULTILINE)
WITHOUT_CULTURES = MappingProxyType({"DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"})
"""What a .NET program needs in its environment to run where the cultures' data is not found."""

_DRAFT = "draft-"
_BUILD_S = 120
_BRIEFLY = ("+IgnoreUnrecognizedVMOptions", "TieredStopAtLevel=1", "+UseSerialGC")
"""Options of the compiler's virtual machine, which else spends half of these seconds on optimizing itself."""
_QUESTION_S = 30


class CompilerMissing(Exception):
    """What compiles or runs such programs is not on this machine; the text says what to install."""


def java_program(environ: Mapping[str, str] = os.environ) -> str:
    """Return the ``java`` of ``JAVA_HOME``, else of the search path.

    Raises: CompilerMissing.
    """
    home = environ.get("JAVA_HOME")
    return _program("java", home and f"{home}/bin", environ, _JDK)


def dotnet_program() -> str:
    """Return the ``dotnet`` of ``DOTNET_ROOT``, else of the search path.

    Raises: CompilerMissing.
    """
    return _program("dotnet", os.environ.get("DOTNET_ROOT"), os.environ, "the .NET SDK, 3.1 or newer")


def _program(name: str, folder: str | None, environ: Mapping[str, str], wanted: str) -> str:
    beside = shutil.which(name, path=folder) if folder else None
    program = beside or shutil.which(name, path=environ.get("PATH"))
    if program is None:
        raise CompilerMissing(f"there is no {name} on the PATH; install {wanted}")
    return program


def _place(language: str, sources: Path, files: Iterable[Path], options: str) -> Path:
    """Return where in the cache the product of *files* is, without a suffix."""
    digest = hashlib.sha256(options.encode())
    for path in files:
        digest.update(path.read_bytes())
    return system.cache() / language / f"{sources.name}-{digest.hexdigest()[:16]}"


@contextmanager
def _draft(cache: Path) -> Iterator[Path]:
    """Make a folder to build in, on the cache's file system, after removing those left by builds that were killed."""
    sweep(_DRAFT, cache)
    with OwnedFolder(_DRAFT, cache) as owned:
        yield owned.folder


def built_library(name: str, source: Path) -> Path:
    """Return a shared library of the C file *source*, built once for this kind of machine.

    Raises: CompilerMissing; OSError.
    """
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    library = system.cache() / f"{name}-{os.uname().machine}-{digest}.so"
    if not library.is_file():
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            raise CompilerMissing("there is no C compiler on the PATH; install one (Debian: gcc libc6-dev)")
        library.parent.mkdir(parents=True, exist_ok=True)
        with _draft(library.parent) as folder:
            draft = folder / library.name
            words = [compiler, "-shared", "-fPIC", "-O2", "-o", str(draft), str(source), "-ldl"]
            done = _ask(words, _BUILD_S)
            if done.returncode != 0:
                raise OSError(f"{compiler}: {done.stderr.strip()}")
            draft.replace(library)
    return library


def built_jar(
    java: str, sources: Path, declarations: Path | None = None, manifest: Mapping[str, str] | None = None
) -> Path:
    """Return a jar of the classes below *sources*, built once by the ``javac`` that belongs to *java*.

    *declarations* holds classes that the compiler needs and the jar does not. Blocks for a second or two when it
    builds: not for the event loop.

    Raises: CompilerMissing; OSError.
    """
    entries = {"Manifest-Version": "1.0", **(manifest or {})}
    files = sorted(sources.rglob("*.java"))
    extra = sorted(declarations.rglob("*.java")) if declarations is not None else []
    jar = _place("java", sources, [*files, *extra], repr(entries)).with_suffix(".jar")
    if not jar.is_file():
        jar.parent.mkdir(parents=True, exist_ok=True)
        with _draft(jar.parent) as folder:
            classes = folder / "classes"
            classes.mkdir()
            _compile_java(_javac(java), [*files, *extra], classes)
            declared = {path.stem for path in extra}
            wanted = (path for path in sorted(classes.rglob("*.class")) if path.stem not in declared)
            draft = folder / "draft.jar"
            _pack(draft, classes, wanted, entries)
            draft.replace(jar)
    return jar


def _javac(java: str) -> str:
    beside = Path(os.path.realpath(java)).with_name(Path(java).name.replace("java", "javac"))
    compiler = str(beside) if beside.is_file() else shutil.which("javac")
    if compiler is None:
        raise CompilerMissing(
            "there is no javac beside java or on the PATH; install a JDK (Debian: default-jdk-headless)"
        )
    return compiler


def _compile_java(compiler: str, files: Iterable[Path], classes: Path) -> None:
    options = ["-encoding", "UTF-8", "-source", _RELEASE, "-target", _RELEASE, "-nowarn", "-Xlint:-options"]
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_TOOL_OPTIONS"}
    done = subprocess.run(  # noqa: S603 - the compiler that belongs to the user's java
        [compiler, *(f"-J-XX:{each}" for each in _BRIEFLY), *options, "-d", str(classes), *map(str, files)],
        capture_output=True, text=True, errors="replace", timeout=_BUILD_S, check=False, env=environment,
    )  # fmt: skip
    if done.returncode != 0:
        raise OSError(f"{compiler}: {(done.stderr or done.stdout).strip()}")


def _pack(jar: Path, classes: Path, files: Iterable[Path], manifest: Mapping[str, str]) -> None:
    with zipfile.ZipFile(jar, "w") as archive:
        lines = "".join(f"{name}: {value}\r\n" for name, value in manifest.items())
        archive.writestr("META-INF/MANIFEST.MF", lines + "\r\n")
        for path in files:
            archive.write(path, path.relative_to(classes).as_posix())


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

    Raises: CompilerMissing; OSError.
    """
    framework = _framework(dotnet)
    files = sorted(sources.glob("*.cs"))
    folder = _place("dotnet", sources, files, framework.name)
    program = folder / "agent.dll"
    if not program.is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _draft(folder.parent) as draft:
            compile_assembly(dotnet, files, draft / program.name, program=True)
            wanted = {"name": _FRAMEWORK, "version": framework.name}
            settings = json.dumps({"runtimeOptions": {"framework": wanted}})
            (draft / "agent.runtimeconfig.json").write_text(settings, encoding="utf-8")
            folder.mkdir(exist_ok=True)
            for path in (program.with_suffix(".runtimeconfig.json"), program):  # the program last: it is tested for
                (draft / path.name).replace(path)
    return program


def compile_assembly(
    dotnet: str, files: Iterable[Path], target: Path, references: Iterable[Path] = (), *, program: bool = False
) -> None:
    """Compile C# *files* to *target*, a library or a program, for the oldest framework installed.

    Raises: CompilerMissing; OSError with what the compiler has printed.
    """
    libraries = [path for path in sorted(_framework(dotnet).glob("*.dll")) if _is_managed(path.name)]
    form = "exe" if program else "library"
    options = ["-nologo", "-nostdlib", "-noconfig", "-langversion:7", f"-target:{form}", f"-out:{target}"]
    options += [f"-r:{path}" for path in (*libraries, *references)]
    command = [*_csharp_compiler(dotnet), *options, *map(str, files)]
    done = _ask(command, _BUILD_S, WITHOUT_CULTURES)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command[:3])}: {(done.stdout + done.stderr).strip()}")


def _is_managed(name: str) -> bool:
    return name.startswith(("System.", "netstandard.", "mscorlib.")) and ".Native." not in name


@lru_cache
def _framework(dotnet: str) -> Path:
    """Return the folder of the oldest framework that the agent can be built for."""
    installed = _installed(dotnet, "--list-runtimes")
    usable = [(version, path) for name, version, path in installed if name == _FRAMEWORK and version >= _OLDEST]
    if not usable:
        raise CompilerMissing(f"{dotnet} has no {_FRAMEWORK}; install the .NET SDK, 3.1 or newer")
    return min(usable)[1]


@lru_cache
def _csharp_compiler(dotnet: str) -> Sequence[str]:
    """Return the start of the command line that compiles: the newest SDK's compiler, else Mono's."""
    for _, _, folder in sorted(_installed(dotnet, "--list-sdks"), reverse=True):
        compiler = folder / "Roslyn" / "bincore" / "csc.dll"
        if compiler.is_file():
            return (dotnet, "exec", str(compiler))
    mono = shutil.which("mcs")
    if mono is None:
        reason = f"{dotnet} is a runtime without SDK and there is no mcs on the PATH"
        raise CompilerMissing(f"{reason}; install the .NET SDK (or Mono's compiler, Debian: mono-mcs)")
    return (mono,)


def _installed(dotnet: str, question: str) -> list[tuple[str, tuple[int, int], Path]]:
    """Return names, versions (major, minor) and folders of frameworks or SDKs."""
    listed = _LISTED.findall(_ask([dotnet, question], _QUESTION_S, WITHOUT_CULTURES).stdout)
    return [(name, (int(major), int(minor)), Path(folder) / text) for name, text, major, minor, folder in listed]


def _ask(
    command: Sequence[str], limit_s: float, variables: Mapping[str, str] = MappingProxyType({})
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # noqa: S603 - programs of the user's own
        command, capture_output=True, text=True, errors="replace", timeout=limit_s, check=False,
        stdin=subprocess.DEVNULL, env={**os.environ, **variables},
    )  # fmt: skip
