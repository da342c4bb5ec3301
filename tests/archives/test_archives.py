"""Crafted archives: the state is whole after each, whatever was in it; `python3 -m tests.archives` runs many more."""

import pytest

from emulator.testing import Emulator
from tests.archives.crafting import in_tables
from tests.archives.running import Site, run


def test_whatever_comes_in_the_state_is_whole_and_nothing_is_left(tmp_path):
    """Refused with 400, or taken in and usable; the old state comes back either way, over a start too."""
    complaints, ends = run(tmp_path / "state", 40, seed=5)

    assert complaints == []
    assert ends["import 400"] > 10
    assert ends["restore 200"] > 5


@pytest.mark.parametrize(
    ("statement", "column"),
    [
        ("UPDATE workflow_wakeups SET kind = 'alarm'", "workflow_wakeups.kind"),
        ("UPDATE mns_messages SET priority = 17", "mns_messages.priority"),
        ("UPDATE mns_messages SET priority = 0", "mns_messages.priority"),
        ("INSERT INTO mns_tallies SELECT min(id), 17, 1 FROM mns_queues", "mns_tallies.priority"),
    ],
)
def test_what_the_program_does_not_know_is_refused(statement, column, tmp_path):
    """It would raise when somebody asks for it: a timer of no known kind, a priority that no message has."""
    with Emulator(state=tmp_path / "state") as kit:
        site = Site(tmp_path / "state", kit)
        done, archive = in_tables(site.good, tmp_path, lambda _: statement)
        answer = site.call("PUT", "crafted/archive", archive)

    assert "error" not in done
    assert answer.status_code == 400
    assert column in answer.text
