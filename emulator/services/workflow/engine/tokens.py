"""Task tokens: the holder of one may report the end of the attempt it was made for.

Standard Base64 of ``v1#flow#execution#number#code``, where the number is the id of the step's StepEntered event and
the code is Base64 of 20 bytes: the attempt (4 bytes) and 16 bytes of an HMAC-SHA1 over everything, keyed by the secret
of the installation. With the attempt inside, a late report of a timed-out attempt cannot complete the next one, and a
token of a finished step can still be distinguished from a forged one.

Source: a token in a published response has this form with a plain 20-byte HMAC; its inside is assumed.
"""

import base64
import binascii
import hmac
from typing import NamedTuple

from emulator.kernel.clock import Millis
from emulator.kernel.digits import read_digits
from emulator.kernel.identity import Tenant


class TaskToken(NamedTuple):
    """The parts of a token; to be trusted only after `Mint.vouches_for`."""

    flow: str
    execution: str
    entry: int
    attempt: int
    code: bytes


class Mint:
    """Makes and checks tokens with ``secret``, the installation's own, which is read from the store at start."""

    def __init__(self) -> None:
        self.secret = b""

    def make(self, tenant: Tenant, flow: str, execution: str, started_at: Millis, entry: int, attempt: int) -> str:
        """Return the token of an attempt. *started_at* distinguishes executions of one name, if a flow is made anew."""
        code = attempt.to_bytes(4, "big") + self._code(tenant, flow, execution, started_at, entry, attempt)
        text = f"v1#{flow}#{execution}#{entry}#{base64.b64encode(code).decode('ascii')}"
        return base64.b64encode(text.encode()).decode("ascii")

    def chance(self, tenant: Tenant, flow: str, execution: str, started_at: Millis, number: int) -> bytes:
        """Return 32 random bytes for event *number* of an execution, the same ones on every call."""
        text = f"chance#{tenant.account}#{tenant.region}#{flow}#{execution}#{started_at}#{number}"
        return hmac.digest(self.secret, text.encode(), "sha256")

    def vouches_for(self, token: TaskToken, tenant: Tenant, started_at: Millis) -> bool:
        """Whether *token* was made by `make` for the execution of its name that started at *started_at*."""
        code = self._code(tenant, token.flow, token.execution, started_at, token.entry, token.attempt)
        return hmac.compare_digest(code, token.code)

    def _code(self, tenant: Tenant, flow: str, execution: str, started_at: Millis, entry: int, attempt: int) -> bytes:
        text = f"{tenant.account}#{tenant.region}#{flow}#{execution}#{started_at}#{entry}#{attempt}"
        return hmac.digest(self.secret, text.encode(), "sha1")[:16]


def read_token(text: str) -> TaskToken | None:
    """Read a token; None for a text that is not one."""
    try:
        version, flow, execution, entry, code_text = (
            base64.b64decode(text.replace(" ", "+"), validate=True).decode("utf-8").split("#")
        )
        code = base64.b64decode(code_text, validate=True)
    except (binascii.Error, ValueError):
        return None
    number = read_digits(entry, 9)
    if version != "v1" or len(code) != 20 or number is None:
        return None
    return TaskToken(flow, execution, number, int.from_bytes(code[:4], "big"), code[4:])
