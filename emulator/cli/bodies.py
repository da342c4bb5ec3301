"""Bodies of messages: read from the command line or standard input, and the Base64 that some SDKs put around them."""

import base64
import binascii
import sys

from emulator.cli.failures import WrongUsage
from emulator.wire.xml import escape

_LOST = "\ufffd"
"""What XML gets in place of a character it cannot carry."""


def read_body(given: str, *, as_base64: bool) -> str:
    """Return the text to send: *given*, or all of standard input when that is ``-``.

    Raises: WrongUsage for content that does not go into a message as it is.
    """
    content = sys.stdin.buffer.read() if given == "-" else given.encode("utf-8", "surrogateescape")
    if as_base64:
        return base64.b64encode(content).decode("ascii")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise WrongUsage(f"the body is not UTF-8 text ({error.reason}); --base64 sends it all the same") from error
    if _LOST not in text and _LOST in escape(text):
        raise WrongUsage("the body holds control characters, which XML cannot carry; --base64 sends it all the same")
    return text


def shown_body(body: str, *, from_base64: bool) -> str:
    """Return a received body for people and scripts; *from_base64* undoes what the sender's SDK did.

    A body that is no Base64 of a text is returned as it is.
    """
    if not from_base64:
        return body
    try:
        return base64.b64decode(body, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return body
