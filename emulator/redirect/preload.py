"""A library that leads programs with a C library to the emulator, built by the machine's compiler at first use."""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "LD_PRELOAD"

_SOURCE = Path(__file__).parent / "c" / "localyun_redirect.c"
_BUILD_S = 60


class CannotBuild(Exception):
    """There will be no such library; the text says why."""


def with_preload(environ: Mapping[str, str]) -> dict[str, str]:
    """Return *environ* with the library in front of what ``LD_PRELOAD`` holds.

    Raises: CannotBuild.
    """
    library = str(_built())
    return {**environ, VARIABLE: " ".join(filter(None, (library, environ.get(VARIABLE))))}


def _built() -> Path:
    if sys.platform != "linux":
        raise CannotBuild(f"{VARIABLE} needs Linux, and this is {sys.platform}")
    digest = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "localyun"
    library = cache / f"redirect-{platform.machine()}-{digest}.so"
    if not library.is_file():
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            raise CannotBuild("there is no C compiler on the PATH; install one (Debian: gcc libc6-dev)")
        try:
            cache.mkdir(parents=True, exist_ok=True)
            _compile(compiler, library)
        except OSError as error:
            raise CannotBuild(str(error)) from error
    return library


def _compile(compiler: str, library: Path) -> None:
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        draft = Path(folder) / library.name
        words = [compiler, "-shared", "-fPIC", "-O2", "-o", str(draft), str(_SOURCE), "-ldl"]
        done = subprocess.run(  # noqa: S603 - the user's own compiler
            words, capture_output=True, text=True, errors="replace", timeout=_BUILD_S, check=False
        )
        if done.returncode != 0:
            raise CannotBuild(f"{compiler}: {done.stderr.strip()}")
        draft.replace(library)
