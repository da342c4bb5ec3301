"""A body that arrives in pieces: one side puts them in, the other takes them out, and the sender is paused between."""

import asyncio
from collections import deque
from typing import Final, Protocol, Self

HELD: Final = 1024 * 1024
"""Bytes of a body that may wait for its reader before its sender is paused."""


class Holding(Protocol):
    """The sender of a body's pieces, which can be paused while their reader is slower."""

    def pause(self) -> None:
        """Ask the sender to pause until `resume`."""
        ...

    def resume(self) -> None:
        """Ask the sender to continue."""
        ...


class SentPieces:
    """The pieces of a body; the sender at the other end of *channel* is paused while more than *held* bytes wait.

    Pieces that were on their way when it was paused are still taken. ``size`` counts all bytes that have come.
    """

    def __init__(self, channel: Holding, held: int = HELD) -> None:
        self.size = 0
        self._channel = channel
        self._held = held
        self._waiting: deque[bytes] = deque()
        self._unread = 0
        self._ended = False
        self._error: Exception | None = None
        self._changed = asyncio.Event()

    def put(self, piece: bytes) -> None:
        """Take a piece in."""
        self.size += len(piece)
        if not self._ended:
            self._waiting.append(piece)
            self._unread += len(piece)
            self._changed.set()
            if self._unread > self._held:
                self._channel.pause()

    def end(self, error: Exception | None) -> None:
        """Record that no more pieces come: the body is complete, or was broken off by *error*."""
        self._ended, self._error = True, error
        self._changed.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Return the next piece; after the last one raise StopAsyncIteration, or the error that broke the body off."""
        while not self._waiting and not self._ended:
            self._changed.clear()
            await self._changed.wait()
        if self._waiting:
            piece = self._waiting.popleft()
            self._unread -= len(piece)
            if self._unread <= self._held:
                self._channel.resume()
            return piece
        if self._error is not None:
            raise self._error
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Drop the pieces that are left, and all later ones."""
        self.end(None)
        self._waiting.clear()
        self._unread = 0
        self._channel.resume()
