"""Edits of the functions folder are seen by every call that begins after the write has returned."""

import asyncio
import os
import random
import shutil
import sqlite3
from contextlib import closing

import pytest

from emulator.kernel import system
from emulator.kernel.notifications import Notifications
from emulator.services.fc.catalog import following, store, watching
from emulator.services.fc.catalog.watching import Unwatchable
from emulator.storage.database import Database
from tests.unit.fc.catalog.test_loading import SHOP, write
from tests.waiting import until

ANNOUNCED = pytest.mark.skipif(not system.NOTIFICATIONS, reason="this system announces no edits")


@pytest.fixture(params=[pytest.param("announced", marks=ANNOUNCED), "looked"])
def way(request, monkeypatch) -> str:
    """How edits are noticed; nothing but calls look at the files."""
    monkeypatch.setattr(following, "PAUSE_S", 3600)
    if request.param == "looked":
        monkeypatch.setattr(system, "NOTIFICATIONS", False)
    return request.param


async def code(site, function: str = "hello", qualifier: str = "") -> str:
    """Call a 3.0 function and return the code that ran, with everything beside it."""
    query = f"?qualifier={qualifier}" if qualifier else ""
    answer = await site.v3("POST", f"/functions/{function}/invocations{query}", b"")
    assert answer.status == 200, answer.content
    assert "x-fc-error-type" not in answer.headers, answer.content
    folder = site.instances.images[-1].code_dir
    files = [path for path in sorted(folder.rglob("*")) if "versions" not in path.relative_to(folder).parts]
    return "".join(path.read_text() for path in files if path.is_file())


async def state(site, function: str = "hello") -> str:
    """Call a function and return what its instances are told apart by."""
    await code(site, function)
    return site.instances.images[-1].key


async def test_every_edit_gives_another_state(open_site, tmp_path):
    """Files of one size, written within one tick of the clock, in any way: no warm instance outlives its code."""
    root = write(tmp_path / "functions", {"hello/index.py": "0000", "hello/lib/deep/part.py": "0000"})
    chosen = random.Random(25)

    async with open_site(root) as site:
        before = await state(site)
        for number in range(150):
            file = root / "hello" / chosen.choice(["index.py", "lib/deep/part.py"])
            match chosen.randrange(4):
                case 0:
                    file.write_text(f"{number:04}")
                case 1:
                    draft = file.with_name(f".{file.name}.swp")
                    draft.write_text(f"{number:04}")
                    draft.replace(file)
                case 2:
                    file.unlink()
                    file.write_text(f"{number:04}")
                case _:
                    shutil.rmtree(file.parent if file.name == "part.py" else root / "hello" / "lib")
                    (root / "hello/lib/deep").mkdir(parents=True)
                    (root / "hello/lib/deep/part.py").write_text(f"{number:04}")
            after = await state(site)
            assert after != before, f"edit {number} was not seen"
            before = after


async def test_new_and_removed_functions_are_known_to_lists_gets_and_calls(open_site, tmp_path, way):
    """A folder that has just been written is a function, one that has been removed is none, whoever asks first."""
    root = write(tmp_path / "functions", {"hello/index.py": ""})

    async with open_site(root) as site:
        write(root, {"second/index.py": "a", "shop/Order/index.js": "b"})
        called = await code(site, "second")
        write(root, {"third/index.py": "c"})
        listed = [row["functionName"] for row in (await site.v3("GET", "/functions")).body["functions"]]
        got = (await site.v1("GET", "/services/shop/functions/Order")).body["runtime"]
        shutil.rmtree(root / "second")
        shutil.rmtree(root / "shop")
        gone = [
            (await site.v3("POST", "/functions/second/invocations", b"")).code,
            (await site.v1("GET", "/services/shop")).code,
        ]

    assert (called, listed, got) == ("a", ["hello", "second", "third"], "nodejs20")
    assert gone == ["FunctionNotFound", "ServiceNotFound"]


async def test_versions_aliases_and_services_follow_their_files(open_site, tmp_path, way):
    """A call through an alias that was just moved, to a version that was just written, runs it."""
    root = write(tmp_path / "functions", SHOP)

    async with open_site(root) as site:
        write(root, {"hello/versions/2/index.py": "hello two", "hello/function.yml": "aliases: {live: 2}"})
        aliased = await code(site, "hello", "live")
        write(root, {"hello/versions/2/index.py": "hello TWO"})
        edited = await code(site, "hello", "live")
        write(root, {"shop/service.yml": "description: edited\naliases: {online: '2'}"})
        service = (await site.v1("GET", "/services/shop")).body["description"]
        await site.v1("POST", "/services/shop.online/functions/Order/invocations", b"")

    assert (aliased, edited, service) == ("hello two", "hello TWO", "edited")
    assert (site.instances.images[-1].code_dir).parts[-2:] == ("2", "Order")


async def test_what_is_wrong_with_a_file_is_in_the_answer_of_the_next_call(open_site, tmp_path, way):
    """With file and line; once it is mended the next call runs."""
    root = write(tmp_path / "functions", {"hello/index.py": "code", "hello/function.yml": "timeout: 5"})

    async with open_site(root) as site:
        await code(site)
        write(root, {"hello/function.yml": "handler: index.handler\ntimeout: soon\n"})
        broken = await site.v3("POST", "/functions/hello/invocations", b"")
        write(root, {"hello/function.yml": "timeout: 7"})
        mended = await code(site)

    assert broken.headers["x-fc-error-type"] == "UnhandledInvocationError"
    assert broken.body["errorMessage"].startswith(f"{root / 'hello' / 'function.yml'}:2:1: timeout")
    assert mended == "codetimeout: 7" or mended == "timeout: 7code"


async def test_a_folder_that_is_filled_while_it_is_read_is_read_to_the_end(open_site, tmp_path, way):
    """Folders that are made, filled and renamed at once leave nothing out."""
    root = write(tmp_path / "functions", {"hello/index.py": "i"})

    async with open_site(root) as site:
        for number in range(20):
            new = tmp_path / "elsewhere"
            write(new, {f"a/b/c/{number}.py": str(number)})
            new.rename(root / "hello" / f"lib{number}")
            assert str(number) in await code(site)
            before = await state(site)
            write(root, {f"hello/lib{number}/a/b/c/{number}.py": str(number + 100)})
            assert await state(site) != before


async def test_what_links_lead_to_belongs_to_the_function(open_site, tmp_path, way):
    """Edits behind a link to a folder or a file, within the functions folder, and of the link itself."""
    root = write(
        tmp_path / "functions",
        {
            "hello/index.py": "",
            "common/lib/a.py": "1",
            "common/lib/b.py": "2",
            "common/service.yml": "",
            "o/index.py": "",
        },
    )
    (root / "hello" / "lib").symlink_to("../common/lib")
    (root / "o" / "one.py").symlink_to("../common/lib/a.py")

    async with open_site(root) as site:
        states = [await state(site)]
        (root / "common/lib/a.py").write_text("11")
        states.append(await state(site))
        (root / "hello" / "lib").unlink()
        states.append(await state(site))
        (root / "hello" / "lib").symlink_to("../common")
        states.append(await state(site))
        others = [await state(site, "o")]
        (root / "common/lib/a.py").write_text("111")
        others.append(await state(site, "o"))

    assert len(set(states)) == 4
    assert len(set(others)) == 2


async def test_the_functions_folder_itself_may_come_go_and_be_another(open_site, tmp_path, way):
    """It is made after the start, renamed away, put back, and swapped behind a link."""
    root = tmp_path / "not" / "yet" / "functions"

    async with open_site(root) as site:
        write(root, {"hello/index.py": "first"})
        first = await code(site)
        (tmp_path / "not").rename(tmp_path / "gone")
        gone = (await site.v3("POST", "/functions/hello/invocations", b"")).code
        write(tmp_path / "one" / "functions", {"hello/index.py": "one"})
        write(tmp_path / "two" / "functions", {"hello/index.py": "two"})
        (tmp_path / "not").mkdir()
        (tmp_path / "not" / "yet").symlink_to(tmp_path / "one")
        one = await code(site)
        (tmp_path / "link").symlink_to(tmp_path / "two")
        (tmp_path / "link").replace(tmp_path / "not" / "yet")
        two = await code(site)

    assert (first, gone, one, two) == ("first", "FunctionNotFound", "one", "two")


@ANNOUNCED
async def test_installed_modules_count_where_edits_are_announced(open_site, tmp_path):
    """A line written into an installed module is an edit too; caches and hidden files are none."""
    root = write(tmp_path / "functions", {"hello/index.js": "", "hello/node_modules/@a/b/lib/c.js": "1"})

    async with open_site(root) as site:
        before = await state(site)
        write(root, {"hello/node_modules/@a/b/lib/c.js": "2"})
        after = await state(site)
        write(root, {"hello/__pycache__/x.pyc": "", "hello/.git/HEAD": "", "hello/.index.js.swp": ""})
        again = await state(site)

    assert before != after == again


@ANNOUNCED
async def test_more_edits_than_the_kernel_keeps_lose_none(open_site, tmp_path, monkeypatch):
    """When announcements were dropped everything is read, and what was written counts as edited."""
    root = write(tmp_path / "functions", {"hello/index.py": "1"})
    take = Notifications.take

    async with open_site(root) as site:
        before = await state(site)
        monkeypatch.setattr(Notifications, "take", lambda self: take(self) and None)
        write(root, {"hello/index.py": "2"})
        after = await state(site)

    assert before != after


@ANNOUNCED
@pytest.mark.parametrize("left", [0, 1, 4, 9])
async def test_when_no_more_folders_can_be_watched_calls_look_at_the_files(open_site, tmp_path, monkeypatch, left):
    """The kernel's limit, reached at the start or later, costs speed and no edit."""
    monkeypatch.setattr(following, "PAUSE_S", 3600)
    root = write(tmp_path / "functions", SHOP)
    watch, watched = Notifications.watch, []

    def limited(self, folder: str, mask: int) -> int:
        watched.append(folder)
        if len(watched) > left + len(tmp_path.parts):
            raise OSError(28, os.strerror(28))
        return watch(self, folder, mask)

    monkeypatch.setattr(Notifications, "watch", limited)
    async with open_site(root) as site:
        before = await state(site)
        write(root, {"hello/index.py": "hello edited", "new/index.py": "n"})
        assert await state(site) != before
        assert await code(site, "new") == "n"


def test_a_file_system_that_others_write_to_is_not_relied_upon(tmp_path, monkeypatch):
    """A folder shared with the host of a virtual machine changes without an announcement."""
    monkeypatch.setattr(watching, "_file_system", lambda path: "9p")

    with pytest.raises(Unwatchable, match="9p"):
        watching.Watches(tmp_path)


@ANNOUNCED
async def test_a_call_of_what_was_not_edited_waits_for_nothing(open_site, tmp_path):
    """Whatever the size of the folder: one question to the kernel, and no look."""
    root = write(tmp_path / "functions", {f"f{number}/index.py": "" for number in range(50)})

    async with open_site(root) as site:
        assert site.fc.catch_up() is None
        write(root, {"f7/index.py": "edited"})
        waits = []
        while (waited := site.fc.catch_up()) is not None and len(waits) < 5:
            await asyncio.wait_for(waited, 10)
            waits.append(waited)

    assert 1 <= len(waits) < 5


async def edited(site, root, name: str, text: str) -> None:
    """Edit a function and wait until that has been read, without a call."""
    write(root, {f"{name}/index.py": text})
    while (waited := site.fc.catch_up("", name)) is not None:
        await asyncio.wait_for(waited, 10)
        if not site.fc.edits_announced:
            return


@pytest.mark.parametrize("others", [4, 40])
async def test_an_edit_is_read_and_applied_without_the_other_functions(open_site, tmp_path, monkeypatch, way, others):
    """Their rows are not read; where edits are announced, neither are their folders."""
    names = [f"f{number}" for number in range(others)]
    root = write(tmp_path / "functions", {f"{name}/index.py": "" for name in names})

    async with open_site(root) as site:
        rows, looked, real, scandir = [], [], store._FUNCTIONS.item, os.scandir
        monkeypatch.setattr(store._FUNCTIONS, "item", lambda row: (rows.append(real(row)), rows[-1])[1])
        monkeypatch.setattr(os, "scandir", lambda path: (looked.append(os.path.normpath(path)), scandir(path))[1])
        await edited(site, root, "f3", "edited")
        after = await code(site, "f3")

    assert after == "edited"
    assert {row.name for row in rows} == {"f3"}
    if way == "announced":
        assert {path for path in looked if path.startswith(str(root))} == {str(root / "f3"), str(root / "f3/versions")}


async def test_what_a_failed_commit_has_undone_is_applied_with_the_next_edit(open_site, tmp_path, way):
    """After a rollback the whole folder is compared with the state."""
    root = write(tmp_path / "functions", {"hello/index.py": "", "other/index.py": ""})

    async with open_site(root) as site:
        first = site.fc.store.function(site.tenant, "", "hello").code
        site.fc._database.commit()
        taking = site.fc.follower._changed

        def lose(snapshot):
            taking(snapshot)
            site.fc._database._lost = True  # as after a full disk: SQLite has undone the transaction
            site.fc._database._connection.rollback()

        site.fc.follower._changed = lose
        await edited(site, root, "hello", "edited")
        await asyncio.sleep(0)
        lost = site.fc.store.function(site.tenant, "", "hello").code
        site.fc.follower._changed = taking
        await edited(site, root, "other", "edited")
        healed = site.fc.store.function(site.tenant, "", "hello").code

    assert lost == first
    assert healed != first


async def test_a_trigger_is_tried_again_with_each_edit_until_it_can_be_made(open_site, tmp_path, way):
    """What it lacked, such as an alias, may have come by the API meanwhile."""
    trigger = "triggers: [{name: t, type: timer, qualifier: live, config: {cronExpression: '@every 1h'}}]"
    root = write(tmp_path / "functions", {"hello/index.py": "", "hello/function.yml": trigger, "other/index.py": ""})

    async with open_site(root) as site:
        before = list(site.fc.problems)
        await edited(site, root, "other", "first")
        still = list(site.fc.problems)
        assert (await site.v3("POST", "/functions/hello/versions", {})).status == 200
        alias = {"aliasName": "live", "versionId": "1"}
        assert (await site.v3("POST", "/functions/hello/aliases", alias)).status == 200
        await edited(site, root, "other", "second")
        made = [each.name for each in site.fc.sources.store.some(site.tenant, "", "hello")]

    assert before == still
    assert "is left out" in before[0]
    assert (made, site.fc.problems) == (["t"], [])


async def test_an_edit_that_is_read_while_another_program_holds_the_lock(site_of, tmp_path, way):
    """It is taken once the lock is free, and the call for it waits."""
    root = write(tmp_path / "functions", {"hello/index.py": "a"})
    database = Database(tmp_path / "state.db")
    site = site_of(tmp_path / "state", database)
    await site.fc.start(root)
    database.commit()
    database.lock.set_patience(waits=False)
    with closing(sqlite3.connect(tmp_path / "state.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        write(root, {"second/index.py": "b"})
        called = asyncio.get_running_loop().create_task(code(site, "second"))
        await until(lambda: database.lock.held_elsewhere)
        other.execute("ROLLBACK")

    assert await called == "b"
    await site.fc.close()
    database.close()


async def test_no_edit_is_taken_while_the_tables_are_being_replaced(open_site, tmp_path, way):
    """It would arm triggers again that have just been closed; the service takes it when it goes on."""
    root = write(tmp_path / "functions", {"hello/index.py": "a"})

    async with open_site(root) as site:
        await site.fc.suspend()
        write(root, {"second/index.py": "b"})
        look = site.fc.catch_up()
        await until(lambda: look.done() or site.fc.follower._turn._waiters)
        meanwhile = site.database.read("SELECT name FROM fc_functions").fetchall()
        await site.fc.resume()
        await look

        assert [row[0] for row in meanwhile] == ["hello"]
        assert await code(site, "second") == "b"
