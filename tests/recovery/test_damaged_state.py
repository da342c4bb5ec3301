"""A state file that something else has damaged: told at the start, never served, never made worse."""

import os
from pathlib import Path

import pytest

from tests import commands

pytestmark = pytest.mark.recovery

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def state(new_emulator):
    """The state folder of an emulator that has been used and stopped."""
    emulator = new_emulator().start()
    for number in range(40):
        emulator.fc2().create_service(f"service-{number}", description="x" * 200)
    assert emulator.stop() == 0
    return emulator.state


def overwrite(at, content):
    def damage(file):
        with file.open("r+b") as opened:
            opened.seek(at if at >= 0 else file.stat().st_size // 2)
            opened.write(content)

    return damage


def truncate(file):
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size // 3)


DAMAGES = {
    "another file": lambda file: file.write_bytes(b"not a database at all, but long enough to look like one " * 200),
    "garbage header": overwrite(0, b"\xff" * 100),
    "truncated": truncate,
    "garbage in the schema": overwrite(120, b"\xa5" * 3000),
    "garbage page": overwrite(-1, b"\x5a" * 8192),
}


def start(state):
    words = ["start", "--port", "0", "--https-port", "0", "--state", str(state)]
    return commands.run(words, cwd=ROOT, env=dict(os.environ), timeout=60)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_named_and_left_as_it_is(state, damage):
    """The start fails with one sentence on what is wrong and what to do; the file stays for a rescue."""
    file = state / "state.db"
    damage(file)
    before = file.read_bytes()

    ended = start(state)

    assert ended.returncode == 1
    assert f"{file} is damaged" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert file.read_bytes() == before


def test_without_the_damaged_file_a_start_works_with_the_same_keys(state, new_emulator):
    """As the message says."""
    keys = (state / "keys.json").read_text()
    overwrite(0, b"\xff" * 100)(state / "state.db")
    start(state)
    for file in state.glob("state.db*"):
        file.unlink()

    emulator = new_emulator()
    emulator.state = state
    emulator.start()

    assert (state / "keys.json").read_text() == keys
    assert emulator.fc2().list_services().data["services"] == []


@pytest.mark.parametrize("what", ["missing", "empty", "garbage", "torn"])
def test_after_a_kill_a_damaged_log_costs_the_newest_at_most(new_emulator, what):
    """What had been copied into the file before is there, and the emulator works."""
    emulator = new_emulator().start()
    emulator.fc2().create_service("old")
    emulator.stop()
    emulator.start()
    emulator.fc2().create_service("new")
    emulator.kill()
    log = emulator.state / "state.db-wal"
    content = log.read_bytes()
    if what == "missing":
        log.unlink()
    else:
        log.write_bytes({"empty": b"", "garbage": b"\x5a" * len(content), "torn": content[:-100]}[what])

    emulator.start()
    names = {item["serviceName"] for item in emulator.fc2().list_services().data["services"]}
    emulator.fc2().create_service("newest")

    assert "old" in names
    assert names <= {"old", "new"}
