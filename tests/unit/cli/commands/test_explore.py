"""``explore`` leaves the emulator as it was, also when somebody breaks it off."""

import pytest

from emulator.cli.commands.explore import _explored


class Interrupted:
    """A client whose user presses Ctrl-C when it calls *page*."""

    def __init__(self, method, page):
        self.at = f"{method} {page}"
        self.calls = []

    def admin(self, method, page, content=None):
        """Record a call, a checkpoint's without its name."""
        call = f"{method} checkpoint" if page.startswith("checkpoints/") else f"{method} {page}"
        self.calls.append(f"{method} restore" if page.endswith("/restore") else call)
        if call == self.at:
            raise KeyboardInterrupt
        return {"frozen": False}


@pytest.mark.parametrize("page", ["clock", "settle"])
def test_what_is_broken_off_before_the_first_run_goes_back_to_the_state_before(page):
    """The clock would stay frozen, and the checkpoints would stay."""
    client = Interrupted("POST", page)

    with pytest.raises(KeyboardInterrupt), _explored(client, [], keeps=False):
        pytest.fail("it begins only then")

    after = client.calls[client.calls.index(f"POST {page}") + 1 :]
    assert after == ["DELETE schedule", "POST restore", "DELETE checkpoint", "DELETE checkpoint"]
