"""Installations of the program, as `pip` leaves them, made from packages of the running Python without a network."""

import contextlib
import json
import os
import shutil
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
EXTRAS = ("sdk", "testing")
_LONGEST_FIRST_LINE = 127
_SAMPLES = ("functions", "sample-apps")


def provided_by(python: str) -> dict[str, str]:
    """Return the versions of what an interpreter brings, by name."""
    named = "[[each.name, each.version] for each in metadata.distributions()]"
    program = f"import json; from importlib import metadata; print(json.dumps({named}))"
    done = subprocess.run([python, "-I", "-c", program], check=True, capture_output=True)
    return {canonicalize_name(name): version for name, version in json.loads(done.stdout) if name}


def needed(provided: Mapping[str, str]) -> list[metadata.Distribution]:
    """Return what localyun with its SDKs and its plugin is made of, itself not included.

    As with `pip`, what is *provided* in a version that will do is left out.
    """
    found: dict[str, metadata.Distribution] = {}
    waiting = [(metadata.distribution("localyun"), frozenset(EXTRAS))]
    while waiting:
        distribution, extras = waiting.pop()
        for text in distribution.requires or ():
            requirement = Requirement(text)
            marker, name = requirement.marker, canonicalize_name(requirement.name)
            if marker is not None and not any(marker.evaluate({"extra": extra}) for extra in (*extras, "")):
                continue
            if name in provided and requirement.specifier.contains(provided[name], prereleases=True):
                continue
            if name not in found and name != "localyun":
                found[name] = metadata.distribution(requirement.name)
                waiting.append((found[name], frozenset(requirement.extras)))
    return list(found.values())


def fill(packages: Path, *, source: Path | None = None, provided: Mapping[str, str] = MappingProxyType({})) -> None:
    """Copy what is `needed` and the program into the empty folder *packages*, as its wheel lays it out.

    With *source* the program stays there, as in an editable installation.
    """
    for distribution in needed(provided):
        top = str(distribution.locate_file(""))
        for file in distribution.files or ():
            if ".." not in file.parts:
                _copy(os.path.join(top, file), os.path.join(packages, file))  # noqa: PTH118 - thousands of files
    if source is None:
        copy_program(packages)
        (packages / "emulator" / "alias" / "localyun").rename(packages / "localyun")
        for name in _SAMPLES:
            (packages / name).rename(packages / "emulator" / "_samples" / name)
        pictures = shutil.ignore_patterns("*.svg", "*.png", "*.json")
        shutil.copytree(ROOT / "docs", packages / "emulator" / "_docs", ignore=pictures)
    else:
        lines = (str(source), str(source / "emulator" / "alias"))
        (packages / "_localyun.pth").write_text("\n".join(lines), encoding="utf-8")
    about = metadata.distribution("localyun")
    for file in about.files or ():
        if file.parts[0].endswith(".dist-info") and file.name in ("METADATA", "entry_points.txt", "WHEEL"):
            _copy(str(about.locate_file(file)), str(packages / file))
    open_to_all(packages)


def open_to_all(folder: Path) -> None:
    """Let every user read *folder*, whatever umask the files had been made with that were copied into it."""
    for top, _, files in os.walk(folder):
        for path in (top, *(os.path.join(top, name) for name in files)):  # noqa: PTH118 - thousands of files
            mode = os.stat(path, follow_symlinks=False).st_mode  # noqa: PTH116
            if not stat.S_ISLNK(mode):
                os.chmod(path, mode | (0o555 if mode & 0o100 else 0o444))  # noqa: PTH101


def copy_program(folder: Path) -> None:
    """Copy the package and the samples into *folder*."""
    ignored = shutil.ignore_patterns("__pycache__", "node_modules")
    shutil.copytree(ROOT / "emulator", folder / "emulator", ignore=ignored)
    (folder / "emulator" / "_samples").mkdir()
    for name in _SAMPLES:
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    open_to_all(folder)


def _copy(source: str, target: str) -> None:
    """Copy a file as it is; what a list of files names and nobody has written, as bytecode may be, is left out."""
    try:
        shutil.copy2(source, target)
    except FileNotFoundError:  # its folder may be missing as well
        os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120
        with contextlib.suppress(FileNotFoundError):
            shutil.copy2(source, target)


def clone(seed: Path, packages: Path) -> None:
    """Copy packages that `fill` has brought together, by hard links where they are on the same disk."""
    linked = seed.stat().st_dev == packages.parent.stat().st_dev
    shutil.copytree(
        seed, packages, dirs_exist_ok=True, symlinks=True, copy_function=os.link if linked else shutil.copy2
    )


def make_environment(folder: Path, python: str) -> Path:
    """Make an empty virtual environment and return its folder of packages.

    Raises: subprocess.CalledProcessError.
    """
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True, capture_output=True)
    return next((folder / "lib").glob("python3.*/site-packages"))


def user_packages(home: Path) -> Path:
    """Return where `pip install --user` puts packages."""
    scheme = sysconfig.get_preferred_scheme("user")
    return Path(sysconfig.get_path("purelib", scheme, {"userbase": str(home / ".local")}))


def write_command(path: Path, python: Path) -> None:
    """Write the command localyun, with the first line that `pip` writes for the *python*."""
    first = f"#!{python}"
    if " " in first or len(first) > _LONGEST_FIRST_LINE:
        first = f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{first}\nimport sys\nfrom localyun import main\nsys.exit(main())\n", encoding="utf-8")
    path.chmod(0o755)


def readable_python() -> str | None:
    """Return an interpreter that packages of this one work in and that every user may run; None when there is none."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (getattr(sys, "_base_executable", sys.executable), f"/usr/bin/{name}", f"/usr/local/bin/{name}"):
        real = Path(os.path.realpath(candidate))
        if real.is_file() and all(parent.stat().st_mode & 0o001 for parent in real.parents):
            return str(candidate)
    return None
