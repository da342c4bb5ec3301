"""State folders of earlier versions are opened by this one with everything still there.

The emulator's time is that of the folder: what waits, is kept for days or ends goes on where it was.
"""

import io
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import zipfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from emulator.kernel.clock import SystemClock
from emulator.storage.database import Database
from emulator.storage.migration import Schema, StateTooNew, migrate
from emulator.testing import Emulator, TestingError
from tests.unpacking import unpack
from tests.upgrade.content import World
from tests.upgrade.make import DEADLINE_S, STATES, start

KEPT = sorted(STATES.glob("*.zip"))
MOVED = {"workflow_events": "workflow_turns"}
"""Tables that are gone, and where each of their rows is now."""
CHANGING = {"fc_async_calls", "fc_task_events", "mns_deliveries", "mns_publications", "sts_keys", "fc_capacity"}
"""Tables whose rows go on living while the emulator runs: they are there, and need not be the same."""

NO_LONGER_SHOWN = ("/async-invoke-config/maxAsyncEventAgeInSeconds", "/diskSize")
"""Earlier versions answered the default here when nobody had set it; FC 2.0 answers nothing now, 3.0 the default."""

WRITTEN_OTHERWISE = re.compile(r"/(?:FlowVersions/\d+/CreatedTime|Alias/CreatedTime|map run/(?:Started|Stopped)Time)$")
"""Times that the first version wrote in UTC with milliseconds, and that have whole seconds and an offset now."""

DATES_MS = 2_000
"""Dates in an archive are of two seconds."""


@pytest.fixture(params=KEPT, ids=lambda path: path.stem)
def earlier(request, tmp_path):
    """A state folder of an earlier version, the answers of its API, and how long ago it was made in milliseconds."""
    state = tmp_path / "state"
    with zipfile.ZipFile(request.param) as archive:
        archive.extractall(state)
        made_at = datetime(*archive.getinfo("answers.json").date_time, tzinfo=UTC)
    state.chmod(0o700)
    answers = json.loads((state / "answers.json").read_text())
    (state / "answers.json").unlink()
    return state, answers, int(made_at.timestamp() * 1000) + DATES_MS - SystemClock().now()


def rows(path):
    """Return the rows of each table as dictionaries."""
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: [dict(row) for row in database.execute(f"SELECT * FROM {name}")]
            for name in names
            if not name.startswith("sqlite_")
        }


def test_api_answers_as_the_earlier_version_did(earlier):
    """Everything that was made then is read back through the public API, field by field; no table has lost a row."""
    state, before, ago_ms = earlier
    kept = rows(state / "state.db")

    process, client = start(sys.executable, state, ago_ms)
    try:
        after = World(client).answers()
    finally:
        process.terminate()
        process.wait(DEADLINE_S)

    assert [each for each in missing(before, after) if not is_meant(*each)] == []
    left = rows(state / "state.db")
    fewer = {name for name, found in kept.items() if len(left.get(MOVED.get(name, name), ())) < len(found)}
    assert fewer <= CHANGING


def archive_of(state, keys, **changes):
    """Return the archive that the earlier version would have exported, with *changes* to its description."""
    with closing(sqlite3.connect(state / "state.db")) as tables:
        schema = dict(tables.execute("SELECT service, version FROM schema_versions").fetchall())
    about = {
        "form": 1, "name": "earlier", "created_at": 0, "now": 0, "version": "0.1", "account": keys["accountId"],
        "region": keys["region"], "size": (state / "state.db").stat().st_size, "schema": schema, **changes,
    }  # fmt: skip
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        described = tarfile.TarInfo("checkpoint.json")
        described.size = len(json.dumps(about))
        tar.addfile(described, io.BytesIO(json.dumps(about).encode()))
        tar.add(state / "state.db", "state.db")
        for file in [*(state / "code").glob("*.zip"), *(state / "objects").glob("??/*")]:
            tar.add(file, f"files/{file.relative_to(state).as_posix()}")
    return packed.getvalue()


def test_a_checkpoint_of_the_earlier_version_is_restored(earlier, tmp_path):
    """Its tables are brought to this version's form; the API answers as the earlier one did."""
    state, before, ago_ms = earlier
    keys = json.loads((state / "keys.json").read_text())
    new = tmp_path / "new"
    new.mkdir(mode=0o700)
    shutil.copy(state / "keys.json", new)

    process, client = start(sys.executable, new, ago_ms)
    try:
        client.admin_put("checkpoints/earlier/archive", archive_of(state, keys), offset="0", last="true")
        client.admin("POST", "checkpoints/earlier/restore")
        after = World(client).answers()
    finally:
        process.terminate()
        process.wait(DEADLINE_S)

    assert [each for each in missing(before, after) if not is_meant(*each)] == []


@pytest.mark.parametrize("newer", ["tables", "form"])
def test_a_checkpoint_of_a_newer_version_is_refused(newer, tmp_path):
    """It says of which; what there is stays."""
    with Emulator(state=tmp_path) as kit:
        kit.queue("stays")
        kit.checkpoint("now")
        archive = tmp_path / "now.tar"
        kit.command("checkpoint", "export", "now", str(archive))
        with tarfile.open(archive) as tar:
            unpack(tar, tmp_path / "parts")
        about = json.loads((tmp_path / "parts" / "checkpoint.json").read_text())
        with closing(sqlite3.connect(tmp_path / "parts" / "state.db", isolation_level=None)) as tables:
            tables.execute("UPDATE schema_versions SET version = version + (? = 'tables')", (newer,))
        changes = {"version": "99.0"} if newer == "tables" else {"version": "99.0", "form": 2}
        (tmp_path / "later.tar").write_bytes(
            archive_of(tmp_path / "parts", {"accountId": about["account"], "region": about["region"]}, **changes)
        )

        with pytest.raises(TestingError, match=r"localyun 99\.0|newer version, 99\.0"):
            kit.command("checkpoint", "import", str(tmp_path / "later.tar"))

        assert kit.queue("stays").counters["active"] == 0


def is_meant(path, before, after):
    """Whether a difference is one that was made on purpose."""
    if WRITTEN_OTHERWISE.search(path) is None:
        return path.endswith(NO_LONGER_SHOWN)
    return datetime.fromisoformat(before).replace(microsecond=0) == datetime.fromisoformat(after)


def missing(before, after, path=""):
    """Return where *after* lacks or changes what *before* has; what one adds or leaves empty is no difference."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [each for key, value in before.items() for each in missing(value, after.get(key), f"{path}/{key}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [
            each
            for number, pair in enumerate(zip(before, after, strict=True))
            for each in missing(*pair, f"{path}/{number}")
        ]
    return [] if before == after or before in ("", None, {}) else [(path, before, after)]


def test_file_of_a_newer_version_is_refused_and_left_whole(tmp_path):
    """The program says what is newer, and does not touch the file."""
    state = tmp_path / "state"
    with zipfile.ZipFile(KEPT[-1]) as archive:
        archive.extractall(state)
    with closing(sqlite3.connect(state / "state.db")) as database:
        database.execute("UPDATE schema_versions SET version = 999 WHERE service = 'mns'")
        database.commit()
    before = rows(state / "state.db")

    done = subprocess.run(
        [sys.executable, "-m", "emulator", "start", "--port", "0", "--https-port", "0", "--state", str(state)],
        capture_output=True, text=True, timeout=DEADLINE_S, cwd=tmp_path, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert "newer" in done.stderr
    assert rows(state / "state.db") == before


@pytest.fixture
def schema(tmp_path):
    """A service whose second step fails half way through."""
    folder = tmp_path / "schema"
    folder.mkdir()
    (folder / "0001_initial.sql").write_text("CREATE TABLE things (name TEXT);\n")
    return Schema("things", folder)


def test_failed_migration_leaves_the_old_file_whole(tmp_path, schema):
    """The step is undone as a whole; the earlier program still opens the file."""
    path = tmp_path / "state.db"
    database = Database(path)
    migrate(database, [schema])
    database.write("INSERT INTO things VALUES ('kept')")
    database.close()
    before = rows(path)
    shutil.copytree(schema.folder, tmp_path / "newer")
    (tmp_path / "newer" / "0002_broken.sql").write_text(
        "ALTER TABLE things ADD COLUMN colour TEXT;\nDELETE FROM things;\nINSERT INTO nowhere VALUES (1);\n"
    )

    database = Database(path)
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrate(database, [Schema("things", tmp_path / "newer")])
    database.close()

    assert rows(path) == before
    again = Database(path)
    migrate(again, [schema])
    again.close()


def test_newer_step_is_refused_by_the_migration(tmp_path, schema):
    """The file knows a step that this program does not have."""
    database = Database(tmp_path / "state.db")
    migrate(database, [schema])
    database.write("UPDATE schema_versions SET version = 2")
    database.commit()

    with pytest.raises(StateTooNew, match="newer"):
        migrate(database, [schema])
    database.close()


UNFILLED = {
    "workflow_calls", "workflow_callbacks", "mns_outbox", "mns_tallies", "mns_deleted_queues",
    "mns_deleted_subscriptions",
}  # fmt: skip
"""Tables of work in progress, whose rows are gone when what they are about has been done."""


def test_newest_file_has_rows_in_every_table(tmp_path):
    """Nothing that is kept is left out of what the next version has to read."""
    with zipfile.ZipFile(KEPT[-1]) as archive:
        archive.extract("state.db", tmp_path)

    empty = {name for name, found in rows(tmp_path / "state.db").items() if not found}

    assert empty <= UNFILLED


def test_newest_file_has_the_form_of_this_version(tmp_path):
    """A step is added to a schema together with a file that has it (``python -m tests.upgrade.make NAME``)."""
    with zipfile.ZipFile(KEPT[-1]) as archive:
        archive.extract("state.db", tmp_path)
    with closing(sqlite3.connect(tmp_path / "state.db")) as database:
        kept = dict(database.execute("SELECT service, version FROM schema_versions").fetchall())
    steps = list((Path(__file__).parents[2] / "emulator").rglob("schema/[0-9]*.sql"))

    newest = {path.parent.parent.name: 0 for path in steps}
    for path in steps:
        newest[path.parent.parent.name] = max(newest[path.parent.parent.name], int(path.name.partition("_")[0]))

    assert kept == newest


def test_there_is_a_file_of_each_kept_version():
    """The program's own predecessors, by name; later versions are added here."""
    assert [path.stem for path in KEPT] == [
        "0.1-first",
        "0.1-ordered",
        "0.1-whole",
        "0.1-with-maps",
        "0.1-with-restarts",
        "0.1-with-turns",
        "0.1-with-vpcs",
        "0.1-with-workloads",
        "0.1-with-written-usage",
        "0.1-written-with-choices",
        "0.1-written-with-lookups",
        "0.1-written-with-pages",
        "0.1-written-with-versions",
        "0.1-written-without-numbers",
        "1.0.0",
    ]
    assert Path(KEPT[0]).stat().st_size < 200_000
