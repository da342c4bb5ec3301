"""Bodies in pieces: a request that still comes while its function works, an answer that the function still writes.

After a change of the protocol (WebSocket) an answer is one direction of a conversation, of which the other is its
`Upstream`.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final, Protocol, Self

from emulator.http.switching import Upstream
from emulator.kernel.pieces import SentPieces

KEPT: Final = 256 * 1024
"""How many bytes of a streamed request are kept for records of calls."""

OnEnd = Callable[[BaseException | None], object]


class Abandoned(Exception):
    """The reader closed the body before its end."""


class FailedMidway(Exception):
    """The handler failed when a part of its answer had been sent."""


class Pieces(Protocol):
    """The source of a body in pieces."""

    async def __anext__(self) -> bytes:
        """Return the next piece; at the end StopAsyncIteration, ClientError or FailedMidway."""
        ...

    async def aclose(self) -> None:
        """Stop reading, and drop what has not been read."""
        ...


class RequestPieces:
    """The pieces of a request's body, on their way to the function while the client still sends.

    ``begun`` is set once a piece was asked for: no other instance can get them then.
    """

    def __init__(self, pieces: SentPieces) -> None:
        self.begun = False
        self._pieces = pieces
        self._kept = bytearray()

    @property
    def beginning(self) -> bytes:
        """The beginning of the body as far as received, up to `KEPT` bytes."""
        return bytes(self._kept)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Return the next piece.

        Raises: BodyBroken when the rest will not come.
        """
        self.begun = True
        piece = await anext(self._pieces)
        if len(self._kept) <= KEPT:
            self._kept += piece
        return piece

    async def aclose(self) -> None:
        """Stop reading, and drop what has not been read."""
        self.begun = True
        await self._pieces.aclose()


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
        """Call *action* at the end, with what cut the body short or None; the first one registered is first."""
        assert self._on_end is not None
        self._on_end.append(action)

    def tap(self, look: Callable[[bytes], None]) -> None:
        """Call *look* with each piece that passes."""
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
        """Stop reading, and drop what has not been read."""
        await self._pieces.aclose()
        self._end(Abandoned() if self.upstream is None else None)

    def _end(self, error: BaseException | None) -> None:
        actions, self._on_end = self._on_end or (), None
        for action in actions:
            action(error)


class Gate:
    """Slows down a program that sends pieces as requests: while the gate is closed, they stay unanswered."""

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
        """Call *respond* now, or at `resume`; in that case return a future that is resolved then."""
        if not self._closed:
            respond()
            return None
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda ended: None if ended.cancelled() else respond())
        self._waiting.append(future)
        return future
