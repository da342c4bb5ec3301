"""Archives: a checkpoint as one file, a tar, for another machine or a later version.

Archives are sent in pieces, because the body of a request is bounded. An imported archive is checked before it is used:
it has to be a plain tar such as this program writes, without sparse files, links or other names, and with all the bytes
of each file; then `examination` checks the checkpoint. The account of the other installation is replaced by this one's
wherever tables name it, but not inside messages of users.
"""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, NamedTuple

from emulator.kernel.frozen import replace
from emulator.lab.checkpoints.description import LONGEST, About
from emulator.lab.checkpoints.examination import CONTENT, Examination, refusing
from emulator.lab.checkpoints.soundness import unsound
from emulator.lab.checkpoints.store import ABOUT, FILES, TABLES, read_description
from emulator.lab.errors import invalid

PIECE_BYTES = 16 * 1024 * 1024
SPARE_BYTES = 64 * 1024 * 1024
"""Bytes that an import leaves free on the disk, for the state to grow."""

_BLOCK = 512
_ZEROS = bytes(_BLOCK)
_EXTENSION_BYTES = 4096
_REFUSED_KEYS = re.compile(rb"(path|linkpath|size|GNU\.sparse\.[a-z]+|SCHILY\.[a-z.]+)=")
_USERS_OWN = {("mns_messages", "body"), ("mns_publications", "body"), ("mns_outbox", "body")}


class NoRoom(OSError):
    """The disk has no room for an archive and its unpacked content."""


def read_piece(folder: Path, path: Path, offset: int) -> bytes:
    """Return a piece of the archive *path* of the checkpoint in *folder*; at the end, remove it and return nothing."""
    if offset == 0:
        _pack(folder, path)
    try:
        with path.open("rb") as file:
            file.seek(offset)
            piece = file.read(PIECE_BYTES)
    except FileNotFoundError:
        raise invalid("an archive is read from its beginning on") from None
    if not piece:
        path.unlink()
    return piece


def _pack(folder: Path, path: Path) -> None:
    import tarfile  # slow to import and seldom needed

    path.unlink(missing_ok=True)
    try:
        with tarfile.open(path, "w") as tar:
            for each in sorted(folder.rglob("*")):
                name = each.relative_to(folder).as_posix()
                if each.is_file() and _is_member(name):
                    tar.add(each, name, recursive=False)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def add_piece(upload: Path, offset: int, piece: bytes) -> None:
    """Append a piece to an archive that is being uploaded.

    Raises: LabError (InvalidParameter) when *offset* is not where it ends; NoRoom, OSError, after which the archive is
    removed.
    """
    size = upload.stat().st_size if upload.exists() and offset else 0
    if offset != size:
        raise invalid(f"the next piece begins at {size}, not at {offset}")
    try:
        _check_room(upload.parent, len(piece))
        with upload.open("ab" if offset else "wb") as file:
            file.write(piece)
    except OSError:
        upload.unlink(missing_ok=True)
        raise


def _check_room(folder: Path, needed: int) -> None:
    """Raises: NoRoom."""
    if not hasattr(os, "statvfs"):
        return
    disk = os.statvfs(folder)
    if disk.f_bavail * disk.f_frsize < needed + SPARE_BYTES:
        raise NoRoom(f"the disk has no room for {needed} bytes more")


def extract(upload: Path, draft: Path, name: str, account: str, examination: Examination) -> About:
    """Unpack an archive into *draft* as checkpoint *name* of *account*; `Examination.make_sound` has to follow.

    Raises: LabError (InvalidCheckpoint), NoRoom, OSError.
    """
    _check_room(draft, 3 * upload.stat().st_size)  # the files, a second copy of the tables, and what a migration adds
    with upload.open("rb") as archive:
        _unpack(archive, upload.stat().st_size, draft)
    if not (draft / ABOUT).is_file():
        raise unsound("the archive has no description")
    about = read_description(draft, name)
    tables = draft / TABLES
    examination.check_foreign(tables, about.version)
    with refusing(), closing(sqlite3.connect(tables, isolation_level=None)) as opened:
        if about.account != account:
            _rename_account(opened, about.account, account)
    return replace(about, account=account)


def _unpack(archive: BinaryIO, size: int, draft: Path) -> None:
    try:
        for member in _members(archive, size):
            if not _is_member(member.name):
                raise unsound("the archive has members that no checkpoint has")
            if member.name == ABOUT and member.size > LONGEST:
                raise unsound("its description is too long")
            _write(archive, member, draft / member.name)
    except FileExistsError:
        raise unsound("the archive has a file twice") from None


def _is_member(name: str) -> bool:
    return name in {ABOUT, TABLES} or (
        name.startswith(f"{FILES}/") and CONTENT.fullmatch(name[len(FILES) + 1 :]) is not None
    )


class Member(NamedTuple):
    """A file in an archive, at whose content the archive stands."""

    name: str
    size: int


def _members(archive: BinaryIO, size: int) -> Iterator[Member]:
    """Yield the files of a tar of *size* bytes; unread content is skipped.

    Raises: LabError (InvalidCheckpoint).
    """
    at = 0
    while True:
        archive.seek(at)
        block = archive.read(_BLOCK)
        if block == _ZEROS:
            return
        if len(block) < _BLOCK or not _has_checksum(block):
            raise unsound("this is not the archive of a checkpoint")
        length = _octal(block[124:136])
        at += _BLOCK
        if length > size - at:
            raise unsound("the archive is shorter than it says")
        kind = block[156:157]
        if kind == b"x" and length <= _EXTENSION_BYTES:
            if _REFUSED_KEYS.search(archive.read(length)):
                raise unsound("the archive has members that no checkpoint has")
        elif kind in b"0\0":
            yield Member(block[:100].partition(b"\0")[0].decode("ascii", "replace"), length)
        else:
            raise unsound("the archive has members that no checkpoint has")
        at += -(-length // _BLOCK) * _BLOCK


def _has_checksum(block: bytes) -> bool:
    return sum(block[:148]) + sum(block[156:]) + 8 * ord(" ") == _octal(block[148:156])


def _octal(field: bytes) -> int:
    """Return the number in a field of a tar's header.

    Raises: LabError (InvalidCheckpoint).
    """
    text = field.strip(b" \0")
    if not re.fullmatch(rb"[0-7]{1,12}", text):
        raise unsound("this is not the archive of a checkpoint")
    return int(text, 8)


def _write(archive: BinaryIO, member: Member, target: Path) -> None:
    """Write the content of *member*; a package has the digest that is its name."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    digest, left = sha256(), member.size
    with target.open("xb") as file:
        while left:
            piece = archive.read(min(left, 1024 * 1024))
            if not piece:
                raise unsound("the archive is shorter than it says")
            left -= len(piece)
            digest.update(piece)
            file.write(piece)
    if target.suffix == ".zip" and digest.hexdigest() != target.stem:
        raise unsound("a package is not what its name says")


def _rename_account(tables: sqlite3.Connection, old: str, new: str) -> None:
    whole = re.compile(rf"(?<![0-9A-Za-z]){re.escape(old)}(?![0-9A-Za-z])")
    tables.create_function("renamed", 1, lambda text: whole.sub(new, text), deterministic=True)
    tables.execute("BEGIN")
    names = [row[0] for row in tables.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in names:
        columns = [row[1] for row in tables.execute(f'PRAGMA table_info("{table}")') if row[2].upper() == "TEXT"]
        for column in columns:
            if (table, column) not in _USERS_OWN:
                tables.execute(
                    f'UPDATE "{table}" SET "{column}" = renamed("{column}") WHERE instr("{column}", ?)',  # noqa: S608
                    (old,),
                )
    tables.execute("COMMIT")
