"""The object store: its buckets, and how model, rows and bytes are kept in step.

A change is checked against the model, written as rows, reported to the watcher and made in the model, in one turn of
the loop; it is acknowledged once the rows are committed. When a commit fails the model is dropped and built from the
rows again.
"""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.kernel.frozen import replace
from emulator.kernel.identity import Region, Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.tasks import in_turns
from emulator.oss import limits
from emulator.oss.contents import Contents
from emulator.oss.errors import OssError
from emulator.oss.model import Bucket, Caller, Change, StoredObject, Watcher, check_bucket_name
from emulator.oss.store import ObjectStore
from emulator.storage.database import Database

if TYPE_CHECKING:
    from emulator.oss.s3 import S3Model

_log = logging.getLogger(__name__)

_SLICE = 200
"""Buckets, objects or uploads read in one turn of the loop when the model is built."""


class ObjectStorage:
    """The buckets, and the functions shared by operations on objects and uploads; on the loop's thread.

    *folder* and *sync* are those of `Contents`. While *going* is clear the rows are being replaced. ``home`` is the
    region of buckets that are made through a loopback address.
    """

    def __init__(
        self, database: Database, folder: Path, ids: Ids, watcher: Watcher | None, going: asyncio.Event,
        *, home: Region, sync: bool,
    ) -> None:  # fmt: skip
        self.rows = ObjectStore(database)
        self.contents = Contents(folder, ids, self.rows.needs, going, sync=sync)
        self.ids = ids
        self._database = database
        self._watcher = watcher
        self._going = going
        self._home = home
        self._model: S3Model | None = None
        self._loading: asyncio.Task[None] | None = None
        self._forgotten = 0
        self._swept = False
        database.on_rollback(self._forget)

    async def model(self) -> "S3Model":
        """Return the model, once no rows are being replaced; the first call loads moto in a thread and builds it.

        Raises: ExtraMissing.
        """
        while True:
            if not self._going.is_set():
                await self._going.wait()
            elif self._model is None:
                if self._loading is None:
                    self._loading = asyncio.get_running_loop().create_task(self._load(), name="oss:load")
                await asyncio.shield(self._loading)
            else:
                return self._model

    async def close(self) -> None:
        """Cancel the loading of the model, if it is under way, then end the threads."""
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.wait([self._loading])
        await self.contents.close()

    async def suspend(self) -> None:
        """Wait for the building of the model and for removals of files: rows and files are about to be replaced."""
        if self._loading is not None:
            await asyncio.wait([self._loading])
        await self.contents.removed()

    async def reset(self) -> None:
        """Delete every bucket and object."""
        named = self.rows.contents()
        self.rows.clear()
        self._forget()
        await self.settle(named)
        await self.contents.removed()

    def unit(self) -> AbstractContextManager[None]:
        """Return a context in which all writes, also those of the watcher, happen or none."""
        return self._database.unit()

    async def settle(self, unused: Iterable[str] = ()) -> None:
        """Wait until the writes are committed, then remove *unused* content.

        Raises: CommitFailed.
        """
        await self._database.committed()
        self.contents.remove(unused)

    def report(self, caller: Caller, bucket: Bucket, event: str, stored: StoredObject, *, size_before: int = 0) -> None:
        """Report a change of *stored* to the watcher; a removed object is reported as it was, without a size."""
        if self._watcher is None:
            return
        attributes = stored.attributes
        change = Change(
            event=event,
            bucket=bucket.name,
            key=stored.key,
            size=0 if event.startswith("ObjectRemoved") else stored.size,
            size_before=size_before,
            etag=stored.etag,
            at=caller.now,
            request_id=caller.request_id,
            source_ip=caller.source_ip,
            principal=caller.principal,
            content_type=attributes.headers.get("Content-Type", ""),
            metadata=attributes.metadata,
        )
        self._watcher.changed(Tenant(bucket.account, bucket.region), change)

    async def create_bucket(self, caller: Caller, name: str, acl: str, storage_class: str, region: str = "") -> Bucket:
        """Create a bucket; if the caller has it already, change its ACL when *acl* is given.

        Raises: InvalidBucketName, BucketAlreadyExists, TooManyBuckets, ExtraMissing.
        """
        check_bucket_name(name)
        model = await self.model()
        place = Region(region or caller.region or self._home)
        bucket = model.bucket(name)
        if bucket is None:
            if len(model.buckets(caller.account)) >= limits.BUCKETS:
                raise OssError("TooManyBuckets", limit=limits.BUCKETS)
            bucket = Bucket(
                name=name, account=caller.account, region=place, created_at=caller.now, acl=acl or "private",
                storage_class=storage_class,
            )  # fmt: skip
        elif bucket.account != caller.account or (place != bucket.region and (region or caller.region)):
            raise OssError("BucketAlreadyExists", bucket=name)
        elif acl:
            bucket = replace(bucket, acl=acl)
        return await self._put_bucket(model, bucket)

    async def set_bucket_acl(self, caller: Caller, name: str, acl: str) -> Bucket:
        """Change the ACL of a bucket.

        Raises: as `bucket`.
        """
        model, bucket = await self.bucket(caller, name)
        return await self._put_bucket(model, replace(bucket, acl=acl))

    async def put_setting(self, bucket: Bucket, name: str, document: bytes | None) -> None:
        """Keep the document of a setting, or delete it."""
        self.rows.put_setting(bucket.name, name, document)
        await self.settle()

    async def bucket(self, caller: Caller, name: str) -> "tuple[S3Model, Bucket]":
        """Return moto's model of the caller's account and, in it, a bucket that the caller may use.

        Raises: NoSuchBucket, AccessDenied for another account's, WrongEndpoint, ExtraMissing.
        """
        model = await self.model()
        bucket = model.bucket(name)
        if bucket is None:
            raise OssError("NoSuchBucket", bucket=name)
        if bucket.account != caller.account:
            raise OssError("AccessDenied", "The bucket you access does not belong to you.")
        if caller.region and caller.region != bucket.region:
            raise OssError("WrongEndpoint", endpoint=f"oss-{bucket.region}.aliyuncs.com")
        return model, bucket

    async def buckets(self, caller: Caller) -> list[Bucket]:
        """Return the caller's buckets by name."""
        return (await self.model()).buckets(caller.account)

    async def totals(self, caller: Caller, name: str) -> tuple[int, int, int]:
        """Return how many bytes, objects and uploads a bucket holds.

        Raises: as `bucket`.
        """
        model, _ = await self.bucket(caller, name)
        return await self.contents.in_thread(model.totals(name))

    async def delete_bucket(self, caller: Caller, name: str) -> None:
        """Remove an empty bucket.

        Raises: as `bucket`; BucketNotEmpty.
        """
        model, _ = await self.bucket(caller, name)
        if not model.is_empty(name):
            raise OssError("BucketNotEmpty", bucket=name)
        self.rows.remove_bucket(name)
        model.remove_bucket(name)
        await self.settle()

    async def _put_bucket(self, model: "S3Model", bucket: Bucket) -> Bucket:
        self.rows.put_bucket(bucket)
        model.put_bucket(bucket)
        await self.settle()
        return bucket

    async def _load(self) -> None:
        try:
            while self._model is None:
                seen = self._forgotten
                model = await self._built()
                if seen == self._forgotten:  # otherwise rows were replaced meanwhile
                    self._model = model
        finally:
            self._loading = None

    async def _built(self) -> "S3Model":
        model = await asyncio.to_thread(_new_model)
        async for bucket in in_turns(self.rows.buckets(), _SLICE):
            model.put_bucket(bucket)
        for slice_ in self.rows.objects(_SLICE):
            await self.contents.in_thread(lambda some=slice_: model.load(some))  # type: ignore[misc]
        async for name, upload, parts in in_turns(self.rows.uploads(), _SLICE):
            model.put_upload(name, upload)
            async for part in in_turns(parts, _SLICE):
                model.put_part(name, upload.id, part)
        if not self._swept:  # only the first time: later, content may be stored before its rows are
            await self.contents.keep_only(self.rows.contents())
            self._swept = True
        return model

    def _forget(self) -> None:
        self._model = None
        self._forgotten += 1


def _new_model() -> "S3Model":
    try:
        from emulator.oss.s3 import S3Model  # imports moto, which is slow and needs the extra "oss"
    except ImportError as error:
        _log.warning("object storage cannot be loaded: %s", error)
        raise OssError("ExtraMissing") from error
    return S3Model()
