"""The message service's XML and texts."""

import contextlib

from emulator.kernel.errors import ServiceError
from emulator.services.mns import codec as wire
from emulator.services.mns.errors import MnsError
from emulator.services.mns.operations import topics as topic_operations
from emulator.services.mns.queues import codec as message_wire
from emulator.services.mns.queues import visibility as receipts
from emulator.services.mns.queues.model import QUEUE, AccountAttributes
from emulator.services.mns.topics.model import SUBSCRIPTION, TOPIC, read_endpoint
from emulator.wire.xml import Element, MalformedXml, parse, render


def xml(data: bytes) -> None:
    """What is read can be written and reads back to the same tree."""
    try:
        root = parse(data)
    except MalformedXml:
        return
    _drop_mixed_text(root)
    written = render(root)

    again = parse(written)
    _drop_mixed_text(again)
    assert _shape(again) == _shape(root)


def _drop_mixed_text(element: Element) -> None:
    if element.children:
        element.text = ""
    for child in element.children:
        _drop_mixed_text(child)


def _shape(element: Element) -> tuple:
    return element.name, element.text, [_shape(child) for child in element.children]


def _read_strategy(text: str) -> object:
    return wire.XML.value(SUBSCRIPTION["NotifyStrategy"], text)


_BODIES = (
    message_wire.read_drafts,
    message_wire.read_handles,
    lambda body: wire.read_change(QUEUE, body),
    lambda body: wire.read_change(TOPIC, body),
    topic_operations.read_publish,
    topic_operations.read_subscription,
    lambda body: wire.read_change(SUBSCRIPTION, body, changing=True),
    lambda body: message_wire.read_account(body, AccountAttributes()),
)


def bodies(data: bytes) -> None:
    """Every body is read or refused with an error of the service."""
    for read in _BODIES:
        with contextlib.suppress(MnsError):
            read(data)


def texts(data: bytes) -> None:
    """Receipt handles, markers, endpoints, numbers and queries are read or refused with an error of the service."""
    text = data.decode("utf-8", "surrogateescape")
    for read in (receipts.read_handle, wire.read_marker, read_endpoint, _read_strategy):
        with contextlib.suppress(ServiceError):
            read(text)
    with contextlib.suppress(MnsError):
        wire.read_query_int(text, "x")
    for name, value in wire.read_query(text).items():
        assert isinstance(name, str)
        assert isinstance(value, str)
