"""Bodies that leave in pieces: cutting, counting and framing them."""

from collections.abc import AsyncIterator, Awaitable, Callable

from emulator.http.answer import Framing
from emulator.http.fields import Unsendable

Piece = bytes | memoryview


async def slices(body: bytes, size: int) -> AsyncIterator[Piece]:
    """Yield *body* in slices of *size* bytes, without copying it."""
    view = memoryview(body)
    for start in range(0, len(view), size):
        yield view[start : start + size]


async def pour(
    framing: Framing, body: AsyncIterator[Piece], write: Callable[[Piece], None], drained: Callable[[], Awaitable[None]]
) -> None:
    """Write every piece of *body* as *framing* says, each after the one before it has *drained*; close *body* after.

    Raises: Unsendable when the body is not as long as its head has promised; what *body* raises.
    """
    sent = 0
    try:
        async for piece in body:
            sent += len(piece)
            if framing.length is not None and sent > framing.length:
                raise Unsendable(f"the body outgrew its length of {framing.length} bytes")
            if piece:
                write(b"".join((b"%x\r\n" % len(piece), piece, b"\r\n")) if framing.chunked else piece)
                await drained()
        if framing.length is not None and sent < framing.length:
            raise Unsendable(f"the body has {sent} bytes of {framing.length}")
    finally:
        close = getattr(body, "aclose", None)
        if close is not None:
            await close()
    if framing.chunked:
        write(b"0\r\n\r\n")
