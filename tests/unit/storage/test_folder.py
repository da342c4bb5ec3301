"""The state folder."""

import os
import stat

import pytest

from emulator.storage.folder import FolderInUse, StateFolder, write_private


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


def test_private_files_are_readable_by_the_owner_only(tmp_path):
    """Keys are written with mode 0600 from the first byte, and replaced as a whole."""
    file = tmp_path / "keys.json"
    write_private(file, b"one")
    write_private(file, b"two")

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_bytes() == b"two"
    assert [entry.name for entry in tmp_path.iterdir()] == ["keys.json"]
