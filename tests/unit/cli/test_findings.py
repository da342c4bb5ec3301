"""What doctor finds of Python, the state folder and the clocks."""

import os
import shutil

import pytest

from emulator.cli import findings
from emulator.config import Config
from emulator.kernel import system
from emulator.kernel.clock import Millis, SystemClock
from emulator.kernel.ids import RandomIds
from emulator.keyfile import load_or_create


def verdicts(findings):
    return [each.verdict for each in findings]


@pytest.fixture
def config(tmp_path):
    """A private state folder with keys."""
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    config = Config(state=state)
    load_or_create(config, RandomIds())
    return config


def test_old_python_is_wrong():
    """The oldest supported one is 3.11."""
    found = list(findings.python((3, 10, 1)))

    assert found[0].verdict == "wrong"
    assert "3.11" in found[0].remedy


def test_missing_package_is_named():
    """A package the emulator needs is not installed."""
    found = next(findings.python(needed=("httptools", "no-such-package")))

    assert found.verdict == "wrong"
    assert "no-such-package" in found.found


def test_usable_state_folder_is_ok(config):
    """Private, with keys and room."""
    assert verdicts(findings.state_folder(config)) == ["ok"]


def test_state_folder_that_is_not_there_is_ok(tmp_path):
    """The first start makes it."""
    assert verdicts(findings.state_folder(Config(state=tmp_path / "a" / "b"))) == ["ok"]


@pytest.mark.skipif(not system.MODES, reason="there are no permissions here")
def test_keys_that_others_can_read_are_wrong(config):
    """The remedy is a command."""
    (config.state / "keys.json").chmod(0o644)

    (found,) = findings.state_folder(config)

    assert found.verdict == "wrong"
    assert found.remedy.startswith("chmod go-rwx")


def test_damaged_keys_and_database_are_told(config):
    """Both are found in one run."""
    (config.state / "keys.json").write_text("{")
    (config.state / "keys.json").chmod(0o600)
    (config.state / "state.db").write_bytes(b"no database" * 100)
    (config.state / "state.db").chmod(0o600)

    found = list(findings.state_folder(config))

    assert verdicts(found) == ["wrong", "wrong"]
    assert "not JSON" in found[0].found
    assert "state.db is damaged" in found[1].found


def test_file_in_the_place_of_the_folder_is_wrong(tmp_path):
    """A state folder is a folder."""
    (tmp_path / "state").write_text("")

    assert verdicts(findings.state_folder(Config(state=tmp_path / "state"))) == ["wrong"]


def test_full_disk_is_wrong(config, monkeypatch):
    """Too little room for a database to grow."""
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 9, 1))

    assert verdicts(findings.state_folder(config)) == ["wrong"]


def test_clock_behind_the_files_is_wrong(config):
    """A clock that was set back, or was never set."""
    ahead = SystemClock().now() // 1000 + 3600
    os.utime(config.state / "keys.json", (ahead, ahead))

    assert verdicts(findings.clocks(config.state, SystemClock().now(), None)) == ["wrong"]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"offset_ms": 0, "frozen": False}, ["ok"]),
        ({"offset_ms": 86_400_000, "frozen": False}, ["note"]),
        ({"offset_ms": 0, "frozen": True}, ["note"]),
    ],
    ids=["in step", "moved", "frozen"],
)
def test_moved_emulator_clock_is_noted(tmp_path, told, expected):
    """Virtual time is meant so, and still explains a lot."""
    now = SystemClock().now()

    found = findings.clocks(tmp_path, now, {**told, "now_ms": now + told["offset_ms"], "now": "-"})

    assert verdicts(found) == expected


def test_a_clock_moved_by_a_day_is_said_to_be(tmp_path):
    """The machine's clock went on by some milliseconds while it was moved."""
    now = SystemClock().now()
    told = {"offset_ms": 86_399_990, "frozen": False, "now_ms": now + 86_399_990, "now": "-"}

    (found,) = findings.clocks(tmp_path, now, told)

    assert "1d ahead of this machine until " in found.found


def test_machines_with_different_clocks_are_wrong(tmp_path):
    """The emulator runs elsewhere, an hour ahead: signatures would be refused."""
    now = SystemClock().now()
    told = {"offset_ms": 0, "frozen": False, "now_ms": Millis(now + 3_600_000), "now": "-"}

    assert verdicts(findings.clocks(tmp_path, now, told)) == ["wrong"]
