"""The name in a TLS client's first message."""

import contextlib
import ssl

import pytest

from emulator.http.tls_listener import ServerNames


def hello(name):
    context = ssl.create_default_context()
    context.check_hostname = name is not None
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        (hello("order_page.shop.fc.localhost"), "order_page.shop.fc.localhost"),
        (hello(None), ""),
        (hello("a.fc.localhost")[:-1], None),
        (b"\x16", None),
        (b"\x16\x03\x01" + b"garbage" * 20, ""),
        (hello("a.fc.localhost")[:60] + bytes(20_000), ""),
    ],
    ids=["a name", "none", "not whole", "its first byte", "garbage", "garbage without end"],
)
def test_a_hello_names_a_host(sent, found):
    """Empty when it names none, or is none; None while more of it must come. One after the other is as good."""
    names = ServerNames()

    assert [names.in_hello(sent), names.in_hello(hello("b.localhost")), names.in_hello(sent)] == [
        found, "b.localhost", found
    ]  # fmt: skip
