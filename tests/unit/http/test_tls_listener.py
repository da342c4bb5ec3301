"""A TLS client's first message."""

import asyncio
import contextlib
import socket
import ssl

import pytest

from emulator.http import tls_listener
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


@pytest.mark.skipif(not tls_listener._END, reason="this system tells no end behind a part of a message")
async def test_a_client_that_ends_within_its_hello_is_not_waited_for(monkeypatch):
    """The rest can no longer come."""
    monkeypatch.setattr(tls_listener, "_HELLO_S", 10**6)
    theirs, ours = socket.socketpair()
    with theirs, ours:
        ours.setblocking(False)
        theirs.sendall(hello("a.fc.localhost")[:60])
        theirs.shutdown(socket.SHUT_WR)

        with pytest.raises(EOFError):
            await asyncio.wait_for(tls_listener._peeked(ours, ServerNames().in_hello, 1000), 20)
