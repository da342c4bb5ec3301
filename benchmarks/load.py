"""Closed-loop clients in one thread: each connection sends its next request when the answer to the last has come."""

import selectors
import socket
import time
from collections.abc import Callable

_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


class _Caller:
    """One connection; connects anew when the server has closed it."""

    def __init__(self, port: int, request: bytes, ready: selectors.BaseSelector) -> None:
        self._port = port
        self._request = request
        self._ready = ready
        self._received = b""
        self._socket = self._connected()

    def _connected(self) -> socket.socket:
        made = socket.create_connection(("127.0.0.1", self._port), timeout=30)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._ready.register(made, selectors.EVENT_READ, self)
        return made

    def send(self) -> None:
        """Send the request."""
        self._socket.sendall(self._request)

    def finished(self) -> bool:
        """Take in what has come; tell whether the answer is complete.

        Raises: RuntimeError when the answer is an error.
        """
        piece = self._socket.recv(65536)
        self._received += piece
        head, mark, body = self._received.partition(_END)
        if not mark:
            if not piece:
                raise RuntimeError("the server closed the connection without an answer")
            return False
        found = head.lower().find(_LENGTH)
        length = int(head[found + len(_LENGTH) :].split(b"\r\n", 1)[0]) if found >= 0 else 0
        if len(body) < length:
            return False
        if not head.split(b" ", 2)[1].startswith(b"2"):
            raise RuntimeError(self._received.decode("utf-8", "replace"))
        self._received = b""
        if b"connection: close" in head.lower() or head.startswith(b"HTTP/1.0"):
            self.close()
            self._socket = self._connected()
        return True

    def close(self) -> None:
        """Close the connection."""
        self._ready.unregister(self._socket)
        self._socket.close()


def requests_per_s(port: int, request: bytes, *, connections: int, calls: int) -> float:
    """Return how many *requests* per second a server answers with 2xx to so many closed-loop connections."""
    with selectors.DefaultSelector() as ready:
        callers = [_Caller(port, request, ready) for _ in range(connections)]
        began = time.perf_counter()
        for caller in callers:
            caller.send()
        started, ended = connections, 0
        while ended < calls:
            for key, _ in ready.select(30):
                caller = key.data
                if caller.finished():
                    ended += 1
                    if started < calls:
                        started += 1
                        caller.send()
        spent = time.perf_counter() - began
        for caller in callers:
            caller.close()
    return calls / spent


def answered(port: int, ask: Callable[[], object], seconds: float = 30) -> None:
    """Wait until a server on *port* takes connections and *ask* raises no OSError.

    Raises: RuntimeError when it does not in time.
    """
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            ask()
            return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError(f"nothing answered on port {port}")
