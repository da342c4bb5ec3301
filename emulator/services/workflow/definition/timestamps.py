"""The instants a wait can be given."""

import re

from emulator.kernel.clock import Millis
from emulator.wire.dates import parse_iso

_RFC_3339 = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})\Z", re.ASCII)


def parse_timestamp(text: str) -> Millis:
    """Return the instant of an RFC 3339 text such as ``2024-05-01T08:00:00.5+08:00``.

    Raises: ValueError.
    """
    if not _RFC_3339.match(text):
        raise ValueError(text)
    return parse_iso(text)
