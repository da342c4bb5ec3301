"""Mocks and the record of calls, for Function Compute (its port `FunctionDoubles`)."""

from collections.abc import Mapping

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.tracing import trace
from emulator.lab.bench import Bench
from emulator.lab.calls import Recorded
from emulator.lab.mocks import Mock
from emulator.services.fc.errors import FcError
from emulator.services.fc.ports import Called, Ended
from emulator.services.fc.runtime.model import InvocationResult


class Doubles:
    """Answers calls by the *bench*'s mocks, and records all calls there."""

    def __init__(self, bench: Bench, clock: Clock) -> None:
        self._mocks = bench.mocks
        self.mocked: Mapping[str, object] = bench.mocks.by_id
        self._calls = bench.calls
        self._clock = clock
        self.ended: list[Ended] = []
        bench.calls.late = self.record

    def mocks(self, service: str, function: str, qualifier: str) -> bool:
        """Whether there is a mock for calls of a function."""
        return bool(self.mocked) and self._mocks.find(service, function, qualifier) is not None

    async def answer(self, call: Called) -> InvocationResult | None:
        """Return what a mock answers, None when the function itself is to answer."""
        mock = self._mocks.find(call.service, call.function, call.qualifier)
        if mock is None:
            return None
        answer = mock.next()
        if answer is None:
            return None
        began = self._clock.now()
        await self._mocks.rest(answer, mock.target.name, call.request_id, call.origin)
        result = InvocationResult(
            body=answer.body,
            error_type="UnhandledInvocationError" if answer.failed else None,
            log=b"",
            duration_ms=float(self._clock.now() - began),
            max_memory_mb=0.0,
            instance_id="",
            cold=False,
        )
        self.record()
        self._keep(call, answer.body, result.error_type or "", b"", mock)
        return result

    def record(self) -> None:
        """Keep a record of the calls in ``ended``."""
        ended = self.ended[:]
        self.ended.clear()
        for call, result, cause, at in ended:
            spy = self._mocks.find(call.service, call.function, call.qualifier) if self.mocked else None
            self._keep(call, result.body, result.error_type or "", result.log, spy, cause=cause, at=at)

    def refused(self, call: Called, error: FcError) -> None:
        """Keep a record of a call that the platform could not make."""
        self.record()
        self._keep(call, error.message.encode("utf-8", "replace"), error.code, b"", None)

    def _keep(
        self,
        call: Called,
        answer: bytes,
        error: str,
        log: bytes,
        mock: Mock | None,
        *,
        cause: str | None = None,
        at: Millis | None = None,
    ) -> None:
        recorded = Recorded(
            service=call.service,
            function=call.function,
            qualifier=call.qualifier,
            request_id=call.request_id,
            cause=(trace() if cause is None else cause) or call.request_id,
            caller=call.origin,
            at=call.since,
            ended_at=self._clock.now() if at is None else at,
            event=call.event,
            answer=answer,
            error_type=error,
            log=log,
            mock=mock.id if mock is not None else "",
        )
        self._calls.add(recorded)
        if mock is not None:
            mock.calls.add(recorded)
