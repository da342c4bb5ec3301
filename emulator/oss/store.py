"""The rows of the object store: the durable side of `emulator.oss.s3`.

A count of references is kept for every piece of content; methods that remove references return the ids of content whose
files may be removed. All methods run in the caller's transaction. SQLite compares keys as bytes, which is the service's
order.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, cast

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import fields_of
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.oss.model import Attributes, Bucket, Kind, Part, Piece, StoredObject, Upload
from emulator.storage.database import Database, Row

T = TypeVar("T")

_BUCKETS = "SELECT name, account, region, created_at, acl, storage_class FROM oss_buckets"
_OBJECTS = "SELECT bucket, key, kind, pieces, etag, crc, modified_at, attributes, target FROM oss_objects"
_UPLOADS = "SELECT bucket, key, id, started_at, attributes FROM oss_uploads"

_AT_ONCE = 100
"""Objects read in one query."""

_ABOVE_ALL_NAMES = "\U0010ffff"

_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


class ObjectStore:
    """The rows of buckets, objects, uploads and parts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def buckets(self) -> list[Bucket]:
        """Return every bucket by name."""
        return [_bucket(row) for row in self._database.read(f"{_BUCKETS} ORDER BY name")]

    def some_buckets(self, tenant: Tenant, start: str, limit: int, containing: str = "") -> list[Bucket]:
        """Return up to *limit* buckets of an account in a region whose names contain *containing*, from *start* on."""
        where = "WHERE account = ? AND region = ? AND name >= ? AND instr(name, ?) ORDER BY name LIMIT ?"
        values = (*tenant, start, containing, limit)
        return [_bucket(row) for row in self._database.read(f"{_BUCKETS} {where}", values)]

    def has_bucket(self, tenant: Tenant, name: str) -> bool:
        """Whether an account has a bucket in a region."""
        where = "WHERE name = ? AND account = ? AND region = ?"
        return self._database.read(f"{_BUCKETS} {where}", (name, *tenant)).fetchone() is not None

    def listed(self, bucket: str, after: str, limit: int) -> list[StoredObject]:
        """Return up to *limit* objects of a bucket by name, after the name *after*."""
        where = "WHERE bucket = ? AND key > ? ORDER BY key LIMIT ?"
        return [_object(row) for row in self._database.read(f"{_OBJECTS} {where}", (bucket, after, limit))]

    def entries(self, bucket: str, prefix: str, delimiter: str, after: str, limit: int) -> list[StoredObject | str]:
        """Return up to *limit* objects and common prefixes (as text) after the name *after*, in order of their names.

        Names that contain *delimiter* after *prefix* are represented by their common prefix.
        """
        where = "bucket = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?"
        beyond = (_next(after),)
        return self._folded(f"{_OBJECTS} WHERE {where}", _object, bucket, prefix, delimiter, after, beyond, limit)

    def upload_entries(
        self, bucket: str, prefix: str, delimiter: str, after: str, upload: str, limit: int
    ) -> list[Upload | str]:
        """Return up to *limit* uploads and common prefixes, as `entries` does, in the order of their keys and ids.

        The list begins after *upload* of the key *after*; when *upload* is empty, after all uploads of that key.
        """
        where = "bucket = ? AND (key, id) > (?, ?) AND key < ? ORDER BY key, id LIMIT ?"
        beyond = (after, upload) if upload else (_next(after), "")
        return self._folded(f"{_UPLOADS} WHERE {where}", _upload, bucket, prefix, delimiter, after, beyond, limit)

    def _folded(
        self, sql: str, made: Callable[[Row], T], bucket: str, prefix: str, delimiter: str, after: str,
        beyond: tuple[str, ...], limit: int,
    ) -> list[T | str]:  # fmt: skip
        """Read up to *limit* rows from *beyond* on; keys (column 1) with a common prefix give that prefix once."""
        found: list[T | str] = []
        rest = ("",) * (len(beyond) - 1)
        at, is_over = max(beyond, (prefix, *rest)), False
        while len(found) < limit and not is_over:
            is_over = True
            for row in self._rows_of_text(sql, (bucket, *at, prefix + _ABOVE_ALL_NAMES, limit - len(found))):
                key: str = row[1]
                end = key.find(delimiter, len(prefix)) if delimiter else -1
                if end < 0:
                    found.append(made(row))
                    continue
                common = key[: end + len(delimiter)]
                if common > after:
                    found.append(common)
                at, is_over = (common + _ABOVE_ALL_NAMES, *rest), False
                break
        return found

    def _rows_of_text(self, sql: str, values: Sequence[Any]) -> Iterable[Row]:
        """Read rows; none when a value is not valid Unicode text."""
        try:
            return self._database.read(sql, values)
        except UnicodeEncodeError:
            return ()

    def objects(self, count: int) -> Iterator[list[tuple[str, StoredObject]]]:
        """Yield (bucket, object), *count* at a time; writes in between may or may not be seen."""
        bucket = key = ""
        while True:
            where = "WHERE (bucket, key) > (?, ?) ORDER BY bucket, key LIMIT ?"
            rows = self._database.read(f"{_OBJECTS} {where}", (bucket, key, count)).fetchall()
            if not rows:
                return
            bucket, key = rows[-1][:2]
            yield [(row[0], _object(row)) for row in rows]

    def uploads(self) -> Iterator[tuple[str, Upload, Iterator[Part]]]:
        """Yield (bucket, upload, its parts) of everything that was under way; others may write in between."""
        for row in self._database.read(_UPLOADS).fetchall():
            upload = _upload(row)
            yield row[0], upload, self._parts(upload.id)

    def _parts(self, upload: str) -> Iterator[Part]:
        rows = self._database.read(
            "SELECT number, content, size, etag, crc, modified_at FROM oss_parts WHERE upload = ? ORDER BY number",
            (upload,),
        )
        for number, content, size, etag, crc, at in rows.fetchall():
            piece = Piece(content=content, size=size)
            yield Part(number=number, piece=piece, etag=etag, crc=int(crc), modified_at=at)

    def contents(self) -> frozenset[str]:
        """Return the ids of all content that rows refer to."""
        return frozenset(row[0] for row in self._database.read("SELECT id FROM oss_contents"))

    def needs(self, content: str) -> bool:
        """Whether a row names a piece of content."""
        return self._database.read("SELECT 1 FROM oss_contents WHERE id = ?", (content,)).fetchone() is not None

    def acls(self, bucket: str, key: str) -> tuple[str, str] | None:
        """Return the ACLs of a bucket and of an object in it ("" when there is none), None without such a bucket."""
        row = self._database.read("SELECT acl FROM oss_buckets WHERE name = ?", (bucket,)).fetchone()
        if row is None:
            return None
        own = self._database.read("SELECT acl FROM oss_objects WHERE bucket = ? AND key = ?", (bucket, key)).fetchone()
        return row[0], own[0] if own else ""

    def put_bucket(self, bucket: Bucket) -> None:
        """Create a bucket, or change an existing one."""
        self._database.write(
            "INSERT INTO oss_buckets VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name)"
            " DO UPDATE SET acl = excluded.acl, storage_class = excluded.storage_class",
            (bucket.name, bucket.account, bucket.region, bucket.created_at, bucket.acl, bucket.storage_class),
        )

    def setting(self, bucket: str, name: str) -> bytes | None:
        """Return the document of a setting, None when it is not set."""
        row = self._database.read(
            "SELECT document FROM oss_settings WHERE bucket = ? AND name = ?", (bucket, name)
        ).fetchone()
        return row[0] if row else None

    def put_setting(self, bucket: str, name: str, document: bytes | None) -> None:
        """Keep the document of a setting; None deletes it."""
        self._database.write("DELETE FROM oss_settings WHERE bucket = ? AND name = ?", (bucket, name))
        if document is not None:
            self._database.write("INSERT INTO oss_settings VALUES (?, ?, ?)", (bucket, name, document))

    def remove_bucket(self, name: str) -> None:
        """Remove an empty bucket."""
        self._database.write("DELETE FROM oss_buckets WHERE name = ?", (name,))

    def removal(self, account: str) -> Iterator[None]:
        """Remove the buckets of an account with their objects and uploads, and yield after each removal.

        At each yield the rows are consistent; rows of other accounts may be written in between.
        """
        names = self._database.read("SELECT name FROM oss_buckets WHERE account = ?", (account,)).fetchall()
        for (bucket,) in names:
            while found := self.listed(bucket, "", _AT_ONCE):
                for each in found:
                    self.remove_object(bucket, each)
                    yield
            uploads = self._database.read("SELECT id FROM oss_uploads WHERE bucket = ?", (bucket,)).fetchall()
            for (upload,) in uploads:
                self.remove_upload(upload, list(self._parts(upload)))
                yield
            self.remove_bucket(bucket)
            yield

    def put_object(self, bucket: str, new: StoredObject, old: StoredObject | None) -> list[str]:
        """Store an object in place of *old*; return the ids of content that is no longer used."""
        self._use(piece.content for piece in new.pieces)
        self._database.write(
            "INSERT OR REPLACE INTO oss_objects VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                bucket, new.key, new.kind, _encode([[piece.content, piece.size] for piece in new.pieces]), new.etag,
                str(new.crc), new.modified_at, new.attributes.acl, _text_of(new.attributes), new.target,
            ),
        )  # fmt: skip
        return self._drop(piece.content for piece in old.pieces) if old else []

    def remove_object(self, bucket: str, old: StoredObject) -> list[str]:
        """Remove an object; return the ids of content that is no longer used."""
        self._database.write("DELETE FROM oss_objects WHERE bucket = ? AND key = ?", (bucket, old.key))
        return self._drop(piece.content for piece in old.pieces)

    def put_upload(self, bucket: str, upload: Upload) -> None:
        """Start a multipart upload."""
        self._database.write(
            "INSERT INTO oss_uploads VALUES (?, ?, ?, ?, ?)",
            (upload.id, bucket, upload.key, upload.started_at, _text_of(upload.attributes)),
        )

    def put_part(self, upload: str, new: Part, old: Part | None) -> list[str]:
        """Store a part in place of *old*; return the ids of content that is no longer used."""
        self._use([new.piece.content])
        self._database.write(
            "INSERT OR REPLACE INTO oss_parts VALUES (?, ?, ?, ?, ?, ?, ?)",
            (upload, new.number, new.piece.content, new.piece.size, new.etag, str(new.crc), new.modified_at),
        )
        return self._drop([old.piece.content]) if old else []

    def remove_upload(self, upload: str, parts: Iterable[Part]) -> list[str]:
        """Remove an upload; return the ids of content that is no longer used."""
        self._database.write("DELETE FROM oss_uploads WHERE id = ?", (upload,))
        return self._drop(part.piece.content for part in parts)

    def clear(self) -> None:
        """Delete everything."""
        for table in ("oss_parts", "oss_uploads", "oss_objects", "oss_buckets", "oss_contents"):
            self._database.write(f"DELETE FROM {table}")  # noqa: S608 - a name from the line above

    def _use(self, contents: Iterable[str]) -> None:
        self._database.write_many(
            "INSERT INTO oss_contents VALUES (?, 1) ON CONFLICT (id) DO UPDATE SET uses = uses + 1",
            [(content,) for content in contents],
        )

    def _drop(self, contents: Iterable[str]) -> list[str]:
        unused = []
        for content in contents:
            self._database.write("UPDATE oss_contents SET uses = uses - 1 WHERE id = ?", (content,))
            gone = self._database.write("DELETE FROM oss_contents WHERE id = ? AND uses <= 0", (content,))
            if gone.rowcount:
                unused.append(content)
        return unused


def _next(name: str) -> str:
    """Return the first text after a name; "" for an empty name, before all others."""
    return f"{name}\0" if name else ""


def _bucket(row: Row) -> Bucket:
    name, account, region, at, acl, storage_class = row
    return Bucket(
        name=name, account=AccountId(account), region=Region(region), created_at=at, acl=acl,
        storage_class=storage_class,
    )  # fmt: skip


def _object(row: Row) -> StoredObject:
    _, key, kind, pieces, etag, crc, modified_at, attributes, target = row
    return StoredObject(
        key=key,
        kind=cast("Kind", kind),
        pieces=tuple(Piece(content=content, size=size) for content, size in json.loads(pieces)),
        etag=etag,
        crc=int(crc),
        modified_at=Millis(modified_at),
        attributes=_attributes(attributes),
        target=target,
    )


def _upload(row: Row) -> Upload:
    _, key, number, started_at, attributes = row
    return Upload(id=number, key=key, started_at=started_at, attributes=_attributes(attributes))


def _text_of(attributes: Attributes) -> str:
    return _encode({each.name: getattr(attributes, each.name) for each in fields_of(attributes)})


def _attributes(text: str) -> Attributes:
    return Attributes(**json.loads(text))
