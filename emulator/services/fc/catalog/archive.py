"""Unpacking a code package without trusting it, and packing a folder into one.

Refused: absolute names, ``..``, drive letters, device nodes, encrypted entries, links that lead out of the package,
files placed below a link, too many entries, too many bytes, folders nested too deep. Links inside the
package, empty directories and mode bits are kept, as the official packers write them.
"""

import errno
import os
import shutil
import stat
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from zipfile import BadZipFile, LargeZipFile, ZipFile, ZipInfo, is_zipfile

from emulator.services.fc import limits
from emulator.services.fc.errors import InvalidArgument

_ENCRYPTED = 0x1
_CALLERS_FAULT = frozenset({errno.ENAMETOOLONG, errno.EILSEQ, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.EPERM})
"""Names no file system takes and entries at odds with each other; a full disk is not the caller's doing."""
_COPY_BYTES = 256 * 1024
_DEEPEST = 200
"""How deep entries may nest. Assumed: the longest path of Linux has room for 2,048; npm's trees stay below 100."""


class UnsafeArchive(InvalidArgument):
    """A package that is not unpacked; the message names the entry."""

    def __init__(self, *, reason: str) -> None:
        super().__init__(f"invalid code package: {reason}", reason=reason)


class _Plan(NamedTuple):
    """The entries in the order they are created: links come last, so that no file is written through a link."""

    folders: list[tuple[PurePosixPath, int]]
    files: list[tuple[PurePosixPath, ZipInfo, int]]
    links: list[tuple[PurePosixPath, ZipInfo]]


def is_zip(package: bytes) -> bool:
    """Whether *package* has the directory of a zip file."""
    return is_zipfile(BytesIO(package))


def unpack(package: bytes, folder: Path) -> None:
    """Unpack *package* into *folder*, which must not exist; on a refusal nothing is left of it.

    Raises: UnsafeArchive.
    """
    try:
        with ZipFile(BytesIO(package)) as archive:
            plan = _plan(archive.infolist())
            folder.mkdir(parents=True)
            try:
                _carry_out(archive, plan, folder)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
    except (BadZipFile, LargeZipFile, NotImplementedError, EOFError, ValueError) as error:
        raise UnsafeArchive(reason=f"not a readable zip file ({error})") from error
    except OSError as error:
        if error.errno not in _CALLERS_FAULT:
            raise
        raise UnsafeArchive(reason=f"cannot be unpacked ({error.strerror})") from error


def _plan(entries: list[ZipInfo]) -> _Plan:
    if len(entries) > limits.CODE_ENTRIES:
        raise UnsafeArchive(reason=f"more than {limits.CODE_ENTRIES} entries")
    if sum(entry.file_size for entry in entries) > limits.CODE_UNPACKED_BYTES:
        raise UnsafeArchive(reason=f"unpacks to more than {limits.CODE_UNPACKED_BYTES} bytes")
    plan = _Plan([], [], [])
    kinds: dict[PurePosixPath, str] = {}
    for entry in entries:
        path = _safe_path(entry)
        mode = entry.external_attr >> 16
        kind = stat.S_IFMT(mode)
        if entry.flag_bits & _ENCRYPTED:
            raise UnsafeArchive(reason=f"entry '{_shown(entry)}' is encrypted")
        if entry.is_dir() or kind == stat.S_IFDIR:
            kinds[path] = "folder"
            plan.folders.append((path, stat.S_IMODE(mode) & 0o777 or 0o755))
        elif kind == stat.S_IFLNK:
            kinds[path] = "link"
            plan.links.append((path, entry))
        elif kind in {0, stat.S_IFREG}:
            kinds[path] = "file"
            plan.files.append((path, entry, stat.S_IMODE(mode) & 0o777 or 0o644))
        else:
            raise UnsafeArchive(reason=f"entry '{_shown(entry)}' is neither a file nor a directory nor a link")
    for path in kinds:
        for parent in path.parents:
            if kinds.get(parent, "folder") != "folder":
                raise UnsafeArchive(reason=f"entry '{path}' is below another entry that is not a directory")
    return plan


def _safe_path(entry: ZipInfo) -> PurePosixPath:
    name = entry.filename
    parts = name.rstrip("/").split("/")
    bad = (
        not parts[0]
        or "\\" in name
        or "\0" in entry.orig_filename
        or (len(parts[0]) > 1 and parts[0][1] == ":")
        or any(part in {"", ".."} for part in parts)
    )
    if bad:
        raise UnsafeArchive(reason=f"entry name '{_shown(entry)}' is not a plain relative path")
    if len(parts) > _DEEPEST:
        raise UnsafeArchive(reason=f"entry name '{_shown(entry)}' is more than {_DEEPEST} folders deep")
    return PurePosixPath(*parts)


def _shown(entry: ZipInfo) -> str:
    return entry.orig_filename[:200].encode("ascii", "backslashreplace").decode("ascii")


def _carry_out(archive: ZipFile, plan: _Plan, folder: Path) -> None:
    room = limits.CODE_UNPACKED_BYTES
    for path, _ in plan.folders:
        (folder / path).mkdir(parents=True, exist_ok=True)
    for path, entry, mode in plan.files:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as source, target.open("wb") as sink:
            while piece := source.read(_COPY_BYTES):
                room -= len(piece)
                if room < 0:  # the sizes in the directory were not the truth
                    raise UnsafeArchive(reason=f"unpacks to more than {limits.CODE_UNPACKED_BYTES} bytes")
                sink.write(piece)
        target.chmod(mode | 0o600)
    for path, entry in plan.links:
        _link(archive, entry, folder / path)
    for path, _ in plan.links:
        _check_inside(folder / path, folder)
    for path, mode in plan.folders:
        (folder / path).chmod(mode | 0o700)


def _link(archive: ZipFile, entry: ZipInfo, place: Path) -> None:
    text = archive.read(entry).decode("utf-8", "surrogateescape") if entry.file_size <= 4096 else ""
    if not text or "\0" in text or text.startswith("/") or "\\" in text:
        raise UnsafeArchive(reason=f"link '{_shown(entry)}' has no usable relative target")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(text)


def _check_inside(link: Path, folder: Path) -> None:
    """Follow *link* as the system would, through other links too; a name-by-name check could be fooled by those."""
    root = folder.resolve()
    end = Path(os.path.realpath(link))
    if end != root and root not in end.parents:
        raise UnsafeArchive(reason=f"link '{link.relative_to(folder)}' leads out of the package")


def holds_the_same(package: bytes, folder: Path) -> bool:
    """Whether every file of *package* is in *folder*, with the same content; False when it is not a zip file."""
    try:
        with ZipFile(BytesIO(package)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            return all(_is_same(archive, entry, folder) for entry in entries)
    except (BadZipFile, LargeZipFile, NotImplementedError, RuntimeError, OSError, ValueError):
        return False


def _is_same(archive: ZipFile, entry: ZipInfo, folder: Path) -> bool:
    place = folder / _safe_path(entry)
    return place.is_file() and place.stat().st_size == entry.file_size and place.read_bytes() == archive.read(entry)


def pack(folder: Path, leave_out: frozenset[str] = frozenset()) -> bytes:
    """Pack *folder* into a zip whose bytes depend on the content only.

    *leave_out* names entries directly in the folder. Byte-code caches and hidden version-control folders are left out.

    Raises: OSError.
    """
    sink = BytesIO()
    with ZipFile(sink, "w") as archive:
        _pack_into(archive, folder, "", leave_out)
    return sink.getvalue()


_NEVER_PACKED = frozenset({"__pycache__", ".git", ".hg", ".svn"})


def _pack_into(archive: ZipFile, folder: Path, prefix: str, leave_out: frozenset[str]) -> None:
    with os.scandir(folder) as listing:
        entries = sorted((entry for entry in listing), key=lambda entry: entry.name)
    entries = [entry for entry in entries if entry.name not in leave_out and entry.name not in _NEVER_PACKED]
    if not entries and prefix:
        archive.writestr(ZipInfo(prefix), b"")
    for entry in entries:
        info = ZipInfo(prefix + entry.name)
        info.create_system = 3
        if entry.is_symlink():
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, os.fsencode(Path(entry.path).readlink()))
        elif entry.is_dir():
            _pack_into(archive, Path(entry.path), prefix + entry.name + "/", frozenset())
        elif entry.is_file():
            info.external_attr = (stat.S_IFREG | stat.S_IMODE(entry.stat().st_mode)) << 16
            info.compress_type = 8  # deflate
            archive.writestr(info, Path(entry.path).read_bytes())
