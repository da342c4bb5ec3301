"""What is asked of the system, and what a system without it gets."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.kernel import system

ROOT = Path(__file__).parents[3]


def constants(without):
    """Return the constants of the module in a process that is told to do without something."""
    program = (
        "import json; from emulator.kernel import system; "
        "print(json.dumps({name: getattr(system, name.upper()) for name in system.NAMES}))"
    )
    environment = os.environ | {system.VARIABLE: without, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.skipif(os.name == "nt", reason="Windows has none of it")
def test_named_abilities_are_missing_when_told_so():
    """One, all, or none."""
    assert set(constants("").values()) == {True}
    assert {name for name, there in constants("fork,locks").items() if not there} == {"fork", "locks"}
    assert set(constants("all").values()) == {False}


@pytest.mark.skipif(not system.LOCKS, reason="files cannot be locked here")
def test_lock_is_taken_once(tmp_path):
    """A second opening of the file does not get it."""
    path = tmp_path / "lock"
    with path.open("wb") as first, path.open("wb") as second:
        assert system.lock(first.fileno()) is True
        assert system.lock(second.fileno()) is False


def test_process_is_running_until_it_has_ended():
    """Neither asking nor the answer disturbs it."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        asked = [system.is_running(process.pid), system.is_running(process.pid)]
        process.communicate(b"\n")

    assert asked == [True, True]
    assert process.returncode == 0
    assert not system.is_running(process.pid)


def test_what_windows_lacks_is_asked_for_in_few_places():
    """Functions and flags that its `os` has not, or that do something else there."""
    risky = re.compile(r"\bos\.(?:O_CLOEXEC|pread|pwrite|getuid|geteuid|fork|setsid|killpg|kill)\b")
    allowed = {
        "emulator/kernel/system.py",
        "emulator/kernel/notifications.py",  # behind NOTIFICATIONS
        "emulator/kernel/owned_folders.py",  # behind LOCKS
        "emulator/kernel/tasks.py",  # behind os.name
        "emulator/redirect/network.py",  # imported with an option that is for Linux only
        "emulator/services/fc/runtime/spawn.py",  # where there are sessions
        "emulator/services/fc/runtime/zygote.py",  # where there is fork
    }

    found = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "emulator").rglob("*.py")
        if "bootstrap" not in path.parts and risky.search(path.read_text(encoding="utf-8"))
    }

    assert found <= allowed


def test_nothing_else_asks_what_system_it_is():
    """Fork, sessions, locks and the like are asked for in one module; what runs inside functions stands alone."""
    asking = re.compile(r'os\.name\b|sys\.platform\b|hasattr\(os, "(?:fork|killpg)"\)|import fcntl')
    found = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "emulator").rglob("*.py")
        if "bootstrap" not in path.parts and asking.search(path.read_text(encoding="utf-8"))
    }

    assert found == {
        "emulator/kernel/system.py",
        "emulator/kernel/tasks.py",  # how asyncio ends a child, not what there is
        "emulator/cli/commands/exec.py",  # which program a console sends Ctrl-C to
        "emulator/redirect/network.py",  # imported with an option that is for Linux only
        "emulator/redirect/compiled_hooks.py",  # an option that is for Linux only
        "emulator/services/fc/runtime/shell.py",  # imported where there are terminals only
    }


def test_every_ability_is_on_the_page_about_systems():
    """With what stands in for it."""
    text = (ROOT / "docs" / "systems.md").read_text(encoding="utf-8")

    assert [name for name in system.NAMES if f"| `{name}` |" not in text] == []


def test_private_files_are_readable_by_the_owner_only(tmp_path):
    """Keys are written with mode 0600 from the first byte, and replaced as a whole."""
    file = tmp_path / "keys.json"
    system.write_private(file, b"one")
    system.write_private(file, b"two")

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_bytes() == b"two"
    assert [entry.name for entry in tmp_path.iterdir()] == ["keys.json"]


def test_processes_that_write_one_file_at_a_time_do_not_meet(tmp_path, monkeypatch):
    """As commands that start together do with the bundle of certificates; the last one's stays."""
    file = tmp_path / "bundle.pem"
    with system.drafted(file) as draft:
        draft.write_bytes(b"half")
        with monkeypatch.context() as other:
            other.setattr(os, "getpid", lambda: 1)
            system.write_private(file, b"other")
        assert file.read_bytes() == b"other"
        draft.write_bytes(b"whole")

    assert file.read_bytes() == b"whole"
    assert list(tmp_path.iterdir()) == [file]


def test_draft_that_fails_leaves_nothing(tmp_path):
    """What was there stays."""
    file = tmp_path / "bundle.pem"
    file.write_bytes(b"before")

    with pytest.raises(OSError, match="full"), system.drafted(file) as draft:
        draft.write_bytes(b"half")
        raise OSError("the disk is full")

    assert file.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [file]
