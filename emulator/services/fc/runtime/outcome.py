"""The result of one run of user code: the answer of the process, or that it exited, ran out of time or of memory."""

from collections.abc import Callable
from typing import NamedTuple

from emulator.services.fc.runtime import logs
from emulator.services.fc.runtime.debugger import Deadline
from emulator.services.fc.runtime.model import ErrorType, HttpAnswer, InstanceStartFailed, ResponseTooLarge
from emulator.services.fc.runtime.process import Answer, Exit
from emulator.services.fc.runtime.streaming import StreamedBody


class CallNotRead(Exception):
    """The instance ended before it saw the call, which can go to another one; the text is what it wrote last."""


class Outcome(NamedTuple):
    """How one run of user code ended. ``error`` is the text of the end marker, empty for success.

    ``is_last``: the process has ended or is of no use any more.
    """

    body: bytes
    error: str
    duration_ms: float
    too_large: bool = False
    http: HttpAnswer | None = None
    stream: StreamedBody | None = None
    is_last: bool = False

    @property
    def error_type(self) -> ErrorType | None:
        """The error type of a failed invocation."""
        if not self.error:
            return None
        return "HandledInvocationError" if self.error == logs.HANDLED else "UnhandledInvocationError"


def judged(
    reply: Answer | Exit,
    deadline: Deadline,
    timeout_s: float,
    shown: Callable[[float], float],
    memory_mb: float,
    response_limit: int,
    *,
    out_of_memory: bool = False,
) -> Outcome:
    """Return the outcome of a run that the process answered with *reply*, or did not survive.

    *shown* returns a measured figure as messages show it; *memory_mb* is the most memory the instance has used, a body
    of more than *response_limit* bytes is an error. With *out_of_memory*, an injected fault, the run ends for lack of
    memory even where the machine is too slow to use it up in time.

    Raises: CallNotRead; InstanceStartFailed.
    """
    elapsed_ms = deadline.elapsed_ms()
    if deadline.passed and not out_of_memory:
        message = logs.timed_out(round(timeout_s), shown(memory_mb))
    elif deadline.passed or isinstance(reply, Exit) or reply.over_memory:
        if isinstance(reply, Exit) and not deadline.passed:
            if reply.fatal:
                raise InstanceStartFailed(reply.fatal)
            if reply.unread:
                raise CallNotRead(reply.written)
        message = logs.process_exited(shown(elapsed_ms), shown(memory_mb))
    else:
        error = "" if reply.succeeded else logs.HANDLED if reply.handled else logs.UNHANDLED
        too_large = reply.size > len(reply.body)
        if too_large:
            error = str(ResponseTooLarge(response_limit))
        return Outcome(reply.body, error, min(reply.duration_ms, elapsed_ms), too_large, reply.http)
    return Outcome(body=logs.error_body(message), error=message, duration_ms=elapsed_ms, is_last=True)
