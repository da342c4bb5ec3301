"""The emulator of ``exec --start`` ends with the command, whenever that is."""

import pytest

from emulator.cli import background
from emulator.cli.endpoint import is_alive
from emulator.cli.main import main


@pytest.mark.starts_programs
def test_a_signal_right_after_the_start_leaves_no_emulator(monkeypatch, tmp_path):
    """Nobody has the client yet by which the emulator would be ended."""
    clients = []

    def launched(settings, tie, real=background.launch):
        clients.append(real(settings, tie))
        assert is_alive(clients[0].endpoint.pid)
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(background, "launch", launched)
    main(["exec", "--start", "--", "true"])

    assert not is_alive(clients[0].endpoint.pid)
