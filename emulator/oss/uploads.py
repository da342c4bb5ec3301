"""Multipart uploads: begun, filled part by part in any order, then completed or aborted."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from emulator.kernel.frozen import frozen
from emulator.oss import limits
from emulator.oss.errors import (
    EntityTooSmall,
    FileAlreadyExists,
    InvalidArgument,
    InvalidPart,
    InvalidPartOrder,
    NoSuchUpload,
)
from emulator.oss.model import Attributes, Bucket, Part, Span, StoredObject, Upload, check_object_name, joined
from emulator.oss.objects import Conditions, Objects, Place, taken
from emulator.oss.storage import Caller, ObjectStorage

if TYPE_CHECKING:
    from emulator.oss.s3 import S3Model


@frozen(kw_only=False)
class UploadPlace:
    """The upload *id* of the object *key*."""

    bucket: str
    key: str
    id: str


class Uploads:
    """Multipart uploads of every account."""

    def __init__(self, storage: ObjectStorage, objects: Objects) -> None:
        self._storage = storage
        self._objects = objects

    async def start(self, caller: Caller, place: Place, attributes: Attributes, *, may_replace: bool) -> Upload:
        """Begin an upload.

        Raises: as `ObjectStorage.bucket`; InvalidObjectName, FileAlreadyExists.
        """
        check_object_name(place.key)
        model, bucket = await self._storage.bucket(caller, place.bucket)
        if not may_replace and model.get(place.bucket, place.key) is not None:
            raise FileAlreadyExists(key=place.key)
        upload = Upload(
            id=self._storage.ids.hex(32).upper(), key=place.key, started_at=caller.now, attributes=attributes
        )
        self._storage.journal.put_upload(bucket.name, upload)
        model.put_upload(bucket.name, upload)
        await self._storage.settle()
        return upload

    async def put_part(self, caller: Caller, place: UploadPlace, number: int, body: bytes, md5: bytes = b"") -> Part:
        """Keep a part, in place of one of that number there may be.

        Raises: as `parts`; InvalidArgument for a number that cannot be, InvalidDigest.
        """
        if not 1 <= number <= limits.PARTS:
            raise InvalidArgument(
                f"Part number must be an integer between 1 and {limits.PARTS}, inclusive.",
                name="partNumber",
                value=str(number),
            )
        await self._find(caller, place)
        async with taken(self._storage, body, md5) as content:
            model, _, upload = await self._find(caller, place)  # taking in the content took time
            old = model.part(place.bucket, upload.id, number)
            part = Part(
                number=number, piece=content.piece, etag=content.etag, crc=content.crc, modified_at=caller.now
            )  # fmt: skip
            unused = self._storage.journal.put_part(upload.id, part, old)
            model.put_part(place.bucket, upload.id, part)
            await self._storage.settle(unused)
        return part

    async def copy_part(
        self, caller: Caller, place: UploadPlace, number: int, source: Place, span: Span | None, conditions: Conditions
    ) -> Part:
        """Keep the bytes of *span* of an object as a part, all of them without one.

        Raises: as `put_part` and `Objects.get`; InvalidArgument for a span beyond the object's end.
        """
        original = await self._objects.get(caller, source, conditions, follow=False)
        if span is not None and span.end > original.size:
            raise InvalidArgument(name="x-oss-copy-source-range", value=f"bytes={span.start}-{span.end - 1}")
        return await self.put_part(caller, place, number, await self._storage.contents.read(original.pieces, span))

    async def parts(self, caller: Caller, place: UploadPlace) -> list[Part]:
        """Return the parts of an upload by number.

        Raises: as `ObjectStorage.bucket`; NoSuchUpload.
        """
        model, _, upload = await self._find(caller, place)
        return list(model.parts(place.bucket, upload.id).values())

    async def listed(self, caller: Caller, bucket: str) -> list[Upload]:
        """Return a bucket's uploads by key and id.

        Raises: as `ObjectStorage.bucket`.
        """
        model, _ = await self._storage.bucket(caller, bucket)
        return model.uploads(bucket)

    async def complete(
        self, caller: Caller, place: UploadPlace, wanted: Sequence[tuple[int, str]] | None, *, may_replace: bool
    ) -> StoredObject:
        """Make the object out of the parts with the numbers and ETags of *wanted*, of all parts when it is None.

        Parts that are not named are dropped with the upload.

        Raises: as `parts`; InvalidPart, InvalidPartOrder, EntityTooSmall, FileAlreadyExists.
        """
        model, bucket, upload = await self._find(caller, place)
        there = model.parts(place.bucket, upload.id)
        chosen = list(there.values()) if wanted is None else _chosen(there, wanted)
        if not chosen:
            raise InvalidPart(part="", etag="")
        for part in chosen[:-1]:
            if part.piece.size < limits.PART_BYTES_LEAST:
                raise EntityTooSmall(size=part.piece.size, least=limits.PART_BYTES_LEAST, part=part.number)
        old = model.get(bucket.name, upload.key)
        if old is not None and not may_replace:
            raise FileAlreadyExists(key=upload.key)
        pieces, etag, crc = joined(chosen)
        new = StoredObject(
            key=upload.key, kind="Multipart", pieces=pieces, etag=etag, crc=crc, modified_at=caller.now,
            attributes=upload.attributes,
        )  # fmt: skip
        journal = self._storage.journal
        unused = [*journal.put_object(bucket.name, new, old), *journal.remove_upload(upload.id, there.values())]
        self._storage.tell(
            caller, bucket, "ObjectCreated:CompleteMultipartUpload", new, size_before=old.size if old else 0
        )  # fmt: skip
        model.put(bucket.name, new)
        model.remove_upload(bucket.name, upload.id)
        await self._storage.settle(unused)
        return new

    async def abort(self, caller: Caller, place: UploadPlace) -> None:
        """End an upload and drop its parts.

        Raises: as `parts`.
        """
        model, bucket, upload = await self._find(caller, place)
        unused = self._storage.journal.remove_upload(upload.id, model.parts(bucket.name, upload.id).values())
        model.remove_upload(bucket.name, upload.id)
        await self._storage.settle(unused)

    async def _find(self, caller: Caller, place: UploadPlace) -> "tuple[S3Model, Bucket, Upload]":
        model, bucket = await self._storage.bucket(caller, place.bucket)
        upload = model.upload(place.bucket, place.id)
        if upload is None or upload.key != place.key:
            raise NoSuchUpload(upload=place.id)
        return model, bucket, upload


def _chosen(there: dict[int, Part], wanted: Sequence[tuple[int, str]]) -> list[Part]:
    chosen: list[Part] = []
    for number, etag in wanted:
        part = there.get(number)
        if part is None or part.etag != etag.strip().strip('"').upper():
            raise InvalidPart(part=number, etag=etag)
        if chosen and chosen[-1].number >= number:
            raise InvalidPartOrder
        chosen.append(part)
    return chosen
