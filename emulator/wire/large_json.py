"""JSON bodies of many megabytes, decoded off the loop without holding the interpreter for long.

The standard decoder is one call into C: while it reads twenty megabytes no other thread runs. What makes a body large
is nearly always one long text, a package in base64. Such texts are cut out with searches that take milliseconds, the
rest is decoded, and the texts are put back. A rest that is large itself is refused.
"""

import json
import os
import re
from collections.abc import Callable
from typing import Any, Final

STRUCTURE_BYTES: Final = 2 * 1024 * 1024
"""The largest body without its long texts; decoding that takes a tenth of a second."""

_LONG: Final = 64 * 1024
_PIECE: Final = 1024 * 1024
_special = re.compile(rb"[\x00-\x1f\\]")


class TooMuchStructure(ValueError):
    """The body without its long texts is over `STRUCTURE_BYTES`."""


def loads(body: bytes, decode: Callable[[bytes], Any] = json.loads) -> Any:
    """Return what *decode* makes of *body*; for a thread.

    Raises: TooMuchStructure; what *decode* raises.
    """
    rest, texts = _cut(body)
    document = decode(rest)
    return _put_back(document, texts) if texts else document


def _cut(body: bytes) -> tuple[bytes, dict[str, str]]:
    """Return *body* with each long text replaced by a short one, and the long ones by the short ones."""
    texts: dict[str, str] = {}
    secret = os.urandom(12).hex()  # no body can contain this text by chance or on purpose
    kept: list[bytes] = []
    view = memoryview(body)
    size = at = start = 0
    while (opening := body.find(b'"', at)) >= 0:
        closing = _end_of_text(body, opening + 1)
        if closing < 0:
            break
        if closing - opening > _LONG and not _has_special(body, opening + 1, closing):
            mark = f"text {secret} {len(texts)}"
            texts[mark] = str(view[opening + 1 : closing], "utf-8")
            kept.append(body[start:opening] + b'"' + mark.encode("ascii") + b'"')
            size += len(kept[-1])
            start = closing + 1
        at = closing + 1
        if size + at - start > STRUCTURE_BYTES:
            raise TooMuchStructure
    kept.append(body[start:])
    if size + len(kept[-1]) > STRUCTURE_BYTES:
        raise TooMuchStructure
    return b"".join(kept), texts


def _end_of_text(body: bytes, at: int) -> int:
    """Return where the text that begins at *at* has its closing quote, -1 when it has none."""
    while (at := body.find(b'"', at)) >= 0:
        backslashes = 1
        while body[at - backslashes] == 0x5C:
            backslashes += 1
        if backslashes % 2:
            return at
        at += 1
    return -1


def _has_special(body: bytes, start: int, end: int) -> bool:
    """Whether there is an escape or a control character; in pieces, so that other threads get their turn."""
    return any(_special.search(body, at, min(at + _PIECE, end)) for at in range(start, end, _PIECE))


def _put_back(value: Any, texts: dict[str, str]) -> Any:
    if isinstance(value, str):
        return texts.get(value, value)
    if isinstance(value, dict):
        return {texts.get(name, name): _put_back(each, texts) for name, each in value.items()}
    if isinstance(value, list):
        return [_put_back(each, texts) for each in value]
    return value
