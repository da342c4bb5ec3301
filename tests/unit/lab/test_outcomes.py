"""Explorations that were told are kept within bounds, and what is none is refused."""

import pytest

from emulator.kernel.clock import VirtualClock
from emulator.lab import outcomes
from emulator.lab.errors import LabError
from emulator.lab.outcomes import MOST_EXPLORATIONS, Explorations

OUTCOME = {"status": "Succeeded", "output": "{}", "runs": 2, "schedule": "first", "calls": ["a/b succeeded"]}
TOLD = {
    "flow": "f",
    "test": "",
    "definition": "",
    "input": "{}",
    "tried": 2,
    "known": 3,
    "complete": False,
    "outcomes": [OUTCOME],
}


@pytest.fixture
def explorations():
    return Explorations(VirtualClock())


def test_an_exploration_is_shown_as_it_was_told(explorations):
    """What an outcome leaves out is empty."""
    kept = explorations.keep(TOLD, 100)

    shown = explorations.get(kept.id).shown()
    assert shown["outcomes"] == [
        {**OUTCOME, "calls": ("a/b succeeded",), "messages": (), "deviations": (), "steps": (), "events": ()}
    ]
    assert {name: shown[name] for name in ("flow", "tried", "known", "complete")} == {
        "flow": "f", "tried": 2, "known": 3, "complete": False,
    }  # fmt: skip
    assert kept.summary()["outcomes"] == 1


def test_the_oldest_are_forgotten(explorations):
    """When there are more than fit; ids are not given again."""
    ids = [explorations.keep(TOLD, 100).id for _ in range(MOST_EXPLORATIONS + 2)]

    assert [each.id for each in explorations.latest()] == ids[:1:-1]
    with pytest.raises(LabError, match="exploration '1'"):
        explorations.get(ids[0])


def test_large_ones_drive_others_out(explorations, monkeypatch):
    """By their bytes, too."""
    monkeypatch.setattr(outcomes, "MOST_BYTES", 250)
    ids = [explorations.keep(TOLD, 100).id for _ in range(3)]

    assert [each.id for each in explorations.latest()] == ids[:0:-1]


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ([], "empty"),
        (["x"], "is an object"),
        ([{**OUTCOME, "deviations": [{"kind": "order"}]}], "a deviation of an outcome has kind, option and first"),
        ([{**OUTCOME, "runs": "2"}], "runs is a number"),
        ([{**OUTCOME, "status": 7}], "status of an outcome is a text"),
        ([{**OUTCOME, "calls": [7]}], "calls of an outcome is a list of texts"),
        ([{**OUTCOME, "events": ["x"]}], "events of an outcome is a list of objects"),
    ],
)
def test_what_is_no_outcome_is_refused(explorations, told, why):
    """With the reason; nothing is kept."""
    with pytest.raises(LabError, match=why):
        explorations.keep({**TOLD, "outcomes": told}, 100)

    assert explorations.latest() == []


@pytest.mark.parametrize(("flow", "test"), [("", ""), ("f", "t")], ids=["neither", "both"])
def test_it_is_of_a_flow_or_of_a_test(explorations, flow, test):
    """Of one of the two."""
    with pytest.raises(LabError, match="either of a flow or of a test"):
        explorations.keep({**TOLD, "flow": flow, "test": test}, 100)
