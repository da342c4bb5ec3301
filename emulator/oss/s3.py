"""Buckets, objects and uploads in moto's S3 back end: the contents of buckets, in order, and lists of them.

This module imports moto, which takes half a second and forty megabytes: `emulator.oss.storage` imports it in a thread
when the first call comes. moto keeps everything in memory only, so here it holds the model but no bytes: content is in
files (`contents`), and every change is written as a row (`store`) before it is made here. A start with earlier state
builds the model from the rows.

moto has one registry of bucket names for the process; buckets are removed from it, so that several emulators can run in
one process.
"""

from bisect import insort
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from moto.s3.models import FakeBucket, FakeKey, FakeMultipart, S3Backend, s3_backends
from requests.structures import CaseInsensitiveDict

from emulator.kernel.clock import SECOND, Millis
from emulator.kernel.identity import AccountId
from emulator.oss.model import Bucket, Part, StoredObject, Upload

_PARTITION = "aws"
_EVERYTHING = 1 << 62


class _Key(FakeKey):
    """An S3 key without its bytes, which are in files."""

    def __new__(cls, *_: Any, **__: Any) -> "_Key":
        return object.__new__(cls)  # moto's own __new__ would keep every key for its reset

    def __init__(self, account: str, bucket: str, name: str, size: int, etag: str, modified_at: Millis) -> None:
        super().__init__(
            name=name, value=b"", account_id=account, region_name=_PARTITION, etag=etag, bucket_name=bucket,
            version_id="null",
        )  # fmt: skip
        self.contentsize = size
        self.last_modified = _moment(modified_at)

    def dispose(self, garbage: bool = False) -> None:
        """Close the empty buffer that stands for the bytes."""
        self._value_buffer.close()
        self.disposed = True


class _ObjectKey(_Key):
    """The key of an object."""

    def __init__(self, account: str, bucket: str, stored: StoredObject) -> None:
        super().__init__(account, bucket, stored.key, stored.size, stored.etag, stored.modified_at)
        self.stored = stored
        self.set_metadata({**stored.attributes.headers, **stored.attributes.metadata})


class _PartKey(_Key):
    """The key of a part."""

    def __init__(self, account: str, bucket: str, part: Part) -> None:
        super().__init__(account, bucket, str(part.number), part.piece.size, part.etag, part.modified_at)
        self.part = part


class _Multipart(FakeMultipart):
    """An upload under way."""

    def __new__(cls, *_: Any, **__: Any) -> "_Multipart":
        return object.__new__(cls)  # not moto's own: see the keys

    def __init__(self, account: str, upload: Upload) -> None:
        super().__init__(upload.key, CaseInsensitiveDict(upload.attributes.metadata), account, _PARTITION)
        self.id = upload.id
        self.upload = upload


class S3Model:
    """The model of every account's buckets."""

    def __init__(self) -> None:
        self._accounts: dict[AccountId, S3Backend] = {}
        self._owners: dict[str, S3Backend] = {}
        self._buckets: dict[str, Bucket] = {}

    def put_bucket(self, bucket: Bucket) -> None:
        """Create a bucket, or change an existing one."""
        if bucket.name not in self._buckets:
            backend = self._accounts.setdefault(bucket.account, S3Backend(_PARTITION, bucket.account))
            made = FakeBucket(bucket.name, bucket.account, bucket.region)  # type: ignore[abstract]  # moto does it too
            made.creation_date = _moment(bucket.created_at)
            s3_backends.bucket_accounts.pop(bucket.name, None)
            backend.buckets[bucket.name] = made
            self._owners[bucket.name] = backend
        self._buckets[bucket.name] = bucket

    def bucket(self, name: str) -> Bucket | None:
        """Return the bucket of that name, of any account; None when there is none."""
        return self._buckets.get(name)

    def buckets(self, account: AccountId) -> list[Bucket]:
        """Return an account's buckets by name."""
        backend = self._accounts.get(account)
        buckets = backend.list_buckets(None, None, None) if backend else []
        return [self._buckets[name] for name in sorted(each.name for each in buckets)]

    def is_empty(self, name: str) -> bool:
        """Whether a bucket has neither objects nor uploads."""
        bucket = self._bucket(name)
        return not bucket.keys and not bucket.multiparts

    def remove_bucket(self, name: str) -> None:
        """Remove an empty bucket."""
        self._owners.pop(name).delete_bucket(name)
        del self._buckets[name]

    def totals(self, name: str) -> Callable[[], tuple[int, int, int]]:
        """Return a function, for any thread, that counts the bytes, objects and uploads a bucket holds at this moment.

        The function counts over a copy, as the bucket may change meanwhile.
        """
        bucket = self._bucket(name)
        versions, uploads = list(dict(bucket.keys).values()), len(bucket.multiparts)
        return lambda: (sum(keys[-1].contentsize for keys in versions), len(versions), uploads)

    def put(self, bucket: str, stored: StoredObject) -> None:
        """Create an object, or replace an existing one."""
        key = _ObjectKey(self._owners[bucket].account_id, bucket, stored)
        self._bucket(bucket).keys.setlist(stored.key, [key])

    def get(self, bucket: str, name: str) -> StoredObject | None:
        """Return an object, None when there is none."""
        key = self._owners[bucket].get_object(bucket, name)
        return key.stored if isinstance(key, _ObjectKey) else None

    def remove(self, bucket: str, name: str) -> None:
        """Remove an object; does nothing when there is none."""
        self._owners[bucket].delete_object(bucket, name)

    def put_upload(self, bucket: str, upload: Upload) -> None:
        """Start a multipart upload."""
        self._bucket(bucket).multiparts[upload.id] = _Multipart(self._owners[bucket].account_id, upload)

    def upload(self, bucket: str, upload: str) -> Upload | None:
        """Return an upload under way, None when there is none."""
        multipart = self._bucket(bucket).multiparts.get(upload)
        return multipart.upload if isinstance(multipart, _Multipart) else None

    def put_part(self, bucket: str, upload: str, part: Part) -> None:
        """Add a part, or replace the one of its number."""
        multipart = self._bucket(bucket).multiparts[upload]
        if part.number in multipart.parts:
            multipart.parts[part.number].dispose()
        else:
            insort(multipart.partlist, part.number)
        multipart.parts[part.number] = _PartKey(multipart.account_id, bucket, part)

    def part(self, bucket: str, upload: str, number: int) -> Part | None:
        """Return one part of an upload, None when there is none."""
        key = self._bucket(bucket).multiparts[upload].parts.get(number)
        return key.part if isinstance(key, _PartKey) else None

    def parts(self, bucket: str, upload: str) -> dict[int, Part]:
        """Return the parts of an upload by number, in order."""
        keys = self._owners[bucket].list_parts(bucket, upload, 0, _EVERYTHING)
        return {key.part.number: key.part for key in keys if isinstance(key, _PartKey)}

    def remove_upload(self, bucket: str, upload: str) -> None:
        """End an upload."""
        self._owners[bucket].abort_multipart_upload(bucket, upload)

    def _bucket(self, name: str) -> FakeBucket:
        return self._owners[name].get_bucket(name)

    def load(self, objects: Iterable[tuple[str, StoredObject]]) -> None:
        """Add objects read from the store, as pairs of bucket and object."""
        for bucket, stored in objects:
            self.put(bucket, stored)


def _moment(at: Millis) -> datetime:
    return datetime.fromtimestamp(at / SECOND, UTC).replace(tzinfo=None)
