"""``explore`` leaves the emulator as it was."""

import pytest

from emulator.cli.commands import explore
from emulator.cli.main import parse
from emulator.cli.output import CallRefused, WrongUsage
from emulator.config import Config, Settings


class Client:
    """A client whose user stops the command while it waits for the emulator to settle."""

    def __init__(self):
        self.calls = []

    def admin(self, method, page, content=None):
        self.calls.append((method, page))
        if page == "settle":
            raise KeyboardInterrupt
        if method == "DELETE" and page.endswith("-frozen"):
            raise CallRefused(404, "NotFound", "There is no checkpoint.")
        return {"frozen": False}


@pytest.mark.parametrize("words", [["--order=call,nope"], ["--faults=timeout", "--faults=nope"]], ids=" ".join)
def test_kinds_and_faults_that_do_not_exist_are_wrong_usage(words):
    """No emulator is asked; either option may be given more than once."""
    arguments = parse(["explore", "order", *words])

    with pytest.raises(WrongUsage, match="'nope'"):
        explore.explore(arguments, Settings(config=Config(), origins={}))
    assert explore._list(["call, reply", "push"]) == ["call", "reply", "push"]
    assert explore._list(None) is None


def test_the_clock_goes_on_after_an_early_interruption():
    """The state of before is restored, with its clock."""
    client = Client()

    with pytest.raises(KeyboardInterrupt), explore._explored(client, [], keeps=False):
        pass

    before = client.calls[1][1]
    assert ("POST", f"{before}/restore") in client.calls
    assert client.calls[-1] == ("DELETE", before)
