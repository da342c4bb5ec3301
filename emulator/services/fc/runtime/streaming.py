"""The body of an HTTP answer that is passed on while the function still writes it."""

from collections.abc import Callable
from typing import Self

from emulator.http.client import StreamedResponse

OnEnd = Callable[[BaseException | None], object]


class Abandoned(Exception):
    """Nobody reads on."""


class StreamedBody:
    """The pieces of a body. Only when it has been read to its end, or closed, the call is over."""

    def __init__(self, pieces: StreamedResponse) -> None:
        self._pieces = pieces
        self._on_end: list[OnEnd] | None = []

    def at_end(self, action: OnEnd) -> None:
        """Have *action* called at the end, with what cut the body short or None; the first one registered is first."""
        assert self._on_end is not None
        self._on_end.append(action)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Return the next piece.

        Raises: ClientError when the function has not written it to its end.
        """
        try:
            return await anext(self._pieces)
        except StopAsyncIteration:
            self._end(None)
            raise
        except BaseException as error:
            self._end(error)
            raise

    async def aclose(self) -> None:
        """Read no further."""
        await self._pieces.aclose()
        self._end(Abandoned())

    def _end(self, error: BaseException | None) -> None:
        actions, self._on_end = self._on_end or (), None
        for action in actions:
            action(error)
