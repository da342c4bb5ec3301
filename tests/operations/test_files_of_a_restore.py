"""Files that are being removed while a checkpoint brings back the rows that name them: the files are there."""

import asyncio
import threading
from contextlib import contextmanager

from emulator.lab.checkpoints.store import CheckpointStore
from tests.operations.calling import running
from tests.operations.themes import admin, fc, function, oss
from tests.waiting import until

MADE = oss("PUT", "/files"), oss("PUT", "/files/name", b"content")
READ, DELETED = oss("GET", "/files/name"), oss("DELETE", "/files/name")
SAVED, RESTORED = admin("POST", "checkpoints/c"), admin("POST", "checkpoints/c/restore")


async def perform(site, *operations):
    """Make calls one after the other and return the last answer."""
    for operation in operations:
        answer = await site.apart(operation)
        assert answer.status < 300, (operation, answer)
    return answer


@contextmanager
def busy(submit, threads):
    """Keep the threads of a pool from what they are given, until the context ends."""
    go = threading.Event()
    for _ in range(threads):
        submit(go.wait, 20)
    try:
        yield
    finally:
        go.set()


async def standing_still(site):
    """Begin to restore and return the task once everything is being ended."""
    restored = asyncio.get_running_loop().create_task(perform(site, RESTORED))
    await until(lambda: not site.emulator._entrance.loaded.done())
    return restored


async def whole(site, path):
    """Whether all that rows name is there: a checkpoint of now can be made."""
    files = site.emulator.services.files()
    missing = [each for each in files if not (path / "state" / each).is_file()]
    await perform(site, admin("POST", "checkpoints/now"))
    return bool(files) and missing == []


async def test_a_package_whose_removal_was_decided_before(tmp_path):
    """The thread that removes it is busy until the restore has begun."""
    async with running(tmp_path) as site:
        codes = site.emulator.services._functions.codes
        await perform(site, fc("CreateFunction", "POST", "/functions", function("f")), SAVED)
        with busy(codes._thread.submit, 1):
            await perform(site, fc("DeleteFunction", "DELETE", "/functions/f"))
            site.emulator.services._functions.unused_packages._remove_now()
            await until(lambda: codes._thread._work_queue.qsize() > 0)
            restored = await standing_still(site)
        await restored

        assert await whole(site, tmp_path)


async def test_a_package_that_is_sent_again_while_the_old_one_goes(tmp_path, monkeypatch):
    """A function made of the same bytes during a reset waits for its end, and keeps them."""
    async with running(tmp_path) as site:
        made = fc("CreateFunction", "POST", "/functions", function("f"))
        await perform(site, made)
        released, again = site.emulator.services.release, []

        async def release(files):
            again.append(asyncio.ensure_future(site.apart(made)))
            await asyncio.sleep(0)
            await released(files)

        monkeypatch.setattr(site.emulator.services, "release", release)
        await perform(site, admin("POST", "reset"))

        assert [(await each).status for each in again] == [200]
        assert await whole(site, tmp_path)


async def test_an_object_whose_removal_was_decided_before(tmp_path):
    """The threads that remove its bytes are busy until the restore has begun."""
    async with running(tmp_path) as site:
        await perform(site, *MADE, SAVED)
        contents = (await site.emulator.services._objects.storage()).contents
        with busy(contents._threads.submit, 2):
            await perform(site, DELETED)
            restored = await standing_still(site)
        await restored

        assert (await perform(site, READ)).body == b"content"
        assert await whole(site, tmp_path)


async def test_an_object_whose_last_reader_ends_after_the_restore(tmp_path):
    """What was to go with its reader is an object's again."""
    async with running(tmp_path) as site:
        await perform(site, *MADE, SAVED)
        storage = await site.emulator.services._objects.storage()
        [content] = storage.rows.contents()
        stored = (await storage.model()).get("files", "name")
        with storage.contents.hold(stored.pieces):
            await perform(site, DELETED, RESTORED)
        await storage.contents.removed()

        assert storage.contents._path(content).is_file()
        assert await whole(site, tmp_path)


async def test_an_object_that_is_deleted_while_all_stands_still(tmp_path, monkeypatch):
    """A deletion that was let in before the restore ends after it: the row is back, and so are the bytes."""
    async with running(tmp_path) as site:
        await perform(site, *MADE, SAVED)
        storage = await site.emulator.services._objects.storage()
        [content] = storage.rows.contents()
        put_back = CheckpointStore.put_back

        def deleted_meanwhile(store, name, given):
            loop.call_soon_threadsafe(storage.contents.remove, [content])
            put_back(store, name, given)

        loop = asyncio.get_running_loop()
        monkeypatch.setattr(CheckpointStore, "put_back", deleted_meanwhile)
        await perform(site, DELETED, RESTORED)
        await storage.contents.removed()

        assert storage.contents._path(content).is_file()


async def test_an_object_that_is_written_while_all_are_forgotten(tmp_path):
    """Its bytes are on the disk before a row names them, and a reset of object storage removes what rows named."""
    async with running(tmp_path) as site:
        await perform(site, *MADE)
        contents = (await site.emulator.services._objects.storage()).contents
        written = await contents.add(b"on its way")
        await perform(site, admin("POST", "reset", service="oss"))

        assert contents._path(written.piece.content).is_file()
        assert [each.name for each in contents._folder.glob("??/*")] == [written.piece.content]


async def test_a_model_of_rows_that_were_replaced_meanwhile_is_built_anew(tmp_path, monkeypatch):
    """What is forgotten while it is being built does not come to be used."""
    async with running(tmp_path) as site:
        await perform(site, *MADE)
        storage = await site.emulator.services._objects.storage()
        storage._forget()
        built, seen = storage._built, []

        async def slowly():
            model = await built()
            if not seen:
                storage.rows.clear()
                storage._forget()
            seen.append(model)
            return model

        monkeypatch.setattr(storage, "_built", slowly)
        model = await storage.model()

        assert len(seen) == 2
        assert model.bucket("files") is None
