"""Header fields on their way out: what may be a name, what may be a value, and the bytes of a whole head."""

import re
from functools import lru_cache

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


class Unsendable(ValueError):
    """A message whose first line or header fields cannot go on the wire."""


@lru_cache(maxsize=1024)
def field_name(name: str) -> str:
    """Return *name* in lower case.

    Raises: Unsendable when it is no name of a header field.
    """
    if not _TOKEN.fullmatch(name):
        raise Unsendable(f"{name!r} is not the name of a header field")
    return name.lower()


def join_head(lines: list[str]) -> bytes:
    """Return the bytes of a head made of *lines*, with the empty line that ends it.

    Raises: Unsendable when a value would break out of its line.
    """
    text = "\r\n".join(lines)
    breaks = len(lines) - 1
    if text.count("\n") != breaks or text.count("\r") != breaks or "\0" in text:
        raise Unsendable("a header field has a line break or NUL in its value")
    try:
        return text.encode("utf-8", "surrogateescape") + b"\r\n\r\n"
    except UnicodeEncodeError as error:
        raise Unsendable(f"a header field cannot be encoded: {error.reason}") from None
