"""An emulator as a process of its own, in a state folder that is kept."""

import os
import signal

import pytest

from emulator.testing import process
from emulator.testing.api import TestingError
from tests import kits
from tests.own_pytest import environment

pytestmark = pytest.mark.starts_programs


@pytest.fixture(autouse=True)
def forked(monkeypatch):
    kits.are_forked(monkeypatch)


def test_second_emulator_of_a_folder_leaves_the_first_reachable(tmp_path):
    """It does not start; commands still find the one that runs."""
    first = process.Emulator(state=tmp_path / "state", environment=environment()).start()
    second = process.Emulator(state=tmp_path / "state", environment=environment())
    try:
        recorded = (tmp_path / "state" / "endpoint.json").read_text()
        with pytest.raises(TestingError, match="already running"):
            second.start()

        assert (tmp_path / "state" / "endpoint.json").read_text() == recorded
        assert first.localyun.queue("orders").send("one")
    finally:
        second.stop()
        first.stop()


def test_emulator_after_one_that_was_killed_is_the_one_that_is_called(tmp_path):
    """What the killed one has written of itself is still there."""
    killed = process.Emulator(state=tmp_path / "state", environment=environment()).start()
    os.kill(killed.localyun.api.admin("GET", "status")["pid"], signal.SIGKILL)
    killed.stop()
    before = (tmp_path / "state" / "endpoint.json").read_text()

    with process.Emulator(state=tmp_path / "state", environment=environment()) as localyun:
        localyun.queue("orders").send("one")
        after = (tmp_path / "state" / "endpoint.json").read_text()

    assert after != before
