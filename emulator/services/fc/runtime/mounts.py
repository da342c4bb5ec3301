"""Which of the machine's folders are mounted for an instance that has namespaces, and so folders of its own.

Such an instance does not see the machine's folders for temporary files. Files that it needs may lie there: its
code, layers, the emulator, an interpreter with its libraries, the project. Each of these is mounted again as a whole
under its own name, read-only but for code of the user's; ``sandbox.mount_folders`` adds what the interpreter knows of
itself.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from emulator.kernel import system
from emulator.services.fc.runtime.bootstrap.python.frames import Header
from emulator.services.fc.runtime.model import FunctionImage
from emulator.services.fc.runtime.process import Listener
from emulator.services.fc.runtime.settings import RuntimeSettings

_SCRATCH = ("/tmp", "/var/tmp")  # noqa: S108 - instances have their own
"""Folders of the machine instead of which an instance sees its own one."""

CODE = "/code"
"""Where an instance sees its code, unless it needs what the machine has there: containers keep projects in it."""

COVERED = tuple(name for place in (*_SCRATCH, "/dev/shm") for name in dict.fromkeys((place, os.path.realpath(place))))  # noqa: S108
"""Folders of the machine that an instance with namespaces does not see, under each name."""

_EMULATOR = str(Path(__file__).parents[3])
_PROGRAMS = frozenset({"bin", "sbin", ".bin", "shims"})
"""Names of folders of programs whose libraries lie beside the folder."""

_PLACES = "|".join(map(re.escape, COVERED))
_BEGIN = re.compile(rf"(?:^|(?<=[\s:;,\"'=]))(?:{_PLACES})/")
_END = re.compile(r"[\s:;,\"'=*]|$")


def mounts_of(instance: Listener, settings: RuntimeSettings, frame: Header) -> Header:
    """Return the fields of an instance's first *frame* for ``sandbox.mount_folders``.

    ``/code`` is read-only, as in the cloud, and so is every package that was uploaded: other instances run the same
    files. The user's own folder, whose code is used in place, stays the user's under its own name. Where the instance
    needs something of the machine's own ``/code``, it sees that one.
    """
    assert settings.scratch is not None
    image, scratch = instance.image, str(settings.scratch / instance.instance_id)
    code = os.path.realpath(image.code_dir)
    mounts: list[tuple[str, str, bool]] = [(scratch, place, True) for place in _SCRATCH if os.path.isdir(place)]  # noqa: PTH112
    if os.path.isdir(code):  # noqa: PTH112 - otherwise the agent reports it
        names = dict.fromkeys((str(image.code_dir), code)) if settings.confined else covered_names(str(image.code_dir))
        own = not settings.confined and not _is_below(code, settings.packages)
        mounts += ((code, place, place != CODE and own) for place in (CODE, *names))
    needed = tuple(dict.fromkeys(_needed(image, settings, frame)))
    if os.path.isdir(CODE) and any(map(_is_in_the_machines, (str(image.code_dir), *needed))):  # noqa: PTH112 - as above
        mounts = [mount for mount in mounts if mount[1] != CODE]
    for name in needed:
        mounts += ((os.path.realpath(name), place, False) for place in covered_names(name) if os.path.exists(name))  # noqa: PTH110 - this user may not look everywhere
    if settings.packages is not None and settings.packages.is_dir() and not covered_names(str(settings.packages)):
        mounts.append((os.path.realpath(settings.packages), str(settings.packages), False))
    hidden = [str(settings.scratch), *map(str, settings.confined[1:])]
    return {
        "mounts": mounts,
        "covered": COVERED,
        "opt": [os.path.realpath(layer) for layer in image.layers],
        "hidden": hidden,
    }


def covered_names(name: str) -> list[str]:
    """Return those of the names of a file, with links and without, that lie below a covered folder."""
    names = dict.fromkeys((name, os.path.realpath(name)))
    return [each for each in names if each.startswith(tuple(f"{place}/" for place in COVERED))]


def _is_in_the_machines(name: str) -> bool:
    return Path(os.path.realpath(name)).is_relative_to(os.path.realpath(CODE))


def _is_below(name: str, folder: Path | None) -> bool:
    return folder is not None and Path(name).is_relative_to(os.path.realpath(folder))


def _needed(image: FunctionImage, settings: RuntimeSettings, frame: Header) -> Iterator[str]:
    """Return the folders and files that the instance needs, wherever they are."""
    yield _EMULATOR
    yield str(system.cache())
    yield from map(str, image.layers)
    yield from _project(image.code_dir, settings)
    command = frame.get("command", ())
    for word in command[:1]:
        yield from _installations((word, os.path.realpath(word)))
    yield from command[1:]
    for name, value in frame["environment"].items():
        if image.environment.get(name) != value:  # a function that names a file gets no file by that
            named = list(_named_in(value))
            yield from _installations(named) if name == "PATH" else named


def _project(code: Path, settings: RuntimeSettings) -> Iterator[str]:
    """Return the folder that code which is used in place shares with other functions, by links or relative names."""
    if settings.project is not None and code.is_relative_to(settings.project):
        yield str(settings.project)
        yield from (str(parent) for parent in code.parents if parent.is_relative_to(settings.project))


def _installations(names: Iterable[str]) -> Iterator[str]:
    """Return the folder in which each program or folder of programs is installed."""
    for name in names:
        folder = Path(name) if os.path.isdir(name) else Path(name).parent  # noqa: PTH112 - as above
        if folder.name in _PROGRAMS and str(folder.parent) not in COVERED:
            yield str(folder.parent)
        yield name if str(folder) in COVERED or not folder.is_absolute() else str(folder)


def _named_in(text: str) -> Iterator[str]:
    """Return the covered files that a variable's value names, with whatever letters: the longest name that exists."""
    for begin in _BEGIN.finditer(text):
        ends = [end.start() for end in _END.finditer(text, begin.end())]
        names = (text[begin.start() : end] for end in reversed(ends))
        name = next(filter(os.path.exists, names), None)
        if name is not None:
            yield name
