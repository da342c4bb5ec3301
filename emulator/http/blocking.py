"""A blocking HTTP/1.1 client for one request: what commands speak to the emulator with.

The standard library's brings the whole of ``email`` and takes a fifth of the time of a short command.
"""

import socket
from collections.abc import Iterator, Mapping

import httptools

_PIECE = 65536


class BrokenAnswer(Exception):
    """What came is no whole HTTP answer."""


class Exchange:
    """One request and its answer over a connection of its own; ``with`` closes it.

    ``status`` and ``headers`` (lower-case names) are there from the beginning, the body comes with `pieces`.

    Raises: BrokenAnswer; OSError, a TimeoutError when nothing comes for *timeout_s* seconds.
    """

    def __init__(
        self,
        address: tuple[str, int],
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        timeout_s: float | None,
    ) -> None:
        host = f"[{address[0]}]" if ":" in address[0] else address[0]
        fields = {"Host": f"{host}:{address[1]}", **headers, "Connection": "close"}
        if body or method in {"POST", "PUT"}:
            fields["Content-Length"] = str(len(body))
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.status = 0
        self.headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._over = False
        self._parser = httptools.HttpResponseParser(self)
        # A text would be encoded as IDNA, whose tables are slow to load; an address has no use for them.
        host_name = address[0].encode("ascii") if address[0].isascii() else address[0]
        self._socket = socket.create_connection((host_name, address[1]), timeout_s)  # type: ignore[arg-type]  # bytes will do
        try:
            self._socket.sendall(f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body)
            while not self.status:
                self._receive()
        except BaseException:
            self._socket.close()
            raise

    def pieces(self) -> Iterator[bytes]:
        """Yield the body as it comes.

        Raises: as the class.
        """
        while self._body or not self._over:
            if self._body:
                yield b"".join(self._body)
                self._body.clear()
            else:
                self._receive()

    def __enter__(self) -> "Exchange":
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()

    def _receive(self) -> None:
        data = self._socket.recv(_PIECE)
        if not data:
            if not self.status or "content-length" in self.headers or "transfer-encoding" in self.headers:
                raise BrokenAnswer("the connection was closed before the answer was complete")
            self._over = True
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            raise BrokenAnswer(str(error) or "the answer is no HTTP") from None

    # httptools calls these while it is fed.

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take one header field."""
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Take the status; an interim answer is passed over."""
        status = self._parser.get_status_code()
        if status >= 200:
            self.status = status

    def on_body(self, data: bytes) -> None:
        """Take a piece of the body."""
        self._body.append(data)

    def on_message_complete(self) -> None:
        """Note the end of the answer."""
        self._over = self.status > 0
