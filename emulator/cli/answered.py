"""How a call of a function ended, for the commands that make one."""

from typing import NamedTuple


class Called(NamedTuple):
    """``error`` is the type of the function's failure, empty when there was none."""

    request_id: str
    error: str
    body: bytes
    log: str
