"""Testing applications against localyun: the pytest plugin's fixtures, and the same by hand for everything else.

`Emulator` starts one emulator as a process and ends it; `Localyun` is the kit a test works with. The kit speaks HTTP
with `requests`, so it needs the extra ``localyun[testing]``; clients of the official SDKs are made on first use.
"""

from emulator.testing.errors import ApiError, NotInstalled, TestingError
from emulator.testing.kit import Localyun
from emulator.testing.process import Emulator
from emulator.testing.resources import (
    Call,
    Checkpoint,
    Clock,
    Execution,
    Flow,
    InvokeResult,
    Message,
    Mock,
    Queue,
    ReceivedRequest,
    Sink,
    Topic,
)

__all__ = [
    "ApiError",
    "Call",
    "Checkpoint",
    "Clock",
    "Emulator",
    "Execution",
    "Flow",
    "InvokeResult",
    "Localyun",
    "Message",
    "Mock",
    "NotInstalled",
    "Queue",
    "ReceivedRequest",
    "Sink",
    "TestingError",
    "Topic",
]
