"""The state folder."""

import os
import sqlite3
import stat

import pytest

from emulator.kernel import system
from emulator.storage.folder import FolderInUse, StateFolder


def test_a_second_process_on_the_folder_is_refused_with_the_first_ones_number(tmp_path):
    """Two emulators never write one state; the message names who holds it."""
    with StateFolder(tmp_path / "state"), pytest.raises(FolderInUse) as caught:
        StateFolder(tmp_path / "state")

    assert caught.value.pid == os.getpid()


def test_the_lock_goes_with_its_holder(tmp_path):
    """After a close the folder can be taken again."""
    StateFolder(tmp_path / "state").close()

    with StateFolder(tmp_path / "state") as again:
        assert (again.path / "code").is_dir()


def test_a_folder_where_files_cannot_be_locked_is_held_by_a_database(tmp_path, monkeypatch):
    """A second one is refused; a database that cannot be opened is another problem, and is told as such."""
    monkeypatch.setattr(system, "lock", lambda _: None)
    with StateFolder(tmp_path / "state"), pytest.raises(FolderInUse):
        StateFolder(tmp_path / "state")
    (tmp_path / "other" / "lock.db").mkdir(parents=True)

    with pytest.raises(sqlite3.OperationalError, match="unable to open"):
        StateFolder(tmp_path / "other")


@pytest.mark.skipif(not system.MODES, reason="there are no permissions here")
def test_a_folder_that_was_there_before_keeps_its_content_from_others(tmp_path, caplog):
    """Whatever its own mode; one line says that it is open."""
    folder = tmp_path / "state"
    (folder / "code").mkdir(parents=True)
    for path in (folder, folder / "code"):
        path.chmod(0o755)
    for name in ("state.db", "state.db-wal", "state.db-shm", "keys.json"):
        (folder / name).touch()
        (folder / name).chmod(0o644)

    with StateFolder(folder):
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}

    assert {modes[name] for name in ("code", "logs", "ca")} == {0o700}
    assert {modes[name] for name in ("state.db", "state.db-wal", "state.db-shm", "keys.json", "lock")} == {0o600}
    assert caplog.text.count("is open to other users") == 1
    assert "mode 755" in caplog.text


def test_a_folder_of_ones_own_causes_no_warning(tmp_path, caplog):
    with StateFolder(tmp_path / "state"):
        assert caplog.text == ""
