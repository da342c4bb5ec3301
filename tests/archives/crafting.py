"""Archives that nobody's export has written: a good one, changed in one place or a few."""

import io
import json
import random
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

WORDS = [None, "", "x", "\u0000", "a'b", "../../etc/passwd", "[]", "{}", "null", "9" * 40, "1e999", "{" * 3000]
NUMBERS = [-1, 0, 1, 2**31, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), 1e300, float("inf")]
VALUES = [*WORDS, *NUMBERS, b"", b"\xff\x00\xfe"]
DESCRIBED = [
    *WORDS,
    -1,
    2**70,
    True,
    [],
    {},
    {"mns": 99},
    {"mns": "x"},
    {"nobody": 1},
    [[[[]]]],
    "10000000000000000000",
]

Files = dict[str, bytes]


def unpack(archive: bytes) -> Files:
    """Return the members of an archive."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {each.name: tar.extractfile(each).read() for each in tar.getmembers()}  # type: ignore[union-attr]


def pack(files: Files) -> bytes:
    """Return an archive of *files*."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return target.getvalue()


def crafted(good: Files, rng: random.Random, folder: Path) -> tuple[str, bytes]:
    """Return what was done and the archive that came of it."""
    kind = rng.choice(
        [_tables, _tables, _tables, _rows, _rows, _rows, _pages, _description, _description, _members, _tar]
    )
    return kind(dict(good), rng, folder)


def _tar(files: Files, rng: random.Random, folder: Path) -> tuple[str, bytes]:
    archive = bytearray(pack(files))
    match rng.randrange(4):
        case 0:
            at = rng.randrange(len(archive))
            archive[at] ^= 1 << rng.randrange(8)
            return f"byte {at} of the archive", bytes(archive)
        case 1:
            size = rng.randrange(len(archive))
            return f"cut at {size}", bytes(archive[:size])
        case 2:
            field = rng.choice([b"77777777777\0", b"\x80" + b"\xff" * 11, b"\xff" * 12, b"-0000000001\0", b"\0" * 12])
            archive[124:136] = field
            total = sum(archive[:148]) + sum(archive[156:512]) + 256
            archive[148:156] = b"%06o\0 " % total
            return f"size {field!r}", bytes(archive)
        case _:
            return "no archive", rng.randbytes(rng.randrange(3000))


def _members(files: Files, rng: random.Random, folder: Path) -> tuple[str, bytes]:
    name = rng.choice(sorted(files))
    match rng.randrange(6):
        case 0:
            del files[name]
            return f"without {name}", pack(files)
        case 1:
            other = rng.choice(
                ["../out", "/etc/out", "files/code/x.zip", "state.db-wal", "files/objects/ab/../../x", "."]
            )
            files[other] = files.pop(name)
            return f"{name} as {other}", pack(files)
        case 2:
            return f"{name} twice", pack(files)[:-1024] + pack({name: files[name]})
        case 3:
            files[name] = files[name][: rng.randrange(len(files[name]) + 1)]
            return f"{name} cut", pack(files)
        case 4:
            target = io.BytesIO()
            with tarfile.open(fileobj=target, mode="w", format=tarfile.GNU_FORMAT) as tar:
                member = tarfile.TarInfo(name)
                member.type = rng.choice([b"S", b"1", b"2", b"5", b"6", b"L", b"K", b"g", b"V", b"7"])
                member.linkname = "/etc/passwd"
                tar.addfile(member)
                target.write(pack(files))
            return f"{name} as {member.type!r}", target.getvalue()
        case _:
            target = io.BytesIO()
            headers = {
                rng.choice(["GNU.sparse.major", "GNU.sparse.size", "size", "path"]): rng.choice(
                    ["1", "1e999", "9" * 30]
                )
            }
            with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT, pax_headers={}) as tar:
                member = tarfile.TarInfo(name)
                member.pax_headers = headers
                member.size = len(files[name])
                tar.addfile(member, io.BytesIO(files[name]))
            return f"{name} with {headers}", target.getvalue()


def _description(files: Files, rng: random.Random, folder: Path) -> tuple[str, bytes]:
    about = json.loads(files["checkpoint.json"])
    key = rng.choice([*about, "other"])
    value = rng.choice(DESCRIBED)
    about[key] = value
    text = json.dumps(about)
    if rng.random() < 0.3:
        number = rng.choice(["1e999", "-1e999", "NaN", "1.5", "9" * 400])
        text = json.dumps(about | {key: 0}).replace(f'"{key}": 0', f'"{key}": {number}')
        value = number
    files["checkpoint.json"] = text.encode("utf-8", "replace")
    return f"{key} is {str(value)[:40]!r}", pack(files)


def _pages(files: Files, rng: random.Random, folder: Path) -> tuple[str, bytes]:
    tables = bytearray(files["state.db"])
    for _ in range(rng.choice([1, 1, 5, 200])):
        at = rng.randrange(100 if rng.random() < 0.3 else len(tables))
        tables[at] = rng.randrange(256)
    files["state.db"] = bytes(tables)
    return "bytes of the tables", pack(files)


def _tables(files: Files, rng: random.Random, folder: Path) -> tuple[str, bytes]:
    def change(tables: sqlite3.Connection) -> str:
        kind, name, owner = rng.choice(
            tables.execute(
                "SELECT type, name, tbl_name FROM sqlite_master WHERE sql NOT NULL AND name NOT LIKE 'sqlite%'"
            ).fetchall()
        )
        column = rng.choice(tables.execute(f'PRAGMA table_info("{owner}")').fetchall())[1]
        return rng.choice(
            [
                f'DROP {kind} "{name}"',
                f'DROP {kind} "{name}"',
                f'CREATE TRIGGER t AFTER INSERT ON "{owner}" BEGIN DELETE FROM "{owner}"; END',
                f'CREATE TRIGGER t AFTER DELETE ON "{owner}" BEGIN SELECT RAISE(ABORT, "no"); END',
                f'CREATE VIEW v AS SELECT * FROM "{owner}"',
                f'CREATE UNIQUE INDEX i ON "{owner}" ("{column}")',
                f'ALTER TABLE "{owner}" ADD COLUMN extra',
                f'ALTER TABLE "{owner}" RENAME COLUMN "{column}" TO other',
                f'ALTER TABLE "{owner}" RENAME TO other',
                f'ALTER TABLE "{owner}" DROP COLUMN "{column}"',
                "CREATE TABLE stranger (x)",
                f'CREATE TABLE c AS SELECT * FROM "{owner}"; DROP TABLE "{owner}"; ALTER TABLE c RENAME TO "{owner}"',
                "DROP TABLE schema_versions; CREATE VIEW schema_versions AS WITH RECURSIVE n(x) AS "
                "(SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS service, x AS version FROM n",
                "UPDATE schema_versions SET version = version + 1",
                "UPDATE schema_versions SET version = version - 1",
                "DELETE FROM schema_versions",
                "INSERT INTO schema_versions VALUES ('stranger', 1)",
                "PRAGMA page_size=1024; VACUUM",
                "PRAGMA user_version=77",
                "ANALYZE",
                "PRAGMA writable_schema=ON; UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '')",
                f"PRAGMA writable_schema=ON; UPDATE sqlite_master SET rootpage = rootpage + 1 WHERE name = '{name}'",
                f"PRAGMA writable_schema=ON; UPDATE sqlite_master SET sql = 'x' WHERE name = '{name}'",
            ]
        )

    return in_tables(files, folder, change)


def _rows(files: Files, rng: random.Random, folder: Path) -> tuple[str, bytes]:
    def change(tables: sqlite3.Connection) -> str:
        names = [row[0] for row in tables.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        held = [name for name in names if tables.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone()]
        table = rng.choice(held)
        if rng.random() < 0.2:
            return f'DELETE FROM "{table}"'
        columns = tables.execute(f'PRAGMA table_info("{table}")').fetchall()
        column = rng.choice(columns)[1]
        value = rng.choice(VALUES)
        tables.create_function("drawn", 0, lambda: value)
        return f'UPDATE OR IGNORE "{table}" SET "{column}" = drawn()'

    return in_tables(files, folder, change)


def in_tables(files: Files, folder: Path, change: Callable[[sqlite3.Connection], str]) -> tuple[str, bytes]:
    """Return what *change* says it does, statements that are run on the tables, and the archive with these."""
    path = folder / "crafted.db"
    path.write_bytes(files["state.db"])
    done = "nothing"
    with closing(sqlite3.connect(path, isolation_level=None)) as tables:
        tables.execute("PRAGMA journal_mode=DELETE")
        try:
            done = change(tables)
            for statement in filter(str.strip, [done] if "BEGIN" in done else done.split(";")):
                tables.execute(statement)
        except sqlite3.Error as error:
            done += f" ({error})"
    files["state.db"] = path.read_bytes()
    return done, pack(files)
