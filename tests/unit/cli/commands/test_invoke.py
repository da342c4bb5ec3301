"""How a function is named on the command line."""

import pytest

from emulator.cli.commands.invoke import path_of
from emulator.cli.output import WrongUsage


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("hello", "/2023-03-30/functions/hello/invocations"),
        ("fnf-demo/StartJob", "/2016-08-15/services/fnf-demo/functions/StartJob/invocations"),
        ("fnf-demo.online/StartJob", "/2016-08-15/services/fnf-demo.online/functions/StartJob/invocations"),
    ],
)
def test_function_with_and_without_service(written, path):
    """A service chooses the API that knows services."""
    assert path_of(written) == path


@pytest.mark.parametrize("written", ["", "/f", "s/", "a/b/c"])
def test_name_that_is_none_is_wrong_usage(written):
    """What cannot be a function is not sent."""
    with pytest.raises(WrongUsage):
        path_of(written)
