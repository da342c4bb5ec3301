"""Object storage that nothing is loaded of before the first call.

A start pays for none of it: neither for the operations, which this imports in a thread, nor for moto, which
`emulator.oss.storage` imports in one when an operation needs the model.
"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.kernel.identity import Region
from emulator.kernel.ids import Ids
from emulator.storage.database import Database
from emulator.storage.migrations import Schema

if TYPE_CHECKING:
    from emulator.oss.api import ObjectApis
    from emulator.oss.ports import Watcher
    from emulator.oss.storage import ObjectStorage

SCHEMA = Schema("oss", Path(__file__).parent / "schema")

_PUBLIC = ("public-read", "public-read-write")


class LazyStorage:
    """The object store of one emulator.

    *folder* is where content goes, *home* the region of buckets made through a loopback address; with *sync* content
    is on disk before it is acknowledged.
    """

    def __init__(
        self, database: Database, folder: Path, ids: Ids, watcher: "Watcher | None" = None, *, home: Region, sync: bool
    ) -> None:
        self._database = database
        self._folder = folder
        self._ids = ids
        self._watcher = watcher
        self._home = home
        self._sync = sync
        self._opened: tuple[ObjectStorage, ObjectApis] | None = None

    async def apis(self) -> "ObjectApis":
        """Return the operations."""
        return (await self._open())[1]

    async def storage(self) -> "ObjectStorage":
        """Return the store itself."""
        return (await self._open())[0]

    def is_public(self, bucket: str, key: str, *, writing: bool) -> bool:
        """Tell whether somebody without a key may read an object, or make one."""
        from emulator.oss.journal import Journal  # small, and rarely asked for

        try:
            acls = Journal(self._database).acls(bucket, key)
        except UnicodeEncodeError:  # the name is no text; there cannot be such an object
            return False
        if acls is None:
            return False
        of_bucket, of_object = acls
        return (of_bucket if of_object in ("", "default") else of_object) in (_PUBLIC[1:] if writing else _PUBLIC)

    async def reset(self) -> None:
        """Forget every bucket and object."""
        await (await self.storage()).reset()

    async def close(self) -> None:
        """End what was begun."""
        if self._opened is not None:
            await self._opened[0].close()

    async def _open(self) -> "tuple[ObjectStorage, ObjectApis]":
        if self._opened is None:
            await asyncio.to_thread(_import)
        if self._opened is None:  # another call may have come first
            from emulator.oss.api import ObjectApis  # imported by now
            from emulator.oss.contents import Contents
            from emulator.oss.storage import ObjectStorage

            contents = Contents(self._folder, self._ids, sync=self._sync)
            storage = ObjectStorage(self._database, contents, self._ids, self._watcher, home=self._home)
            self._opened = (storage, ObjectApis(storage))
        return self._opened


def _import() -> None:
    import emulator.oss.api
    import emulator.oss.contents  # noqa: F401 - imported for `_open`, which must not take the time
