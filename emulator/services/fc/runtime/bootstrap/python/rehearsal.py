"""A call that nobody made, run by a waiting process: it touches what a first call touches.

A forked process shares its memory with the zygote until it writes, and the first write to a page costs a page fault.
Most of a first call's time was spent on these; here they happen while nobody waits. The module is also the code of the
rehearsed function.
"""

from __future__ import annotations

import io
import logging
import os
import sys
from typing import Any

from . import logs, results  # noqa: TID252 - the package has another name inside an instance
from .context import FCContext  # noqa: TID252
from .frames import FrameBuffer, encode  # noqa: TID252
from .handlers import Handlers  # noqa: TID252

_SAMPLE = "rehearsal_sample"


def rehearse() -> None:
    """Go once through what a call does, without leaving a trace."""
    names = ("name", "handler", "memory", "timeout", "region", "account", "service", "version", "log_project")
    boot: dict[str, Any] = dict.fromkeys((*names, "log_store"), "") | {"modern_context": False, "keys_in_calls": True}
    frames = FrameBuffer()
    frames.feed(encode({"do": "invoke", "rid": "", "qualifier": "", "retry": 0, "keys": None, "tracing": {}}, b"{}"))
    frame = frames.next()
    assert frame is not None
    call, event = frame
    request_ids = logs.RequestIds()
    context = FCContext(boot, call, logging.getLogger())
    handler = Handlers(os.path.dirname(__file__)).get(f"{_SAMPLE}.handler")  # noqa: PTH120 - no pathlib, for memory
    body = results.to_body(handler(event, context))
    sys.modules.pop(_SAMPLE)
    sink = logs.FrameSink(lambda header, payload: None)
    logs.LogHandler(sink, request_ids).emit(logging.LogRecord("", logging.INFO, "", 0, "%s", (body,), None))
    print(body, file=io.StringIO())
    os.environ.update(dict(os.environ))
