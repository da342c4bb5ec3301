"""One call: decoded once, and what the gateway adds to it."""

import pytest

from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis
from emulator.wire.request import OperationRequest

FORM = Headers([("Content-Type", "application/x-www-form-urlencoded")])


def test_a_form_that_arrives_after_the_head_is_read_anew():
    """Large requests are judged by their head first, when the form is not there yet."""
    http = Request("POST", "/?Version=1", FORM, b"")
    call = OperationRequest(http, Millis(1))
    early = (call.action, call.version, dict(call.parameters))

    http.body = b"Action=Get&Version=2&Name=n"
    call.body_arrived(Millis(5))

    assert early == ("", "1", {})
    assert (call.now, call.action, call.version, dict(call.parameters)) == (5, "Get", "2", {"Name": "n"})


def test_nobody_is_whose_resources_are_asked_for_before_authentication():
    """A bug of the emulator, not an error of the client."""
    call = OperationRequest(Request("GET", "/", Headers([])), Millis(0))

    with pytest.raises(LookupError):
        call.tenant  # noqa: B018 - the property raises
