"""What a start finds of runs that were killed: finished, put back or removed; what another process uses stays."""

import asyncio
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing

import pytest

from emulator.kernel import system
from emulator.kernel.identity import Region
from emulator.kernel.ids import CountingIds
from emulator.lab.checkpoints.store import CheckpointStore
from emulator.oss.service import LazyStorage
from emulator.storage.database import Database
from emulator.storage.exchange import Exchange, finish_interrupted
from emulator.storage.folder import scratch_folder, sweep_scratch
from emulator.storage.write_lock import StateLocked


def content(path):
    with closing(sqlite3.connect(path)) as tables:
        return [row[0] for row in tables.execute("SELECT n FROM t ORDER BY n")]


@pytest.fixture
def database(tmp_path):
    database = Database(tmp_path / "state.db")
    database.write_script("CREATE TABLE schema_versions (service TEXT, version INTEGER); CREATE TABLE t (n INTEGER)")
    database.write_script("INSERT INTO t VALUES (1)")
    yield database
    database.close()


def other(number):
    tables = sqlite3.connect(":memory:", check_same_thread=False)
    tables.executescript(
        "CREATE TABLE schema_versions (service TEXT, version INTEGER);"
        f"CREATE TABLE t (n INTEGER); INSERT INTO t VALUES ({number})"
    )
    return tables


@pytest.mark.parametrize("ending", ["settle", "undo"])
@pytest.mark.parametrize("place", ["file", "memory"])
async def test_an_exchange_is_settled_or_undone_and_leaves_nothing(tmp_path, database, ending, place):
    """On disk as in memory."""
    if place == "memory":
        database.close()
        database = Database(None)
        database.write_script("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1)")
    exchange = Exchange(database)
    exchange.keep()
    with closing(other(2)) as tables:
        await exchange.replace(tables)
    replaced = database.read("SELECT n FROM t").fetchall()

    exchange.settle() if ending == "settle" else await exchange.undo()

    assert replaced == [(2,)]
    assert database.read("SELECT n FROM t").fetchall() == [(2 if ending == "settle" else 1,)]
    assert not list(tmp_path.glob("state.db.*"))
    database.close()


async def test_what_is_written_during_an_exchange_waits_for_its_end(database):
    """The tables are copied beside the loop, and nothing comes between them."""
    exchange = Exchange(database)
    exchange.keep()
    met = []
    with closing(other(2)) as tables:
        replacing = asyncio.ensure_future(exchange.replace(tables))
        await asyncio.sleep(0)  # it has begun to copy
        with pytest.raises(StateLocked):
            database.write("INSERT INTO t VALUES (3)")
        await database.writable()
        met.append(database.read("SELECT n FROM t").fetchall())
        database.write("INSERT INTO t VALUES (4)")
        await replacing
    exchange.settle()

    assert met == [[(2,)]]
    assert database.read("SELECT n FROM t ORDER BY n").fetchall() == [(2,), (4,)]


@pytest.mark.parametrize("killed", ["before the exchange", "after it"])
async def test_a_start_puts_back_what_an_interrupted_exchange_has_kept(tmp_path, database, killed):
    """Nobody was told that it has happened; the log of the new content does not come back either."""
    exchange = Exchange(database)
    exchange.keep()
    if killed == "after it":
        with closing(other(2)) as tables:
            await exchange.replace(tables)
        database.write_script("INSERT INTO t VALUES (3)")
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for each in tmp_path.glob("state.db*"):  # as a kill leaves them
        (crashed / each.name).write_bytes(each.read_bytes())

    finish_interrupted(crashed / "state.db")
    finish_interrupted(crashed / "state.db")

    assert content(crashed / "state.db") == [1]
    assert sorted(each.name for each in crashed.iterdir()) == ["state.db"]


def test_a_copy_that_is_not_whole_is_dropped(tmp_path, database):
    """It was being written when the machine went down, and nothing had been replaced yet."""
    database.close()
    (tmp_path / "state.db.before").write_bytes(b"SQLite format 3\0" + b"\0" * 5000)
    for suffix in ("", "-journal", "-wal", "-shm"):
        (tmp_path / f"state.db.before.new{suffix}").write_bytes(b"x")

    finish_interrupted(tmp_path / "state.db")

    assert content(tmp_path / "state.db") == [1]
    assert [each.name for each in tmp_path.iterdir() if ".before" in each.name] == []


def test_checkpoints_under_way_are_finished_or_removed(tmp_path):
    """What was accepted takes its place; drafts, archives on their way and the folders of replaced ones go."""
    folder = tmp_path / "checkpoints"
    for name in ("kept", ".new-0", ".new-1/old", ".next-kept", ".next-other"):
        (folder / name).mkdir(parents=True)
        (folder / name / "mark").write_text(name)
    (folder / "kept" / "archive.tar").write_text("of an earlier version")
    (folder / ".upload-x").write_text("half")
    (folder / ".archive-y").write_text("half")
    store = CheckpointStore(folder, tmp_path)

    store.discard(store.set_leftovers_aside())

    assert sorted(each.name for each in folder.iterdir()) == ["kept", "other"]
    assert (folder / "kept" / "mark").read_text() == ".next-kept"
    assert not (folder / "kept" / "archive.tar").exists()
    assert store.set_leftovers_aside() is None


@pytest.mark.skipif(not system.LOCKS, reason="files cannot be locked here")
def test_the_folder_of_a_killed_run_goes_and_that_of_another_stays(tmp_path, monkeypatch):
    """Two emulators that keep nothing may run at once."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = (
        f"import os, tempfile; tempfile.tempdir = {str(tmp_path)!r}\n"
        "from emulator.storage.folder import scratch_folder\n"
        "held = scratch_folder(); folder = held.__enter__(); (folder / 'state').mkdir(); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    left = list(tmp_path.iterdir())

    with scratch_folder() as other_run, scratch_folder() as own:
        sweep_scratch(own)

        assert len(left) == 1
        assert sorted(tmp_path.iterdir()) == sorted([own, other_run])
    assert list(tmp_path.iterdir()) == []


async def test_objects_whose_write_was_broken_off_go(tmp_path):
    """Content that is whole stays; whether anything needs it is found out later."""
    (tmp_path / "ab").mkdir()
    (tmp_path / "ab" / ".new-abcd").write_bytes(b"half")
    (tmp_path / "ab" / "abcd").write_bytes(b"whole")
    database = Database(None)

    await LazyStorage(database, tmp_path, CountingIds(), home=Region("cn-hangzhou"), sync=False).tidy()

    assert [each.name for each in (tmp_path / "ab").iterdir()] == ["abcd"]
    database.close()
