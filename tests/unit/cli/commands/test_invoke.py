"""How a function is named on the command line, and how its result is printed."""

import pytest

from emulator.cli.commands.invoke import Called, path_of, show_called
from emulator.cli.output import WrongUsage


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("hello", "/2023-03-30/functions/hello/invocations"),
        ("hello.online", "/2023-03-30/functions/hello/invocations?qualifier=online"),
        ("fnf-demo/StartJob", "/2016-08-15/services/fnf-demo/functions/StartJob/invocations"),
        ("fnf-demo.online/StartJob", "/2016-08-15/services/fnf-demo.online/functions/StartJob/invocations"),
        ("fnf-demo/StartJob.online", "/2016-08-15/services/fnf-demo.online/functions/StartJob/invocations"),
        ("hello.1", "/2023-03-30/functions/hello/invocations?qualifier=1"),
    ],
)
def test_function_with_and_without_service(written, path):
    """A service chooses the API that knows services."""
    assert path_of(written) == path


@pytest.mark.parametrize("written", ["", "/f", "s/", "a/b/c", "s.1/f.1", "f.", ".1"])
def test_name_that_is_none_is_wrong_usage(written):
    """What cannot be a function is not sent."""
    with pytest.raises(WrongUsage):
        path_of(written)


@pytest.mark.parametrize(
    ("body", "raw", "written"),
    [
        (b'{"a": 1}', False, b'{"a": 1}\n'), (b"line\n", False, b"line\n"), (b"", False, b""),
        (b"\xff\xd8", False, b"\xff\xd8"), (b"a\0b", False, b"a\0b"), (b"text", True, b"text"),
    ],
    ids=["text", "line", "nothing", "bytes", "zero", "raw"],
)  # fmt: skip
def test_text_ends_with_a_newline_in_a_pipe_and_bytes_are_as_they_are(capfdbinary, body, raw, written):
    """What comes next in a pipe begins a line of its own."""
    called = Called(request_id="1", error="", body=body, log="")

    assert show_called(called, with_log=False, raw=raw) == 0

    assert capfdbinary.readouterr().out == written
