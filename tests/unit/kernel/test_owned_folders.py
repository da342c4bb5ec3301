"""Folders of one owner each, and what becomes of those whose owner is gone."""

import os
import stat

import pytest

from emulator.kernel import system
from emulator.kernel.owned_folders import OwnedFolder, remove, sweep


def mode(folder):
    """Return the permissions of a folder."""
    return stat.S_IMODE(folder.stat().st_mode)


@pytest.mark.skipif(not system.MODES, reason="there are no permissions here")
@pytest.mark.parametrize("there", [True, False])
def test_what_holds_a_removed_folder_stays_as_it_is(tmp_path, there):
    """It is often everybody's ``/tmp``; another emulator may have removed the same folder a moment ago."""
    shared = tmp_path / "shared"
    left = shared / "left"
    (left if there else shared).mkdir(parents=True)
    shared.chmod(0o755)

    remove(left)

    assert not left.exists()
    assert mode(shared) == 0o755


@pytest.mark.skipif(not system.MODES, reason="there are no permissions here")
def test_what_a_function_has_made_unreadable_is_removed(tmp_path):
    """Folders that may not be entered, at any depth; what links lead to stays."""
    left = tmp_path / "left"
    deep = left / "closed" / "deep"
    deep.mkdir(parents=True)
    (deep / "file").write_text("x")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    elsewhere.chmod(0o755)
    (left / "link").symlink_to(elsewhere)
    for each in (deep, left / "closed", left):
        os.chmod(each, 0)  # noqa: PTH101

    remove(left)

    assert not left.exists()
    assert mode(elsewhere) == 0o755


def test_link_to_a_folder_is_not_followed(tmp_path):
    """Neither is what it leads to removed, nor is it looked at again and again."""
    (tmp_path / "kept" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "kept")

    remove(tmp_path / "link")

    assert (tmp_path / "kept" / "inner").is_dir()


@pytest.mark.skipif(not system.LOCKS, reason="nothing is swept where nothing can be locked")
def test_folder_of_a_process_without_locks_is_left_alone(tmp_path, monkeypatch):
    """Nothing shows a process that has locks whether its owner lives."""
    with monkeypatch.context() as other:
        other.setattr(system, "LOCKS", False)
        other.setattr(system, "lock", lambda _: None)
        living = OwnedFolder("localyun-ephemeral-", tmp_path)
    dead = OwnedFolder("localyun-ephemeral-", tmp_path)
    dead._lock.close()

    sweep("localyun-ephemeral-", tmp_path)

    assert list(tmp_path.iterdir()) == [living.folder]
    living.close()
