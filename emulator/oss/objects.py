"""The operations on objects."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from emulator.kernel.clock import SECOND, Millis
from emulator.kernel.frozen import frozen
from emulator.oss.errors import (
    FileAlreadyExists,
    InvalidArgument,
    InvalidDigest,
    NoSuchKey,
    NotModified,
    ObjectNotAppendable,
    PositionNotEqualToLength,
    PreconditionFailed,
)
from emulator.oss.model import (
    EMPTY_ETAG,
    Attributes,
    Bucket,
    Content,
    Kind,
    Piece,
    StoredObject,
    appended,
    check_object_name,
)
from emulator.oss.storage import Caller, ObjectStorage

if TYPE_CHECKING:
    from emulator.oss.s3 import S3Model


@frozen
class Conditions:
    """What an object has to be for the request to go on. ETags have no quotes, instants are whole seconds."""

    match: str = ""
    none_match: str = ""
    modified_since: Millis | None = None
    unmodified_since: Millis | None = None

    def check(self, stored: StoredObject) -> None:
        """Check *stored*; an ETag has the last word over the instant that goes the same way.

        Raises: PreconditionFailed, NotModified.
        """
        modified_at = stored.modified_at // SECOND * SECOND
        if self.match and self.match not in ("*", stored.etag):
            raise PreconditionFailed(condition="If-Match")
        if self.unmodified_since is not None and modified_at > self.unmodified_since:
            raise PreconditionFailed(condition="If-Unmodified-Since")
        if self.none_match:
            same = self.none_match in ("*", stored.etag)
        else:
            same = self.modified_since is not None and modified_at <= self.modified_since
        if same:
            raise NotModified(etag=stored.etag, modified=stored.modified_at)


@frozen
class Put:
    """What a writer asks for besides content: attributes, the MD5 the content must have, whether it may replace."""

    attributes: Attributes
    md5: bytes = b""
    may_replace: bool = True


@frozen(kw_only=False)
class Place:
    """An object's bucket and name."""

    bucket: str
    key: str


@asynccontextmanager
async def taken(storage: ObjectStorage, body: bytes, md5: bytes = b"") -> AsyncIterator[Content]:
    """Keep the bytes of a request, unless the context ends with an error.

    Raises: InvalidDigest when they do not have the stated *md5*.
    """
    content = await storage.contents.add(body)
    try:
        _check_digest(content, md5)
        yield content
    except Exception:  # a cancelled request may have been written down already: a start sorts that out
        storage.contents.remove([content.piece.content])
        raise


def _check_digest(content: Content, md5: bytes) -> None:
    if md5 and content.md5 != md5:
        raise InvalidDigest


class Objects:
    """Objects of every account."""

    def __init__(self, storage: ObjectStorage) -> None:
        self._storage = storage

    # --- reading -------------------------------------------------------------------------------------------------

    async def get(
        self, caller: Caller, place: Place, conditions: Conditions | None = None, *, follow: bool = True
    ) -> StoredObject:
        """Return an object; a symbolic link is followed once unless *follow* is false.

        Raises: as `ObjectStorage.bucket`; NoSuchKey, PreconditionFailed, NotModified.
        """
        model, _ = await self._storage.bucket(caller, place.bucket)
        stored = self._there(model, place)
        if follow and stored.kind == "Symlink":
            stored = self._there(model, Place(place.bucket, stored.target))
        if conditions is not None:
            conditions.check(stored)
        return stored

    async def listed(
        self, caller: Caller, bucket: str, prefix: str, delimiter: str, after: str
    ) -> list[StoredObject | str]:
        """Return the objects and common prefixes of a bucket beyond the name *after*, in order.

        Raises: as `ObjectStorage.bucket`.
        """
        model, _ = await self._storage.bucket(caller, bucket)
        return await self._storage.contents.in_thread(lambda: model.listed(bucket, prefix, delimiter, after))

    # --- writing -------------------------------------------------------------------------------------------------

    async def put(
        self, caller: Caller, place: Place, body: bytes, asked: Put, event: str = "ObjectCreated:PutObject"
    ) -> StoredObject:
        """Make an object of *body*, in place of one there may be.

        Raises: as `ObjectStorage.bucket`; InvalidObjectName, FileAlreadyExists, InvalidDigest.
        """
        await self._may_write(caller, place, asked)
        async with taken(self._storage, body, asked.md5) as content:
            return await self._store(caller, place, asked, event, (content.piece,), content.etag, content.crc)

    async def put_symlink(self, caller: Caller, place: Place, target: str, asked: Put) -> StoredObject:
        """Make a symbolic link to *target*, a name in the same bucket; nothing need be there.

        Raises: as `put`.
        """
        check_object_name(target)
        await self._may_write(caller, place, asked)
        return await self._store(
            caller, place, asked, "ObjectCreated:PutSymlink", (), EMPTY_ETAG, 0, kind="Symlink", target=target
        )

    async def copy(
        self, caller: Caller, source: Place, place: Place, conditions: Conditions, asked: Put, *, own: set[str]
    ) -> StoredObject:
        """Make an object of another's content; *own* names the attributes that are not the source's but *asked*'s.

        Raises: as `get` and `put`.
        """
        model, _ = await self._storage.bucket(caller, source.bucket)
        original = self._there(model, source)
        conditions.check(original)
        await self._may_write(caller, place, asked)
        given = {name: getattr(asked.attributes, name) for name in own}
        attributes = replace(original.attributes, acl=asked.attributes.acl, **given)
        kind: Kind = "Multipart" if original.kind == "Multipart" else "Normal"
        return await self._store(
            caller, place, replace(asked, attributes=attributes), "ObjectCreated:CopyObject", original.pieces,
            original.etag, original.crc, kind=kind,
        )  # fmt: skip

    async def append(self, caller: Caller, place: Place, body: bytes, position: int, asked: Put) -> StoredObject:
        """Put *body* behind an appendable object, or make one; *position* is where it has to end before.

        Raises: as `put`; ObjectNotAppendable, PositionNotEqualToLength.
        """
        await self._may_write(caller, place, asked)
        async with taken(self._storage, body, asked.md5) as content:
            model, _ = await self._storage.bucket(caller, place.bucket)
            old = model.get(place.bucket, place.key)
            if old is not None and old.kind != "Appendable":
                raise ObjectNotAppendable
            if position != (length := old.size if old else 0):
                raise PositionNotEqualToLength(length=length)
            if old is not None:
                asked = replace(asked, attributes=old.attributes)
            pieces, etag, crc = appended(old, content)
            event = "ObjectCreated:AppendObject"
            return await self._store(caller, place, asked, event, pieces, etag, crc, kind="Appendable")

    async def change(self, caller: Caller, place: Place, changed: Callable[[Attributes], Attributes]) -> StoredObject:
        """Change attributes of an object; its content and age stay.

        Raises: as `get`.
        """
        model, bucket = await self._storage.bucket(caller, place.bucket)
        old = self._there(model, place)
        new = replace(old, attributes=changed(old.attributes))
        unused = self._storage.journal.put_object(bucket.name, new, old)
        model.put(bucket.name, new)
        await self._storage.settle(unused)
        return new

    async def delete(self, caller: Caller, bucket_name: str, keys: list[str], event: str) -> None:
        """Remove objects; names of none are passed over.

        Raises: as `ObjectStorage.bucket`.
        """
        model, bucket = await self._storage.bucket(caller, bucket_name)
        unused: list[str] = []
        for key in keys:
            old = model.get(bucket.name, key)
            if old is None:
                continue
            unused += self._storage.journal.remove_object(bucket.name, old)
            self._storage.tell(caller, bucket, event, old, size_before=old.size)
            model.remove(bucket.name, key)
        await self._storage.settle(unused)

    # --- inside --------------------------------------------------------------------------------------------------

    async def _may_write(self, caller: Caller, place: Place, asked: Put) -> "tuple[S3Model, Bucket]":
        check_object_name(place.key)
        model, bucket = await self._storage.bucket(caller, place.bucket)
        if not asked.may_replace and model.get(place.bucket, place.key) is not None:
            raise FileAlreadyExists(key=place.key)
        return model, bucket

    async def _store(
        self, caller: Caller, place: Place, asked: Put, event: str, pieces: tuple[Piece, ...], etag: str, crc: int,
        *, kind: Kind = "Normal", target: str = "",
    ) -> StoredObject:  # fmt: skip
        model, bucket = await self._may_write(caller, place, asked)  # taking in the content took time
        old = model.get(place.bucket, place.key)
        new = StoredObject(
            key=place.key, kind=kind, pieces=pieces, etag=etag, crc=crc, modified_at=caller.now,
            attributes=asked.attributes, target=target,
        )  # fmt: skip
        unused = self._storage.journal.put_object(bucket.name, new, old)
        self._storage.tell(caller, bucket, event, new, size_before=old.size if old else 0)
        model.put(bucket.name, new)
        await self._storage.settle(unused)
        return new

    @staticmethod
    def _there(model: "S3Model", place: Place) -> StoredObject:
        if not place.key:
            raise InvalidArgument(name="object name", value="")
        stored = model.get(place.bucket, place.key)
        if stored is None:
            raise NoSuchKey(key=place.key)
        return stored
