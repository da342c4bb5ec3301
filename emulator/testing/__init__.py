"""Testing applications against localyun: the pytest plugin's fixtures, and the same classes for other test runners.

`Emulator` starts one emulator as a process and ends it; `Localyun` is the kit a test works with. The kit speaks HTTP
with `requests`, so it needs the extra ``localyun[testing]``; clients of the official SDKs are made on first use.

Names are imported when they are used: every run of pytest on a machine with localyun loads the plugin.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emulator.testing.api import Api, ApiError, NotInstalled, NotJson, TestingError
    from emulator.testing.doubles import Call, Faults, InvokeResult, Mock, ReceivedRequest, Sink
    from emulator.testing.kit import Localyun
    from emulator.testing.process import Emulator
    from emulator.testing.resources import Checkpoint, Clock, Execution, Flow, Message, Queue, Topic
    from emulator.testing.usage import Usage

_PLACES = {
    "Api": "api",
    "ApiError": "api",
    "NotInstalled": "api",
    "NotJson": "api",
    "TestingError": "api",
    "Localyun": "kit",
    "Emulator": "process",
    "Usage": "usage",
    **dict.fromkeys(("Call", "Faults", "InvokeResult", "Mock", "ReceivedRequest", "Sink"), "doubles"),
}

__all__ = [
    "Api",
    "ApiError",
    "Call",
    "Checkpoint",
    "Clock",
    "Emulator",
    "Execution",
    "Faults",
    "Flow",
    "InvokeResult",
    "Localyun",
    "Message",
    "Mock",
    "NotInstalled",
    "NotJson",
    "Queue",
    "ReceivedRequest",
    "Sink",
    "TestingError",
    "Topic",
    "Usage",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES.get(name, 'resources')}"), name)
