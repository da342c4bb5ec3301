"""What a caller says when it has a call queued, and what it is told."""

from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.services.fc.runtime.model import HttpCall


@frozen
class Order:
    """A call somebody wants queued.

    ``task_mode`` and ``task_id`` are what the caller says about a record; None and empty leave it to the
    configuration. ``key`` is the caller's own name for the call: an order with a known key is not queued again. With
    ``http`` the call serves an HTTP request, whose body is the event.
    """

    service: str
    function: str
    qualifier: str | None
    event: bytes
    request_id: str
    now: Millis
    task_mode: bool | None = None
    task_id: str = ""
    key: str = ""
    tracing: Mapping[str, str] = field(default_factory=dict)
    http: HttpCall | None = None


class Accepted(NamedTuple):
    """A call that is queued once the transaction is committed; ``task_id`` is empty outside task mode."""

    request_id: str
    task_id: str
