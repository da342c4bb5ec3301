"""Model, rows and bytes stay in step, whatever goes wrong."""

import asyncio
import sqlite3
from collections import Counter
from contextlib import asynccontextmanager

import pytest

from emulator.kernel.clock import Millis
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.kernel.ids import CountingIds
from emulator.oss import objects, uploads
from emulator.oss.errors import OssError
from emulator.oss.model import Attributes, Caller, Conditions, Place, Put, Span
from emulator.oss.service import SCHEMA, LazyStorage
from emulator.storage.database import CommitFailed, Database
from emulator.storage.migration import migrate

pytest.importorskip("moto.s3.models")

PLAIN = Put(attributes=Attributes(headers={"Content-Type": "text/plain"}, metadata={"k": "v"}, tags={}))


def caller(now=1_000, region="", account="1"):
    return Caller(
        account=AccountId(account), region=region, principal="p", request_id=f"R{now}", source_ip="::1", now=Millis(now)
    )  # fmt: skip


class Noting:
    """Notes what happens."""

    def __init__(self):
        self.seen = []
        self.failure = None

    def changed(self, tenant, change):
        if self.failure is not None:
            raise self.failure
        self.seen.append((tenant.region, change.event, change.key, change.size, change.size_before))


class Site:
    """A store on disk that can be opened again."""

    def __init__(self, folder):
        self.folder = folder
        self.noting = Noting()

    @asynccontextmanager
    async def open(self):
        database = Database(self.folder / "state.db")
        try:
            migrate(database, [SCHEMA])
            lazy = LazyStorage(database, self.folder / "objects", CountingIds(), home=Region("cn-home"), sync=True)
            lazy.connect(self.noting)
            self.database = database
            self.storage = await lazy.storage()
            yield self
            await lazy.close()
        finally:
            database.close()

    def files(self):
        return sorted(file.name for file in (self.folder / "objects").rglob("*") if file.is_file())


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


async def keys(site):
    """Return the names of the bucket's objects, which rows and model agree on."""
    model, _ = await site.storage.bucket(caller(), "bucket")
    names = [each.key for each in site.storage.rows.listed("bucket", "", 1000)]
    assert model.totals("bucket")()[1] == len(names)
    assert all(model.get("bucket", name) is not None for name in names)
    return names


async def filled(site):
    await site.storage.create_bucket(caller(), "bucket", "", "Standard")
    await objects.put(site.storage, caller(), Place("bucket", "a"), b"first", PLAIN)


async def test_a_failed_commit_leaves_nothing_behind(site):
    """The caller is told, the object is what it was, and the bytes of the new one go."""
    async with site.open():
        await filled(site)

        def lose(tenant, change):
            site.database._lost = True  # as after a full disk: SQLite has undone the transaction

        told, site.noting.changed = site.noting.changed, lose
        with pytest.raises(CommitFailed):
            await objects.put(site.storage, caller(), Place("bucket", "a"), b"second", PLAIN)
        site.noting.changed = told
        stored = await objects.get(site.storage, caller(), Place("bucket", "a"))
        assert await site.storage.contents.read(stored.pieces) == b"first"
    assert len(site.files()) == 1


async def test_a_watcher_that_fails_lets_nothing_happen(site):
    """What cannot be told is not done."""
    async with site.open():
        await filled(site)
        site.noting.failure = sqlite3.OperationalError("disk full")
        with pytest.raises(sqlite3.OperationalError):
            await objects.put(site.storage, caller(), Place("bucket", "b"), b"x", PLAIN)
        site.noting.failure = None
        assert await keys(site) == ["a"]


async def test_settings_are_there_after_a_start_and_go_with_the_bucket(site):
    """As rows of their bucket."""
    async with site.open():
        bucket = await site.storage.create_bucket(caller(), "bucket", "", "Standard")
        await site.storage.put_setting(bucket, "cors", b"<CORSConfiguration/>")

    async with site.open():
        kept = site.storage.rows.setting("bucket", "cors")
        await site.storage.delete_bucket(caller(), "bucket")
        left = site.storage.rows.setting("bucket", "cors")

    assert (kept, left) == (b"<CORSConfiguration/>", None)


async def test_all_is_there_after_a_start(site):
    """Objects, their attributes, uploads and parts; what nothing needs any more has gone from disk."""
    async with site.open():
        await filled(site)
        await objects.put(site.storage, caller(2_000), Place("bucket", "a"), b"replaced", PLAIN)
        upload = await uploads.start(site.storage, caller(), Place("bucket", "m"), PLAIN.attributes, may_replace=True)
        model, _ = await site.storage.bucket(caller(), "bucket")
        assert model.upload("bucket", upload.id).key == "m"
        stray = site.folder / "objects" / "ff" / "ff00"
        stray.parent.mkdir(parents=True)
        stray.write_bytes(b"left by a crash")

    async with site.open():
        stored = await objects.get(site.storage, caller(), Place("bucket", "a"))
        model, _ = await site.storage.bucket(caller(), "bucket")
        under_way = model.upload("bucket", upload.id)
        content = await site.storage.contents.read(stored.pieces)

    assert (content, under_way) == (b"replaced", upload)
    assert (stored.attributes, stored.modified_at) == (PLAIN.attributes, 2_000)
    assert len(site.files()) == 1


async def test_copies_share_bytes_until_the_last_goes(site):
    """One file for a thousand copies."""
    async with site.open():
        await filled(site)
        for number in range(3):
            await objects.copy(
                site.storage,
                caller(),
                Place("bucket", "a"),
                Place("bucket", f"c{number}"),
                Conditions(),
                PLAIN,
                own=set(),
            )
        counts = [len(site.files())]
        await objects.delete(site.storage, caller(), "bucket", ["a", "c0"], "ObjectRemoved:DeleteObjects")
        stored = await objects.get(site.storage, caller(), Place("bucket", "c2"))
        content = await site.storage.contents.read(stored.pieces)
        await objects.delete(site.storage, caller(), "bucket", ["c1", "c2"], "ObjectRemoved:DeleteObjects")

    assert (counts, content) == ([1], b"first")
    assert site.files() == []


async def test_an_object_that_is_read_stays_until_the_end(site):
    """A stream goes on though the object has been removed; then its file goes."""
    async with site.open():
        await filled(site)
        data = bytes(range(256)) * 4096
        stored = await objects.put(site.storage, caller(), Place("bucket", "big"), data, PLAIN)
        stream = site.storage.contents.stream(stored.pieces, Span(0, stored.size))
        first = await anext(stream)
        await objects.delete(site.storage, caller(), "bucket", ["big"], "ObjectRemoved:DeleteObject")
        rest = [piece async for piece in stream]
        assert first + b"".join(rest) == data
    assert len(site.files()) == 1


async def test_what_happened_is_told_with_sizes(site):
    """Each change once, with what was there before; names of nothing tell nothing."""
    async with site.open():
        await filled(site)
        await objects.put(site.storage, caller(), Place("bucket", "a"), b"123", PLAIN)
        await objects.delete(site.storage, caller(), "bucket", ["a", "nothing"], "ObjectRemoved:DeleteObjects")

    assert site.noting.seen == [
        ("cn-home", "ObjectCreated:PutObject", "a", 5, 0),
        ("cn-home", "ObjectCreated:PutObject", "a", 3, 5),
        ("cn-home", "ObjectRemoved:DeleteObjects", "a", 0, 3),
    ]


async def test_buckets_belong_to_an_account_and_a_region(site):
    """A loopback caller reaches all of its own; a host name of another region, and another account, do not."""
    async with site.open():
        await site.storage.create_bucket(caller(region="cn-far"), "far", "", "Standard")
        await site.storage.bucket(caller(), "far")
        await site.storage.bucket(caller(region="cn-far"), "far")
        for refused, error in (
            (caller(region="cn-near"), "AccessDenied: The bucket you are attempting"),
            (caller(account="2"), "AccessDenied: The bucket you access"),
        ):
            with pytest.raises(OssError, match=error):
                await site.storage.bucket(refused, "far")
        for refused in (caller(region="cn-near"), caller(account="2")):
            with pytest.raises(OssError, match=r"^BucketAlreadyExists:"):
                await site.storage.create_bucket(refused, "far", "", "Standard")
        with pytest.raises(OssError, match=r"^NoSuchBucket:"):
            await site.storage.bucket(caller(), "near")


async def test_two_stores_of_one_process_do_not_meet(tmp_path):
    """moto's registry of bucket names belongs to the process; ours do not stand in it."""
    sites = [Site(tmp_path / name) for name in ("one", "two")]

    for site in sites:
        site.folder.mkdir()
    async with sites[0].open(), sites[1].open():
        for site in sites:
            await filled(site)
        await objects.delete(sites[0].storage, caller(), "bucket", ["a"], "ObjectRemoved:DeleteObject")
        with pytest.raises(OssError, match=r"^NoSuchKey:"):
            await objects.get(sites[0].storage, caller(), Place("bucket", "a"))
        await objects.get(sites[1].storage, caller(), Place("bucket", "a"))


async def test_reset_forgets_all(site):
    """Rows, model and files."""
    async with site.open():
        await filled(site)
        await site.storage.reset()
        assert await site.storage.buckets(caller()) == []
    assert site.files() == []


async def test_calls_at_the_same_time_change_one_thing_after_the_other(site):
    """Fifty writers of three names leave three objects, each whole, and no file too many."""
    async with site.open():
        await site.storage.create_bucket(caller(), "bucket", "", "Standard")
        await asyncio.gather(
            *(
                objects.put(site.storage, caller(), Place("bucket", f"k{n % 3}"), b"%d" % n * 99, PLAIN)
                for n in range(50)
            )
        )
        contents = []
        for key in await keys(site):
            stored = await objects.get(site.storage, caller(), Place("bucket", key))
            contents.append(await site.storage.contents.read(stored.pieces))

    assert [len(Counter(text)) <= 2 for text in contents] == [True] * 3
    assert len(site.files()) == 3


async def test_buckets_and_objects_are_listed_without_the_model(site):
    """In pages by name; another account sees none of them."""
    async with site.open():
        await filled(site)
        await objects.put(site.storage, caller(), Place("bucket", "b"), b"second", PLAIN)
        lazy = LazyStorage(site.database, site.folder / "other", CountingIds(), home=Region("cn-home"), sync=True)
        own, other = (Tenant(AccountId(account), Region("cn-home")) for account in ("1", "2"))

        assert [each.name for each in lazy.buckets(own, "", 9).items] == ["bucket"]
        assert [(each.key, each.size) for each in lazy.listed(own, "bucket", "", 1)] == [("a", 5)]
        assert [each.key for each in lazy.listed(own, "bucket", "a", 9)] == ["b"]
        assert (lazy.buckets(other, "", 9).items, lazy.listed(other, "bucket", "", 9)) == ([], [])
