"""The protocols between server and instance, and between server and zygote.

A frame on an instance's channel is two lengths, a small JSON header, raw payload bytes.

To the instance: ``{"do": "boot", ...}`` once (or ``{"do": "exec", ...}``: become another program), both with ``mounts``
where the instance has namespaces, then ``{"do": "invoke" | "initialize" | "pre_freeze" | "pre_stop", "seq": ..., "rid":
request id, ...}`` with the event as payload. ``about`` (``qualifier``, ``retry``, ``keys``, ``tracing``) comes with it
when it is another than that of the call before. From the instance: ``{"done": seq, ...}`` with the body as payload,
``{"part": seq}`` with a piece of a body before that where the call has ``stream`` (the first piece with ``http``),
``{"log": request id}`` with output that belongs to one of several calls at once, ``{"began": seq}`` when the boot frame
wants it, ``{"fatal": text}`` when it cannot start. ``seq`` is unguessable and answered once, so a process forked by a
handler cannot answer a second time.

Server and zygote exchange records of fixed size on a control socket: a `COMMAND` in one direction, an `EVENT` in the
other.
"""

from __future__ import annotations

import json
import struct
from typing import Any

LENGTHS = struct.Struct("!II")
HEADER_LIMIT = 1024 * 1024

Header = dict[str, Any]

_dumps = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_loads = json.JSONDecoder().raw_decode

COMMAND = struct.Struct("!IIII48s")
"""Command, number of the instance, memory in MB, most processes, id of the instance."""

LAUNCH, TERMINATE, KILL, WATCH, UNWATCH, ADOPT = range(1, 7)
"""``LAUNCH`` comes with two descriptors: the instance's channel and the writing end of its log pipe.

``ADOPT`` turns a launched process that waits in its namespaces into the named instance. It comes with a socket from
which a frame with ``mounts`` is read; the socket is closed when they are mounted, after the reason if that failed.
"""

EVENT = struct.Struct("!IIiII")
"""Event, number of the instance, value, peak memory in KB, index into `REASONS`.

The value is the process id or the exit status; with `READY`, whether instances have namespaces.
"""

READY, STARTED, ENDED = range(1, 4)

REASONS = ("", "memory", "processes", "fork")
"""Why an instance ended, as far as the zygote had a part in it; ``fork``: it never began, the status is the errno."""


class BrokenFrame(Exception):
    """The bytes received are not a frame of this protocol."""


def encode(header: Header, payload: bytes = b"") -> bytes:
    """Return the bytes of one frame."""
    head = _dumps(header).encode("utf-8")
    return LENGTHS.pack(len(head), len(payload)) + head + payload


class FrameBuffer:
    """Collects received bytes and cuts them into frames."""

    def __init__(self, payload_limit: int | None = None) -> None:
        self._bytes = bytearray()
        self._wanted = LENGTHS.size
        self._payload_limit = payload_limit

    def feed(self, data: bytes | memoryview) -> None:
        """Take in received bytes."""
        self._bytes += data

    def next(self) -> tuple[Header, bytes] | None:
        """Return the next whole frame, or None when more bytes are needed.

        Raises: BrokenFrame.
        """
        have = len(self._bytes)
        if have < self._wanted:
            return None
        header_size, payload_size = LENGTHS.unpack_from(self._bytes)
        if header_size > HEADER_LIMIT or (self._payload_limit is not None and payload_size > self._payload_limit):
            raise BrokenFrame(f"a frame of {header_size} + {payload_size} bytes")
        head_end = LENGTHS.size + header_size
        end = head_end + payload_size
        if have < end:
            self._wanted = end
            return None
        try:
            text = self._bytes[LENGTHS.size : head_end].decode("utf-8")
            header, read = _loads(text)
        except (ValueError, RecursionError) as error:
            raise BrokenFrame(str(error)) from error
        if not isinstance(header, dict) or read != len(text):
            raise BrokenFrame("the header is no object")
        payload = bytes(memoryview(self._bytes)[head_end:end])
        del self._bytes[:end]
        self._wanted = LENGTHS.size
        return header, payload
