"""The first message of a TLS handshake, read just far enough to know which host the client wants.

Pure: bytes in, a verdict out. It is read before the handshake because the certificate for a name may have to be made
first, and OpenSSL's own callback for the name cannot wait for that.

Source: RFC 8446 section 4.1.2 (ClientHello), section 5.1 (records); RFC 6066 section 3 (server_name).
"""

from typing import Final

from emulator.kernel.frozen import frozen

MAX_BYTES: Final = 16 * 1024
"""A longer ClientHello is refused; real ones have 200 to 2,000 bytes."""

_HANDSHAKE: Final = 22
_CLIENT_HELLO: Final = 1
_SERVER_NAME: Final = 0
_HOST_NAME: Final = 0


class NotClientHello(Exception):
    """The bytes do not begin a TLS handshake."""


@frozen
class ClientHello:
    """What the client asked for; ``server_name`` is in lower case, None when it named no host."""

    server_name: str | None


class _Cursor:
    """Reads the length-prefixed vectors TLS is made of."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def at_end(self) -> bool:
        return self._at == len(self._data)

    def take(self, size: int) -> bytes:
        piece = self._data[self._at : self._at + size]
        if len(piece) != size:
            raise NotClientHello("a length points beyond the end")
        self._at += size
        return piece

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def vector(self, length_size: int) -> bytes:
        return self.take(self.number(length_size))


def read_client_hello(data: bytes) -> ClientHello | None:
    """Read the ClientHello at the beginning of *data*; None when more bytes are needed.

    Raises: NotClientHello.
    """
    message = _first_message(data)
    if message is None:
        if len(data) >= MAX_BYTES:
            raise NotClientHello("the first message is too long")
        return None
    cursor = _Cursor(message)
    cursor.take(2 + 32)  # version, random
    cursor.vector(1)  # session id
    cursor.vector(2)  # cipher suites
    cursor.vector(1)  # compression methods
    if cursor.at_end:
        return ClientHello(server_name=None)
    extensions = _Cursor(cursor.vector(2))
    name = None
    while not extensions.at_end:
        kind, content = extensions.number(2), extensions.vector(2)
        if kind == _SERVER_NAME:
            name = _host_name(content)
    return ClientHello(server_name=name)


def _first_message(data: bytes) -> bytes | None:
    """Join the handshake records at the beginning of *data* until they hold one whole message."""
    message = b""
    at = 0
    while at < len(data):
        header = data[at : at + 5]
        if header[0] != _HANDSHAKE or header[1:2] not in {b"", b"\x03"}:
            raise NotClientHello("no handshake record")
        if len(header) < 5:
            return None
        size = int.from_bytes(header[3:5], "big")
        if not 0 < size <= 1 << 14:
            raise NotClientHello("a record has an impossible length")
        message += data[at + 5 : at + 5 + size]
        if message and message[0] != _CLIENT_HELLO:
            raise NotClientHello("the first message is no ClientHello")
        if len(message) >= 4:
            length = int.from_bytes(message[1:4], "big")
            if length > MAX_BYTES:
                raise NotClientHello("the first message is too long")
            if len(message) >= 4 + length:
                return message[4 : 4 + length]
        at += 5 + size
    return None


def _host_name(content: bytes) -> str | None:
    names = _Cursor(_Cursor(content).vector(2))
    while not names.at_end:
        kind, name = names.number(1), names.vector(2)
        if kind == _HOST_NAME:
            try:
                return name.decode("ascii").lower()
            except UnicodeDecodeError:
                raise NotClientHello("the server name is not ASCII") from None
    return None
