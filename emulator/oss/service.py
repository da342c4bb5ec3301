"""Object storage of one emulator, loaded at the first call.

Neither the operations nor moto slow a start down: this module imports the operations in a thread, and
`emulator.oss.storage` imports moto in one when an operation needs the model.
"""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.kernel.identity import Region, Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.paging import Page, cut
from emulator.storage.database import Database
from emulator.storage.migration import Schema
from emulator.wire.operation import Operation, operations_of

if TYPE_CHECKING:
    from emulator.oss.model import Bucket, StoredObject, Watcher
    from emulator.oss.storage import ObjectStorage
    from emulator.oss.store import ObjectStore

SCHEMA = Schema("oss", Path(__file__).parent / "schema")

_FILES = "objects"
"""The folder of content, relative to the emulator's and within checkpoints."""

_PUBLIC = ("public-read", "public-read-write")


class LazyStorage:
    """The object store of one emulator.

    *folder* is for content, *home* the region of buckets made through a loopback address; with *sync* content is on
    disk before it is acknowledged.
    """

    def __init__(self, database: Database, folder: Path, ids: Ids, *, home: Region, sync: bool) -> None:
        self._database = database
        self._folder = folder
        self._ids = ids
        self._watcher: Watcher | None = None
        self._home = home
        self._sync = sync
        self._opened: tuple[ObjectStorage, Mapping[str, Operation]] | None = None
        self._going = asyncio.Event()
        """Clear between `suspend` and `resume`."""
        self._going.set()

    def connect(self, watcher: "Watcher") -> None:
        """Report changes of objects to *watcher*; has to be called before the first request."""
        self._watcher = watcher

    async def tidy(self) -> None:
        """Remove the drafts of interrupted writes; before the first call."""
        if self._folder.is_dir():
            await asyncio.to_thread(_remove_drafts, self._folder)

    async def storage(self) -> "ObjectStorage":
        """Return the store, loaded at the first call."""
        return (await self.opened())[0]

    async def opened(self) -> "tuple[ObjectStorage, Mapping[str, Operation]]":
        """Return the store and its operations by route; the first call loads them."""
        if self._opened is None:
            await asyncio.to_thread(_import)
        if self._opened is None:  # another call may have opened it meanwhile
            from emulator.oss import buckets, objects, settings, uploads  # already imported
            from emulator.oss.storage import ObjectStorage

            storage = ObjectStorage(
                self._database, self._folder, self._ids, self._watcher, self._going, home=self._home, sync=self._sync
            )
            operations = operations_of(buckets, settings, objects, uploads)
            self._opened = (storage, {each.route: each for each in operations})
        return self._opened

    def _rows(self) -> "ObjectStore":
        from emulator.oss.store import ObjectStore  # rarely needed

        return ObjectStore(self._database)

    def is_public(self, bucket: str, key: str, *, writing: bool) -> bool:
        """Whether a caller without a key may read an object, or write one."""
        try:
            acls = self._rows().acls(bucket, key)
        except UnicodeEncodeError:  # the name is not UTF-8: no such object can exist
            return False
        if acls is None:
            return False
        of_bucket, of_object = acls
        return (of_bucket if of_object in ("", "default") else of_object) in (_PUBLIC[1:] if writing else _PUBLIC)

    def buckets(self, tenant: Tenant, start: str, limit: int, containing: str = "") -> "Page[Bucket]":
        """Return a page of the buckets of an account in a region by name, from *start* on, without the model.

        *containing* is part of their names.
        """
        rows = self._rows().some_buckets(tenant, start, limit + 1, containing)
        return cut(rows, limit, lambda bucket: bucket.name)

    def has_bucket(self, tenant: Tenant, bucket: str) -> bool:
        """Whether an account has a bucket in a region, without the model."""
        return self._rows().has_bucket(tenant, bucket)

    def listed(self, tenant: Tenant, bucket: str, after: str, limit: int) -> "list[StoredObject]":
        """Return up to *limit* objects beyond the name *after*, without the model; none of a foreign bucket."""
        rows = self._rows()
        return rows.listed(bucket, after, limit) if rows.has_bucket(tenant, bucket) else []

    def files(self) -> list[str]:
        """Return the content the rows name, as paths below the emulator's folder."""
        return [f"{_FILES}/{name[:2]}/{name}" for name in self._rows().contents()]

    async def release(self, files: Iterable[str]) -> None:
        """Remove those of *files*, as `files` returns them, that hold content no row names any more."""
        names = [Path(each).name for each in files if each.startswith(f"{_FILES}/")]
        if names:
            contents = (await self.storage()).contents
            contents.remove(names)
            await contents.removed()

    async def suspend(self) -> None:
        """Stop reading rows and removing files until `resume`: both are about to be replaced."""
        self._going.clear()
        if self._opened is not None:
            await self._opened[0].suspend()

    def resume(self) -> None:
        """Continue with the present rows and files."""
        self._going.set()
        if self._opened is not None:
            self._opened[0].contents.resume()

    async def reset(self) -> None:
        """Delete every bucket and object."""
        await (await self.storage()).reset()

    async def close(self) -> None:
        """Stop the work under way."""
        if self._opened is not None:
            await self._opened[0].close()


def _import() -> None:
    import emulator.oss.buckets
    import emulator.oss.contents
    import emulator.oss.uploads  # noqa: F401 - imported early for `opened`, which must be quick


def _remove_drafts(folder: Path) -> None:
    from emulator.oss.contents import remove_drafts  # rarely needed

    remove_drafts(folder)
