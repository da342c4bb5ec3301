"""The page of messages, without a server."""

from types import SimpleNamespace

import pytest

from emulator.console.pages import lives
from emulator.kernel.paging import Page


@pytest.mark.parametrize(
    ("status", "failed", "what"),
    [("succeeded", False, "arrived"), ("failed", True, "function raised"), ("", False, "under way")],
)
def test_a_call_of_an_earlier_run_has_ended_as_the_log_says(monkeypatch, status, failed, what):
    """Recorded calls are gone after a restart; the log of effects is kept."""
    view = SimpleNamespace(
        call=lambda act, *values: act(*values), bench=SimpleNamespace(calls=[]), clock=lambda: {"next": []}
    )
    monkeypatch.setattr(lives, "view", lambda: view)
    call = {"kind": "call", "id": "1", "name": "pack", "status": status, "failed": failed, "children": []}

    reasons = list(lives._Present()._called({"kind": "message", "id": "m", "children": [call]}))

    assert [each.what for each in reasons] == [what]


@pytest.mark.parametrize(
    ("off", "shown", "read"),
    [(lambda number: True, 30, 100), (lambda number: number % 10 == 0, 30, 300), (lambda number: False, 0, 1_000)],
    ids=["all", "some", "none"],
)
def test_schedules_are_read_until_enough_are_switched_off(monkeypatch, off, shown, read):
    """A page at a time, and no more than a thousand."""
    asked = []

    def every(tenant, limit, marker):
        start = int(marker or 0)
        asked.append(limit)
        some = [
            ("flow", SimpleNamespace(name=f"s{number}", settings=SimpleNamespace(enabled=not off(number))), None)
            for number in range(start, start + limit)
        ]
        return Page(some, str(start + limit))

    workflow = SimpleNamespace(schedules=SimpleNamespace(all=every))
    view = SimpleNamespace(
        tenant=None, workflow=workflow, call=lambda act, *values: act(*values),
        function_admin=SimpleNamespace(idle_triggers=lambda most: []),
    )  # fmt: skip
    monkeypatch.setattr(lives, "view", lambda: view)

    rows = lives._switched_off()

    assert len(rows) == shown
    assert sum(asked) == read


@pytest.mark.parametrize(("received", "what"), [(0, "visible"), (2, "visible again")])
def test_a_message_that_was_received_and_came_back_says_so(monkeypatch, received, what):
    """Its consumer has not deleted it in time."""
    view = SimpleNamespace(call=lambda act, *values: [], bench=SimpleNamespace(calls=[]), clock=lambda: {"next": []})
    monkeypatch.setattr(lives, "view", lambda: view)

    reason = lives._Present()._waiting({"State": "active", "Held": False, "DequeueCount": received}, "q")

    assert reason.what == what
