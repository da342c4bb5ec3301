"""Receipt handles: which message, in which of its revisions, until when.

A handle names everything needed to judge it, so a stale one costs one probe. It is opaque to clients, which put it into
query strings with or without escaping; only letters, digits, ``-`` and ``=`` occur.
"""

import re
from binascii import Error, a2b_base64, b2a_base64
from typing import NamedTuple

from emulator.services.mns.errors import ReceiptHandleError

_FORM = re.compile(r"([0-9A-F]{32})-([A-Za-z0-9]+={0,2})", re.ASCII)
_CONTENT = re.compile(rb"([0-9]{1,18}) ([0-9]{1,18}) ([0-9]{1,18}) ([0-9]{1,18})")


class ReceiptHandle(NamedTuple):
    """What a handle says. It is valid before the instant ``until`` and while the message has this ``revision``."""

    message_id: str
    queue_id: int
    seq: int
    revision: int
    until: int


def write_handle(message_id: str, queue_id: int, seq: int, revision: int, until: int) -> str:
    """Return the text of a handle. Base64 of digits and blanks has neither ``+`` nor ``/``."""
    content = b2a_base64(b"%d %d %d %d" % (queue_id, seq, revision, until), newline=False).decode("ascii")
    return f"{message_id}-{content}"


def read_handle(text: str) -> ReceiptHandle:
    """Read a handle.

    Raises: ReceiptHandleError when the text was never one.
    """
    form = _FORM.fullmatch(text)
    if form is None:
        raise ReceiptHandleError
    try:
        content = _CONTENT.fullmatch(a2b_base64(form[2]))
    except Error:
        raise ReceiptHandleError from None
    if content is None:
        raise ReceiptHandleError
    return ReceiptHandle(form[1], int(content[1]), int(content[2]), int(content[3]), int(content[4]))
