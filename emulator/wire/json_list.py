"""A long list in JSON that is sent in pieces, with a turn for others between them."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any


async def pieces(name: str, pages: Iterable[Sequence[Any]], others: Mapping[str, Any]) -> AsyncIterator[bytes]:
    """Yield a JSON object with *others* and, as its last member *name*, a list of all items of *pages*.

    Each page is taken in a turn of its own.
    """
    yield f"{json.dumps(dict(others))[:-1]}{', ' if others else ''}{json.dumps(name)}: [".encode("ascii")
    comma = ""
    for page in pages:
        if page:
            yield f"{comma}{json.dumps(page)[1:-1]}".encode("ascii")
            comma = ", "
        await asyncio.sleep(0)
    yield b"]}"
