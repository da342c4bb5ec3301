"""The pieces of an answer that a function still writes, between what it writes them with and who reads them."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

_HELD = 1024 * 1024
"""Bytes of a body that wait for its reader before the agent is held back."""


class Holding(Protocol):
    """Holds an agent back, and lets it go on."""

    def pause(self) -> None:
        """Let it wait."""
        ...

    def resume(self) -> None:
        """Let it go on."""
        ...


class SentPieces:
    """The pieces of a body that an agent sends; while they are not taken, it is held back by its *channel*."""

    def __init__(self, channel: Holding) -> None:
        self._channel = channel
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._ended = False
        self._error: Exception | None = None
        self._changed = asyncio.Event()

    def put(self, piece: bytes) -> None:
        """Take a piece in."""
        if not self._ended:
            self._waiting.append(piece)
            self._size += len(piece)
            self._changed.set()
            if self._size > _HELD:
                self._channel.pause()

    def end(self, error: Exception | None) -> None:
        """Take note that there are no more, or why the rest is missing."""
        self._ended, self._error = True, error
        self._changed.set()

    async def __anext__(self) -> bytes:
        """Return the next piece; see `Pieces`."""
        while not self._waiting and not self._ended:
            self._changed.clear()
            await self._changed.wait()
        if self._waiting:
            piece = self._waiting.popleft()
            self._size -= len(piece)
            if self._size <= _HELD:
                self._channel.resume()
            return piece
        if self._error is not None:
            raise self._error
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Drop what is left."""
        self.end(None)
        self._waiting.clear()
        self._size = 0
        self._channel.resume()


class Gate:
    """Holds a program back that sends its pieces as requests: they are answered when it may go on."""

    def __init__(self) -> None:
        self._closed = False
        self._waiting: list[asyncio.Future[Any]] = []

    def pause(self) -> None:
        """Let it wait."""
        self._closed = True

    def resume(self) -> None:
        """Let it go on."""
        self._closed = False
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def pass_on(self, respond: Callable[[], object]) -> "asyncio.Future[Any] | None":
        """Call *respond* now, or when it may go on; return what ends then."""
        if not self._closed:
            respond()
            return None
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda ended: None if ended.cancelled() else respond())
        self._waiting.append(future)
        return future
