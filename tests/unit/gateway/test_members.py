"""Members of an admin operation's body that it does not have: refused, not left unread."""

import pytest

from emulator.gateway.arguments import arguments_of
from emulator.gateway.errors import GatewayError
from emulator.wire.schema.kinds import argument

TWO = (argument("queue", default=""), argument("flow", default=""))


@pytest.mark.parametrize(
    ("parameters", "document", "message"),
    [
        (TWO, {"queue": "a", "que": "b"}, "the body has no member 'que'; it has queue, flow"),
        (TWO, {"flow": None, "x" * 200: None}, f"the body has no member '{'x' * 79}; it has queue, flow"),
        ((), {"queue": "a"}, "the body has no member 'queue'; it has none"),
    ],
)
def test_unknown_member_is_refused(parameters, document, message):
    """A misspelt one would be ignored, and the default taken; the message has those that there are."""
    with pytest.raises(GatewayError) as refused:
        arguments_of(parameters, {}, document)

    assert refused.value.http_status == 400
    assert message in str(refused.value)


def test_items_of_the_query_may_be_of_other_use():
    """A proxy or browser may add some; those of the body are the caller's."""
    assert arguments_of(TWO, {"flow": "f", "other": "x"}, {}) == {"queue": "", "flow": "f"}
