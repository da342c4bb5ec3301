"""Calls of functions, recorded: event, caller, cause, answer, log, times. Bounded in number and bytes.

Recording a call keeps what exists anyway; it is rendered when it is asked for.
"""

import json
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from emulator.kernel.clock import Millis
from emulator.kernel.instrumentation import Origin
from emulator.wire.dates import iso_millis

MOST_CALLS = 10_000
MOST_BYTES = 16 * 1024 * 1024
"""Together; what is older is forgotten."""

EVENT_BYTES = 256 * 1024
LOG_BYTES = 16 * 1024
"""So much of each call is kept."""


class Recorded(NamedTuple):
    """A call that has ended. ``error_type`` is empty when the function has returned; ``mock`` is the mock's id."""

    service: str
    function: str
    qualifier: str
    request_id: str
    cause: str
    caller: Origin
    at: Millis
    ended_at: Millis
    event: bytes
    answer: bytes
    error_type: str
    log: bytes
    mock: str = ""

    @property
    def name(self) -> str:
        """``service/function`` or ``function``."""
        return f"{self.service}/{self.function}" if self.service else self.function

    @property
    def size(self) -> int:
        """How many bytes it keeps."""
        return len(self.event) + len(self.answer) + len(self.log) + 500


class CallLog:
    """The latest calls, oldest first."""

    def __init__(self, most: int = MOST_CALLS, most_bytes: int = MOST_BYTES) -> None:
        self.late: Callable[[], None] = lambda: None
        """Called before the calls are looked at, for a recorder that adds calls a little after they end."""
        self._calls: deque[Recorded] = deque()
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0

    def __len__(self) -> int:
        self.late()
        return len(self._calls)

    def __iter__(self) -> Iterator[Recorded]:
        self.late()
        return iter(self._calls)

    def add(self, call: Recorded) -> None:
        """Record a call."""
        if len(call.event) > EVENT_BYTES or len(call.answer) > EVENT_BYTES or len(call.log) > LOG_BYTES:
            call = call._replace(
                event=call.event[:EVENT_BYTES], answer=call.answer[:EVENT_BYTES], log=call.log[-LOG_BYTES:]
            )
        self._calls.append(call)
        self._bytes += call.size
        while len(self._calls) > self._most or self._bytes > self._most_bytes:
            self._bytes -= self._calls.popleft().size

    def of(self, function: str) -> list[Recorded]:
        """Return the calls of ``service/function`` or ``function``."""
        return [call for call in self if call.name == function]

    def clear(self) -> None:
        """Forget all calls."""
        self.late()
        self._calls.clear()
        self._bytes = 0


def shown_call(call: Recorded) -> dict[str, Any]:
    """Return a call in JSON's terms. What is no text is given in base64 in a member of its own as well."""
    shown: dict[str, Any] = {
        "function": call.name,
        "qualifier": call.qualifier,
        "caller": call.caller,
        "cause": call.cause,
        "request_id": call.request_id,
        "at": iso_millis(call.at),
        "ended_at": iso_millis(call.ended_at),
        "duration_ms": call.ended_at - call.at,
        **shown_bytes("event", call.event),
        **shown_bytes("answer", call.answer),
        "error": _shown_error(call) if call.error_type else None,
        "log": call.log.decode("utf-8", "replace"),
    }
    return shown | {"mock": call.mock} if call.mock else shown


def _shown_error(call: Recorded) -> dict[str, Any]:
    """Return what the function has thrown, with ``type``: that of ``X-Fc-Error-Type``, or the code of a refusal."""
    try:
        thrown = json.loads(call.answer)
    except (ValueError, RecursionError):
        thrown = None
    if not isinstance(thrown, dict):
        thrown = {"errorMessage": call.answer.decode("utf-8", "replace")}
    return {**thrown, "type": call.error_type}


def shown_bytes(name: str, content: bytes) -> dict[str, str]:
    """Return *content* as text under *name*, and in base64 under *name*_base64 when it is no text."""
    try:
        return {name: content.decode()}
    except UnicodeDecodeError:
        return {name: content.decode("utf-8", "replace"), f"{name}_base64": b64encode(content).decode("ascii")}
