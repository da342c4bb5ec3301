"""What ``skip`` says when it has jumped over nothing."""

from types import SimpleNamespace

import pytest

from emulator.cli.commands import lab
from emulator.cli.main import parse

TIMER = {"what": "timer trigger nightly", "resource": "report", "in_ms": 1, "at": "2030-01-01T03:00:00Z"}


@pytest.mark.parametrize(
    ("words", "coming", "said"),
    [
        ([], [], "there is no next event"),
        ([], [TIMER], "only timer triggers and schedules are left"),
        (["--queue", "orders"], [TIMER], "the condition holds already"),
    ],
    ids=["nothing", "a timer", "a condition"],
)
def test_a_skip_over_nothing_says_why(monkeypatch, capsys, words, coming, said):
    """A timer trigger comes again for ever: it is an event, but none to jump to."""
    now = "2030-01-01T00:00:00Z"
    answer = {"jumped": [], "from": now, "now": now, "next": coming}
    monkeypatch.setattr(lab, "connect", lambda settings: SimpleNamespace(admin=lambda *asked: answer))

    lab.skip(parse(["skip", *words]), None)

    assert capsys.readouterr() == (f"{now}\n", f"{said}; the time is still {now}\n")
