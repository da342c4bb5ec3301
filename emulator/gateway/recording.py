"""Recording requests of the services with their answers.

Without a recording this costs a request one comparison. Heads and bodies are kept as they came, keys and signatures
included, so a recording is for its owner; `localyun compare --redact` makes one for others.
"""

import sys
from base64 import b64encode
from collections.abc import Callable
from typing import Any, Final

from emulator.http.message import Response
from emulator.wire.dates import iso_millis
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest

RECORDED: Final = frozenset({"fc", "fnf", "mns", "mns-open", "ram", "sts"})
"""Fronts whose requests are recorded."""

MOST_EXCHANGES: Final = 20_000
MOST_BYTES: Final = 256 * 1024 * 1024

Record = Callable[[str, OperationRequest, Response], None]
"""(front, call, answer): keeps one exchange."""


class Recording:
    """The exchanges since `start`; *use* registers the function that the gateway calls with each, None for no one."""

    def __init__(self, use: Callable[[Record | None], None]) -> None:
        self._use = use
        self._kept: list[dict[str, Any]] = []
        self._bytes = 0
        self.left_out = 0
        """How many exchanges were dropped because the recording was full."""

    def start(self) -> None:
        """Start a recording; an earlier one is dropped."""
        self._kept, self._bytes, self.left_out = [], 0, 0
        self._use(self._record)

    def stop(self) -> list[dict[str, Any]]:
        """End the recording and return its exchanges in JSON's terms: bodies in base64, None for streamed responses."""
        self._use(None)
        kept, self._kept = self._kept, []
        return kept

    def _record(self, front: str, call: OperationRequest, answer: Response) -> None:
        if front not in RECORDED:
            return
        http = call.http
        body = answer.body if isinstance(answer.body, bytes) else None
        self._bytes += http.body_size + len(body or b"")
        if len(self._kept) >= MOST_EXCHANGES or self._bytes > MOST_BYTES:
            self.left_out += 1
            return
        self._kept.append(
            {
                "began": iso_millis(call.now),
                "method": http.method,
                "url": f"{http.scheme}://{http.headers.get('host')}{http.target}",
                "headers": list(http.headers.pairs),
                "body": b64encode(http.body).decode("ascii"),
                "status": answer.status,
                "answerHeaders": answer.headers,
                "answerBody": None if body is None else b64encode(body).decode("ascii"),
            }
        )


@operation("start-recording", "POST /recording")
def start_recording(recording: Recording, call: OperationRequest) -> dict[str, Any]:
    """Start recording requests and responses of the services; an earlier recording is discarded."""
    recording.start()
    return {"recording": True}


@operation("stop-recording", "DELETE /recording")
def stop_recording(recording: Recording, call: OperationRequest) -> dict[str, Any]:
    """End the recording and return it, with keys and signatures. Streamed responses have no body."""
    exchanges = recording.stop()
    return {"exchanges": exchanges, "leftOut": recording.left_out}


OWN = sys.modules[__name__]
"""This module, as a part for `AdminFront`."""
