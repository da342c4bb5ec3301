"""One attempt at a queued call: its turn in a schedule, the call of the function, and its result."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import assert_never

from emulator.kernel.tracing import because, begin
from emulator.kernel.turnstile import Unanswered
from emulator.services.fc.asynchronous.model import AsyncCall, Attempt, refused
from emulator.services.fc.errors import DIALECT, FcError
from emulator.services.fc.invoke.invoking import FunctionCall, Invoker
from emulator.services.fc.model import display_name, invocation_of
from emulator.services.fc.ports import Platform

_log = logging.getLogger(__name__)


class Attempts:
    """Makes attempts. *edits* takes service and function, and returns what to await until their edited files are read.

    It returns None when there is nothing to read.
    """

    def __init__(
        self, platform: Platform, invoker: Invoker, edits: Callable[[str, str], Awaitable[None] | None]
    ) -> None:
        self._clock = platform.clock
        self._turns = platform.timers.turns
        self._interference = platform.ports.interference
        self._invoker = invoker
        self._edits = edits

    async def made(self, call: AsyncCall) -> Attempt:
        """Make an attempt and return its result; while a schedule of effects is active, wait for the attempt's turn."""
        if not self._turns.active:
            return await self._call(call)
        name = f"{display_name(*call.lane[1:3])}#{call.retries + 1}"
        detail = call.event[:200].decode("utf-8", "replace")
        return await self._turns.made("async", name, partial(self._call, call), _unanswered, detail=detail)

    async def _call(self, call: AsyncCall) -> Attempt:
        lane = call.lane
        begin(call.trace)
        because("")  # its line of when it was queued says of what it came
        order = FunctionCall(
            service=lane.service,
            function=lane.function,
            qualifier=lane.qualifier,
            event=call.event,
            request_id=call.request_id,
            now=self._clock.now(),
            retry_count=call.retries,
            tracing=call.tracing,
            http=call.http,
            origin=call.origin,
            attempt=True,
            version=call.version,
        )
        if (edits := self._edits(lane.service, lane.function)) is not None:
            await edits
        attempted = invocation_of(lane.service, lane.function, lane.qualifier, "async")
        try:
            async with self._interference.around(attempted, DIALECT):
                result = (await self._invoker.invoke(lane.tenant, order)).result
        except FcError as error:
            return refused(error)
        except Exception:
            _log.exception("%s: the call could not be made", call.request_id)
            return refused(FcError("InternalServerError"))
        return Attempt(http_status=200, body=result.body, error=result.error_type or "", instance_id=result.instance_id)


def _unanswered(verdict: Unanswered) -> Attempt:
    match verdict:
        case "lost-before" | "lost-after":
            return refused(FcError("InternalServerError"))
        case "throttle":
            return refused(FcError("ResourceThrottled"))
        case _:
            assert_never(verdict)
