"""Frames of a WebSocket, without a network."""

import struct

import pytest

from emulator.http.message import Headers, Request
from emulator.http.websocket import NoHandshake, WebSocket, accept

KEY = "dGhlIHNhbXBsZSBub25jZQ=="


class Wire:
    """Takes the place of transport, connections and talk: remembers what each was told."""

    def __init__(self) -> None:
        self.sent = b""
        self.heard: list[bytes] = []
        self.is_closed = False
        self.socket = WebSocket(self)
        self.socket.take(self, self, b"")

    def opened(self, socket):
        pass

    def message(self, data):
        self.heard.append(data)

    def closed(self):
        self.is_closed = True

    def add(self, connection):
        pass

    def set_protocol(self, protocol):
        pass

    def write(self, data):
        self.sent += data

    def close(self):
        self.is_closed = True


def frame(opcode: int, payload: bytes, *, final: bool = True, masked: bool = True) -> bytes:
    size = len(payload)
    length = bytes([size]) if size < 126 else b"\x7e" + struct.pack("!H", size) if size < 65536 else None
    length = length or b"\x7f" + struct.pack("!Q", size)
    first = bytes([(0x80 if final else 0) | opcode])
    if not masked:
        return first + length + payload
    mask = b"\x01\x02\x03\x04"
    hidden = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
    return first + bytes([length[0] | 0x80]) + length[1:] + mask + hidden


@pytest.mark.parametrize("step", [1, 7, 100_000])
def test_messages_arrive_whole_however_they_are_cut(step):
    """Fragments are joined, control frames may come between them, lengths have three forms."""
    wire = Wire()
    large = bytes(range(256)) * 300
    stream = (
        frame(1, b"hel", final=False)
        + frame(9, b"ping")
        + frame(0, b"lo")
        + frame(2, b"x" * 200)
        + frame(2, large)
        + frame(1, b"")
    )

    for at in range(0, len(stream), step):
        wire.socket.data_received(stream[at : at + step])

    assert wire.heard == [b"hello", b"x" * 200, large, b""]
    assert wire.sent == b"\x8a\x04ping"
    assert not wire.is_closed


@pytest.mark.parametrize(
    ("bytes_in", "status"),
    [
        (frame(1, b"open", masked=False), 1002),
        (frame(0, b"nothing begun"), 1002),
        (frame(1, b"a", final=False) + frame(1, b"b"), 1002),
        (frame(9, b"x" * 126), 1002),
        (frame(9, b"x", final=False), 1002),
        (frame(3, b""), 1002),
        (b"\xc1\x80\x01\x02\x03\x04", 1002),
        (b"\x82\xff" + struct.pack("!Q", 2**40) + b"mask", 1009),
        (frame(8, b"\x03\xe8"), 1000),
    ],
    ids=[
        "unmasked", "continued out of nothing", "two at once", "long ping", "cut ping", "unknown", "extension", "huge",
        "goodbye",
    ],
)  # fmt: skip
def test_what_breaks_the_rules_ends_the_connection(bytes_in, status):
    """The last frame tells why, and nothing is heard after it."""
    wire = Wire()

    wire.socket.data_received(bytes_in + frame(1, b"later"))

    assert wire.sent.endswith(b"\x88\x02" + struct.pack("!H", status))
    assert wire.is_closed
    assert wire.heard == []


def test_texts_and_other_bytes_go_out_as_what_they_are():
    """Whatever is UTF-8 is sent as text, with the shortest length there is."""
    wire = Wire()

    wire.socket.send("grüß".encode())
    wire.socket.send(b"\xff")
    wire.socket.send(b"a" * 126)
    wire.socket.send(b"b" * 70_000)

    short = b"\x81\x06" + "grüß".encode() + b"\x82\x01\xff"
    assert (
        wire.sent == short + b"\x81\x7e\x00\x7e" + b"a" * 126 + b"\x81\x7f" + struct.pack("!Q", 70_000) + b"b" * 70_000
    )


def test_a_handshake_is_answered_with_the_digest_of_its_key():
    """The example of RFC 6455, section 1.3."""
    pairs = [("Upgrade", "WebSocket"), ("Connection", "keep-alive, Upgrade"), ("Sec-WebSocket-Version", "13")]
    request = Request("GET", "/", Headers([*pairs, ("Sec-WebSocket-Key", KEY)]))

    head = accept(request, Wire()).head()

    assert head.startswith(b"HTTP/1.1 101 ")
    assert b"\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" in head


@pytest.mark.parametrize("missing", ["Upgrade", "Connection", "Sec-WebSocket-Version", "Sec-WebSocket-Key"])
def test_half_a_handshake_is_none(missing):
    """Each of the four fields is required."""
    fields = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": KEY}
    request = Request("GET", "/", Headers([pair for pair in fields.items() if pair[0] != missing]))

    with pytest.raises(NoHandshake):
        accept(request, Wire())
