"""Which parts of the functions folder have been edited since they were last read.

A part is a path: a folder directly below the functions folder, or a function. Where the kernel announces changes, every
folder that was looked into for a part is watched on the part's behalf, before it is listed: what changes later is
announced. Where it does not, a call names the function it is for.
"""

import errno
import os
from collections.abc import Iterator, Set
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from emulator.kernel.notifications import (
    ATTRIBUTES,
    CLOSED_AFTER_WRITE,
    CONTENT,
    ENTRIES,
    FORGOTTEN,
    ITSELF,
    Notifications,
)

_ANYTHING = CONTENT | ATTRIBUTES | CLOSED_AFTER_WRITE | ITSELF
_REMOTE = frozenset(
    {
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "vboxsf", "vmhgfs-fuse", "prl_fs", "grpcfuse",
        "osxfs", "sshfs", "ceph", "lustre", "gfs2", "drvfs",
    }
)  # fmt: skip
"""Kinds of file systems that other machines, such as the host of a virtual machine, write to without announcement."""

_NO_MORE = frozenset({errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM})


class Edits(Protocol):
    """Which parts of the functions folder have to be read anew."""

    def within(self, path: str) -> bool:
        """Whether anything at or below *path* may have changed."""

    def at(self, path: str) -> bool:
        """Whether the function at *path* may have changed."""

    def folders(self, root: Path) -> set[str] | None:
        """Return the folders directly below *root* that may have changed; None when there may also be others now."""

    def written(self, path: str) -> bool:
        """Whether the function at *path* has certainly been written to, even where its files look as they did."""


class Everything:
    """Edits that name every file. *written* is whether announcements were lost, so that any file may have changed."""

    def __init__(self, *, written: bool = False) -> None:
        self._written = written

    def within(self, path: str) -> bool:
        """Return True: every file is read."""
        return True

    def at(self, path: str) -> bool:
        """Return True: every file is read."""
        return True

    def folders(self, root: Path) -> None:
        """Return None: folders may have been added or removed."""

    def written(self, path: str) -> bool:
        """Whether announcements were lost."""
        return self._written


EVERYTHING = Everything()
LOST = Everything(written=True)


class OfFunction:
    """Edits that name the files of one function; *service* is empty for one of 3.0."""

    def __init__(self, root: Path, service: str, function: str) -> None:
        self._top = os.path.join(root, service or function)  # noqa: PTH118 - compared with what os.scandir returns
        self._function = function if service else ""

    def within(self, path: str) -> bool:
        """Whether *path* is the function's, or its service's, place below the functions folder."""
        return path == self._top

    def at(self, path: str) -> bool:
        """Whether *path* holds the function or one of its versions."""
        if path != self._top and not path.startswith(self._top + os.sep):
            return False
        return not self._function or path.endswith(os.sep + self._function)

    def folders(self, root: Path) -> None:
        """Return None: folders may have been added or removed, which nothing announces."""

    def written(self, path: str) -> bool:
        """Return False: writes are not announced, so that times and sizes of files decide."""
        return False


class Announced:
    """Edits that the kernel has announced, by part."""

    def __init__(self) -> None:
        self.parts: set[str] = set()
        self._written: set[str] = set()

    def add(self, part: str, mask: int) -> None:
        """Record an announcement."""
        self.parts.add(part)
        if mask & CONTENT:
            self._written.add(part)

    def within(self, path: str) -> bool:
        """Whether anything was announced for *path* or something below it."""
        return path in self.parts or any(part.startswith(path + os.sep) for part in self.parts)

    def at(self, path: str) -> bool:
        """Whether anything was announced for *path*."""
        return path in self.parts

    def folders(self, root: Path) -> set[str] | None:
        """Return the folders directly below *root* that something was announced for; None when *root* is among it."""
        begin = len(str(root)) + 1
        return None if "" in self.parts else {part[:begin] + part[begin:].partition(os.sep)[0] for part in self.parts}

    def written(self, path: str) -> bool:
        """Whether a write was announced for *path*."""
        return path in self._written


class Unwatchable(Exception):
    """The kernel does not announce what happens to these files; the text says why."""


class Unwatched:
    """Replaces `Watches` where the system reports no changes of files."""

    def begin(self, root: Path) -> None:
        """Do nothing."""

    def keep(self, part: str) -> None:
        """Do nothing."""

    def keep_all_but(self, edited: Set[str]) -> None:
        """Do nothing."""

    def part(self, part: str) -> bool:
        """Return True: the folder is assumed to be the same."""
        return True

    def renew(self, part: str) -> None:
        """Do nothing."""

    def folder(self, folder: str, part: str) -> None:
        """Do nothing."""

    def modules(self, folder: str, part: str) -> None:
        """Do nothing: a change of installed modules is only noticed by the folder's own modification time."""

    def end(self) -> None:
        """Do nothing."""


class Watches(Unwatched):
    """The watched folders of one functions folder; but for `arrived`, for one thread at a time.

    A look is `begin`, then `part` or `keep` for every part there is, then `end`.

    Raises: Unwatchable, from any method but the last four.
    """

    def __init__(self, root: Path) -> None:
        if (kind := _file_system(os.path.realpath(root))) in _REMOTE:
            raise Unwatchable(f"a file system of the kind {kind} can be written to from elsewhere")
        try:
            self._notifications = Notifications()
        except OSError as error:
            raise Unwatchable(str(error)) from error
        self.descriptor = self._notifications.descriptor
        self.arrived = self._notifications.arrived
        """Whether there is something to `take`; for any thread, and asked by every request."""
        self._parts: dict[int, set[str]] = {}
        self._folders: dict[str, set[int]] = {}
        self._places: dict[str, int] = {}
        self._names: dict[int, set[str]] = {}
        self._seen: set[str] = set()
        self._kept: set[str] = set()
        self._edited: Set[str] | None = None
        """The folders given to `keep_all_but`, in which alone parts may have gone; None when all are read."""
        self._tops: dict[str, set[str]] = {}
        """Parts by the folder directly below the functions folder that they are in."""
        self._left: set[int] = set()
        """Watches of folders that a part has left; `end` drops those that no part needs."""
        self._below = len(str(root.absolute())) + 1
        """Where in a part's path the name of the folder directly below the functions folder begins."""

    def begin(self, root: Path) -> None:
        """Watch the functions folder and the folders above it: it may be created, removed or replaced."""
        self._seen, self._kept, self._edited = {""}, set(), None
        self.renew("")
        self._names.clear()
        for folder, name in _way_to(root):
            watch = self._watch(folder, "", ENTRIES | ITSELF if name else ITSELF)
            if watch is not None:
                self._names.setdefault(watch, set()).add(name)
        watch = self._watch(str(root), "", ENTRIES | ITSELF)
        if watch is not None:
            self._names.pop(watch, None)

    def keep(self, part: str) -> None:
        """Go on watching a part that is not read anew, and the parts below it."""
        self._kept.add(part)

    def keep_all_but(self, edited: Set[str]) -> None:
        """Go on watching every part that is not among *edited* or below it."""
        self._edited = edited

    def part(self, part: str) -> bool:
        """Watch the folder of a part; False when it is another folder than last time, or new."""
        before = self._places.get(part)
        watch = self._watch(part, part, _ANYTHING)
        self._seen.add(part)
        if watch is not None:
            self._places[part] = watch
        return watch == before

    def renew(self, part: str) -> None:
        """Forget the folders watched for a part, before those it has now are watched."""
        for watch in self._folders.pop(part, ()):
            self._parts.get(watch, set()).discard(part)
            self._left.add(watch)

    def folder(self, folder: str, part: str) -> None:
        """Watch a folder on behalf of a part."""
        self._watch(folder, part, _ANYTHING)

    def modules(self, folder: str, part: str) -> None:
        """Watch a folder of installed modules and all below it, links aside."""
        pending = [folder]
        while pending:
            folder = pending.pop()
            self._watch(folder, part, _ANYTHING)
            with suppress(OSError), os.scandir(folder) as listing:
                pending += [entry.path for entry in listing if entry.is_dir(follow_symlinks=False)]

    def end(self) -> None:
        """Forget the parts that this look has not found, and stop watching folders that no part needs."""
        for top in list(self._tops) if self._edited is None else self._edited:
            if top in self._kept:
                continue
            for part in self._tops.get(top, set()) - self._seen:
                self.renew(part)
                self._places.pop(part, None)
                self._tops[top].discard(part)
            if not self._tops.get(top, True):
                del self._tops[top]
        for watch in self._left:
            if not self._parts.get(watch, True):
                del self._parts[watch]
                self._notifications.forget(watch)
        self._left.clear()

    def take(self) -> Edits | None:
        """Return the edits announced since the last call, None when they concern no part."""
        changes = self._notifications.take()
        if changes is None:
            return LOST
        edits = Announced()
        for watch, mask, name in changes:
            if mask & FORGOTTEN:
                self._parts.pop(watch, None)
            elif self._concerns(watch, name):
                for part in self._parts.get(watch, ()):
                    edits.add(part, mask)
        return edits if edits.parts else None

    def close(self) -> None:
        """Stop watching all folders."""
        self._notifications.close()

    def _concerns(self, watch: int, name: str) -> bool:
        if not name:
            return True
        names = self._names.get(watch)
        return name in names if names is not None else name[0] != "." and name != "__pycache__"

    def _watch(self, folder: str, part: str, mask: int) -> int | None:
        try:
            watch = self._notifications.watch(folder, mask)
        except OSError as error:
            if error.errno in _NO_MORE:
                raise Unwatchable(f"{error.strerror}; sysctl fs.inotify.max_user_watches may be too small") from error
            return None  # gone since it was listed, or closed to us: then it cannot be read either
        self._parts.setdefault(watch, set()).add(part)
        self._folders.setdefault(part, set()).add(watch)
        top = part if (end := part.find(os.sep, self._below)) < 0 else part[:end]
        self._tops.setdefault(top, set()).add(part)
        return watch


def _way_to(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the folders above *root*, each with the entry in it to watch, empty where only the folder is watched.

    An entry is watched when it is a link, is *root* itself, or does not exist yet.
    """
    for path in dict.fromkeys((root, Path(os.path.realpath(root)))):
        for folder, child in zip(reversed(path.parents), [*reversed(path.parents), path][1:], strict=True):
            absent = not os.path.lexists(child)
            yield str(folder), child.name if absent or child == path or child.is_symlink() else ""
            if absent:
                break


def _file_system(path: str) -> str:
    """Return the kind of the file system that *path* is or will be on, empty when the system does not say."""
    best, kind = "", ""
    with suppress(OSError), open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as mounts:  # noqa: PTH123 - no Path needed
        for line in mounts:
            _, place, each, *_ = line.split()
            place = place.replace("\\040", " ").rstrip("/")
            if len(place) >= len(best) and f"{path}/".startswith(f"{place}/"):
                best, kind = place, each
    return kind.removeprefix("fuse.")
