"""The name a TLS client asks for, read from its first message."""

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.http.client_hello import MAX_BYTES, NotClientHello, read_client_hello


def a_hello(server_name: str | None, *, protocols: tuple[str, ...] = ()) -> bytes:
    """What OpenSSL itself sends first."""
    context = ssl.create_default_context()
    if protocols:
        context.set_alpn_protocols(list(protocols))
    if server_name is None:
        context.check_hostname = False
    sent = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=server_name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


@pytest.mark.parametrize("name", ["localhost", "123.cn-hangzhou.fc.aliyuncs.com", "a" * 63 + ".fcapp.run"])
def test_the_name_is_found(name):
    """The server name extension tells the host."""
    hello = read_client_hello(a_hello(name, protocols=("h2", "http/1.1")))

    assert hello is not None
    assert hello.server_name == name


def test_a_name_is_compared_in_lower_case():
    """Host names have no case."""
    hello = read_client_hello(a_hello("LocalHost"))

    assert hello is not None
    assert hello.server_name == "localhost"


def test_a_client_may_name_no_host():
    """Clients that connect to an address send no name."""
    hello = read_client_hello(a_hello(None))

    assert hello is not None
    assert hello.server_name is None


def test_every_beginning_is_waited_for():
    """However little has come, nothing is decided before the message is whole."""
    whole = a_hello("localhost")

    verdicts = [read_client_hello(whole[:size]) for size in range(1, len(whole))]

    assert verdicts == [None] * (len(whole) - 1)
    assert read_client_hello(whole + b"more") == read_client_hello(whole)


@given(size=st.integers(1, 300))
def test_a_message_may_be_spread_over_records(size):
    """The message is joined from as many records as it comes in."""
    message = a_hello("localhost")[5:]
    records = [message[at : at + size] for at in range(0, len(message), size)]

    hello = read_client_hello(b"".join(b"\x16\x03\x01" + len(r).to_bytes(2, "big") + r for r in records))

    assert hello is not None
    assert hello.server_name == "localhost"


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n",
        b"\x80\x2e\x01\x03\x01",
        b"\x16\x02\x00\x00\x05",
        b"\x15\x03\x01\x00\x02\x02\x28",
        b"\x16\x03\x01\x00\x00",
        b"\x16\x03\x01\xff\xff\x01",
        b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",
        b"\x16\x03\x01\x00\x04\x01\xff\xff\xff",
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
    ],
)
def test_what_is_no_client_hello_is_told_apart(data):
    """Plain HTTP, old SSL, alerts and impossible lengths are not waited for."""
    with pytest.raises(NotClientHello):
        read_client_hello(data)


def test_an_endless_message_is_given_up():
    """No more than a bounded number of bytes is looked at."""
    record = b"\x16\x03\x01\x00\x01\x01" + b"\x16\x03\x01\x00\x01\x00" * (MAX_BYTES // 6)

    with pytest.raises(NotClientHello):
        read_client_hello(record)


@given(data=st.binary(max_size=200))
def test_arbitrary_bytes_raise_nothing_else(data):
    """Garbage is refused or waited for."""
    for prefix in (b"", b"\x16\x03\x01", b"\x16\x03\x01\x00\x60\x01\x00\x00\x5c"):
        try:
            verdict = read_client_hello(prefix + data)
        except NotClientHello:
            continue
        assert verdict is None or verdict.server_name is None or verdict.server_name.isascii()


@given(at=st.integers(0, 600), value=st.integers(0, 255))
def test_a_damaged_hello_raises_nothing_else(at, value):
    """One changed byte anywhere leads to a name, to none, or to a refusal."""
    data = bytearray(a_hello("localhost"))
    data[at % len(data)] = value

    try:
        verdict = read_client_hello(bytes(data))
    except NotClientHello:
        verdict = None

    assert verdict is None or verdict.server_name is None or verdict.server_name.isascii()
