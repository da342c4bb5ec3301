"""What emulators of earlier versions left in a state folder when they were killed goes with the next start."""

import pytest

from tests.operations.calling import running
from tests.operations.recording import Operation
from tests.waiting import until

pytestmark = pytest.mark.recovery

DIGEST = "ab" + 62 * "0"

LEFT = (
    "checkpoints/.new-0/state.db",
    "checkpoints/.new-0/files/code/x.zip",
    "checkpoints/.new-17/old/checkpoint.json",
    "checkpoints/.upload-base",
    "checkpoints/.upload-a.b_c-1",
    "checkpoints/.archive-base",
    "code/.new-4711-1/index.py",
    "code/.new-4711-2",
    f"objects/ab/.new-{DIGEST}",
    "state.db.before.new",
    "state.db.before.new-journal",
)
"""As each version has called them, whole states among them; nobody owns any of them: the folder is locked."""

ADVANCE = Operation("admin", "clock", "admin", "", "POST", "/_localyun/clock", {}, {}, {"advance": "31s"}, "json")
"""Unused code goes half a minute after a start."""


async def test_a_start_removes_what_killed_emulators_have_left(tmp_path):
    """Folders of a whole state each add up; what has a name of its own stays."""
    state = tmp_path / "state"
    kept = state / "logs" / "notes.txt"
    for each in (kept, *(state / name for name in LEFT)):
        each.parent.mkdir(parents=True, exist_ok=True)
        each.write_text("left", encoding="ascii")

    async with running(tmp_path) as site:
        answer = await site.whole(ADVANCE)
        await until(lambda: not [name for name in LEFT if (state / name).exists()], 30)

    assert answer.status == 200
    assert kept.exists()
    for folder in ("checkpoints", "code", "objects/ab"):
        assert list((state / folder).iterdir()) == []
