"""An answer that a function still writes: a body read in pieces, and how its writer is held back.

After a change of the protocol (WebSocket) it is one direction of a conversation, of which the other is its `Upstream`.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol, Self

from emulator.http.switching import Upstream

_HELD = 1024 * 1024
"""Bytes of a body that wait for its reader before the agent is held back."""

OnEnd = Callable[[BaseException | None], object]


class Abandoned(Exception):
    """The reader closed the body before its end."""


class FailedMidway(Exception):
    """The handler failed when a part of its answer had been sent."""


class Pieces(Protocol):
    """What a body is read from."""

    async def __anext__(self) -> bytes:
        """Return the next piece; at the end StopAsyncIteration, ClientError or FailedMidway."""
        ...

    async def aclose(self) -> None:
        """Read no further."""
        ...


class StreamedBody:
    """The pieces of a body. The call ends when the body has been read to its end or closed.

    ``upstream`` takes what the client sends when the protocol has changed. Either side may end that.
    """

    def __init__(self, pieces: Pieces, upstream: Upstream | None = None) -> None:
        self.upstream = upstream
        self._pieces = pieces
        self._on_end: list[OnEnd] | None = []
        self._look: Callable[[bytes], None] | None = None

    def at_end(self, action: OnEnd) -> None:
        """Have *action* called at the end, with what cut the body short or None; the first one registered is first."""
        assert self._on_end is not None
        self._on_end.append(action)

    def tap(self, look: Callable[[bytes], None]) -> None:
        """Have *look* called with each piece that passes."""
        self._look = look

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Return the next piece.

        Raises: ClientError, FailedMidway when the function has not written it to its end.
        """
        try:
            piece = await anext(self._pieces)
        except StopAsyncIteration:
            self._end(None)
            raise
        except BaseException as error:
            self._end(None if self.upstream is not None and isinstance(error, asyncio.CancelledError) else error)
            raise
        if self._look is not None:
            self._look(piece)
        return piece

    async def aclose(self) -> None:
        """Read no further."""
        await self._pieces.aclose()
        self._end(Abandoned() if self.upstream is None else None)

    def _end(self, error: BaseException | None) -> None:
        actions, self._on_end = self._on_end or (), None
        for action in actions:
            action(error)


class Holding(Protocol):
    """Suspends and resumes the agent that sends the pieces of a body, while their reader is slower."""

    def pause(self) -> None:
        """Have the agent send no more pieces until `resume`."""
        ...

    def resume(self) -> None:
        """Have the agent send pieces again."""
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
        """Leave requests of the program unanswered until `resume`, so that it sends no more pieces."""
        self._closed = True

    def resume(self) -> None:
        """Answer the requests of the program that wait."""
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
