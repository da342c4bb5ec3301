"""Java programs of the emulator's own, built from their sources at first use.

Nothing compiled is shipped: a jar is made by the ``javac`` of the machine and kept in the user's cache, under a name
that its sources and options decide. Class files are for Java 8, so that any virtual machine since then reads them.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

_RELEASE = "8"
_BUILD_S = 120


class JavaMissing(Exception):
    """No Java of that kind is on this machine; the text says what to install."""


def java_program(environ: Mapping[str, str] = os.environ) -> str:
    """Return the ``java`` of ``JAVA_HOME``, else of the search path.

    Raises: JavaMissing.
    """
    home = environ.get("JAVA_HOME")
    candidate = shutil.which("java", path=f"{home}/bin") if home else None
    program = candidate or shutil.which("java", path=environ.get("PATH"))
    if program is None:
        raise JavaMissing("there is no java on the PATH; install a JDK (Debian: default-jdk-headless)")
    return program


def built_jar(
    java: str, sources: Path, declarations: Path | None = None, manifest: Mapping[str, str] | None = None
) -> Path:
    """Return a jar of the classes below *sources*, built once by the ``javac`` that belongs to *java*.

    *declarations* holds classes that the compiler needs and the jar does not. Blocks for a second or two when it
    builds: not for the event loop.

    Raises: JavaMissing; OSError.
    """
    entries = {"Manifest-Version": "1.0", **(manifest or {})}
    files = sorted(sources.rglob("*.java"))
    extra = sorted(declarations.rglob("*.java")) if declarations is not None else []
    digest = hashlib.sha256(repr(entries).encode())
    for path in [*files, *extra]:
        digest.update(path.read_bytes())
    jar = _cache() / f"{sources.name}-{digest.hexdigest()[:16]}.jar"
    if not jar.is_file():
        jar.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=jar.parent) as folder:
            classes = Path(folder) / "classes"
            classes.mkdir()
            _compile(_compiler(java), [*files, *extra], classes)
            declared = {path.stem for path in extra}
            wanted = (path for path in sorted(classes.rglob("*.class")) if path.stem not in declared)
            draft = Path(folder) / "draft.jar"
            _pack(draft, classes, wanted, entries)
            draft.replace(jar)
    return jar


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "localyun" / "java"


def _compiler(java: str) -> str:
    beside = Path(os.path.realpath(java)).with_name(Path(java).name.replace("java", "javac"))
    compiler = str(beside) if beside.is_file() else shutil.which("javac")
    if compiler is None:
        raise JavaMissing("there is no javac beside java or on the PATH; install a JDK (Debian: default-jdk-headless)")
    return compiler


def _compile(compiler: str, files: Iterable[Path], classes: Path) -> None:
    options = ["-encoding", "UTF-8", "-source", _RELEASE, "-target", _RELEASE, "-nowarn", "-Xlint:-options"]
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_TOOL_OPTIONS"}
    done = subprocess.run(  # noqa: S603 - the compiler that belongs to the user's java
        [compiler, *options, "-d", str(classes), *map(str, files)],
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
