"""Archives: a checkpoint as one file, a tar, for another machine or a later version.

They travel in pieces, because a request has a bounded body. What comes in is looked at before it is used: known names
of ordinary files only, and tables that SQLite finds whole. The account of the other installation becomes this one's,
wherever the tables name it; what users have written into messages stays as it is.
"""

import re
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

from emulator.kernel.frozen import replace
from emulator.lab.checkpoints.store import About, read_about
from emulator.lab.errors import LabError, invalid

PIECE_BYTES = 16 * 1024 * 1024

_ARCHIVE = "archive.tar"
_MEMBERS = re.compile(
    r"checkpoint\.json|state\.db|files/code/[0-9a-f]{64}\.zip|files/objects/[0-9a-f]{2}/[0-9a-f]{1,64}", re.ASCII
)
_USERS_OWN = {("mns_messages", "body"), ("mns_publications", "body"), ("mns_outbox", "body")}


def read_piece(folder: Path, offset: int) -> bytes:
    """Return a piece of the archive of the checkpoint in *folder*; empty at the end, and the archive is gone then."""
    path = folder / _ARCHIVE
    if offset == 0:
        path.unlink(missing_ok=True)
        with tarfile.open(path, "w") as tar:
            for each in sorted(folder.rglob("*")):
                name = each.relative_to(folder).as_posix()
                if each.is_file() and _MEMBERS.fullmatch(name):
                    tar.add(each, name, recursive=False)
    try:
        with path.open("rb") as file:
            file.seek(offset)
            piece = file.read(PIECE_BYTES)
    except FileNotFoundError:
        raise invalid("an archive is read from its beginning on") from None
    if not piece:
        path.unlink()
    return piece


def add_piece(upload: Path, offset: int, piece: bytes) -> None:
    """Append to the archive that is coming in.

    Raises: LabError (InvalidParameter) when *offset* is not where it ends.
    """
    if offset == 0:
        upload.write_bytes(piece)
        return
    size = upload.stat().st_size if upload.exists() else 0
    if offset != size:
        raise invalid(f"the next piece begins at {size}, not at {offset}")
    with upload.open("ab") as file:
        file.write(piece)


def extract(upload: Path, draft: Path, name: str, account: str) -> About:
    """Unpack an archive into *draft* as a checkpoint *name* of *account*.

    Raises: LabError (InvalidCheckpoint).
    """
    try:
        with tarfile.open(upload, "r:") as tar:
            for member in tar:
                source = tar.extractfile(member) if member.isreg() else None
                if source is None or not _MEMBERS.fullmatch(member.name):
                    raise LabError("InvalidCheckpoint", reason="the archive has members that no checkpoint has")
                target = draft / member.name
                target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                with target.open("xb") as file:
                    while piece := source.read(1024 * 1024):
                        file.write(piece)
        about = read_about((draft / "checkpoint.json").read_text(encoding="utf-8"), name)
        with closing(sqlite3.connect(draft / "state.db", isolation_level=None)) as tables:
            if tables.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise LabError("InvalidCheckpoint", reason="its tables are damaged")
            schema = dict(tables.execute("SELECT service, version FROM schema_versions").fetchall())
            if about.account != account:
                _rename_account(tables, about.account, account)
    except (tarfile.TarError, FileNotFoundError, FileExistsError, UnicodeDecodeError, sqlite3.Error) as error:
        raise LabError("InvalidCheckpoint", reason=f"this is not the archive of a checkpoint ({error})") from error
    about = replace(about, account=account, schema=schema)
    (draft / "checkpoint.json").write_text(about.text(), encoding="ascii")
    return about


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
